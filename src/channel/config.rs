//! The limits on what is in flight.

use serde::Deserialize;

/// Section `[channel]` of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Requests in flight over all channels.
    pub requests_pending_max: usize,
    /// Requests in flight on one channel.
    pub requests_pending_per_channel_max: usize,
    /// Channels with an actor of their own at one time.
    pub channels_alive_max: usize,
    /// Seconds without work after which a channel's actor leaves.
    pub idle_seconds: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            requests_pending_max: 20_000,
            requests_pending_per_channel_max: 4_096,
            channels_alive_max: 20_000,
            idle_seconds: 300,
        }
    }
}
