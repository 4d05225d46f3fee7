//! The options of limits: `[limits]`.

use serde::Deserialize;

/// What each caller may do.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Calls of one caller in a second, on the long run; 0 for no such limit.
    pub calls_per_second: u32,
    /// Calls of one caller at once, after it has been still.
    pub calls_burst: u32,
    /// Calls of one caller that have not ended.
    pub calls_pending_per_principal_max: usize,
    /// Callers that are remembered.
    pub principals_max: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            calls_per_second: 0,
            calls_burst: 100,
            calls_pending_per_principal_max: 15_000,
            principals_max: 10_000,
        }
    }
}
