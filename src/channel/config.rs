//! The limits of what waits for replies.

use serde::Deserialize;

/// The section `[channel]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Requests that wait for a reply, over all channels.
    pub requests_pending_max: usize,
    /// Requests that wait for a reply on one channel.
    pub requests_pending_per_channel_max: usize,
    /// Channels that are kept alive.
    pub channels_alive_max: usize,
    /// How long a channel without work is kept.
    pub idle_seconds: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            requests_pending_max: 20_000,
            requests_pending_per_channel_max: 4096,
            channels_alive_max: 20_000,
            idle_seconds: 300,
        }
    }
}
