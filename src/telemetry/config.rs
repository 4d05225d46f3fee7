//! The options of the log.

use serde::Deserialize;

/// The section `[log]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// What is logged: a level, or the directives of an env-filter.
    pub level: String,
    /// How a line of the log looks.
    pub format: Format,
}

/// How a line of the log looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON object on each line.
    Json,
}

impl Default for Config {
    fn default() -> Self {
        Self { level: "info".into(), format: Format::Text }
    }
}
