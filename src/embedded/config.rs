//! The options of the embedded broker: where it listens and how much it holds.
//!
//! Everything that grows with what clients send has its limit here.

use std::net::{Ipv4Addr, SocketAddr};

use serde::Deserialize;

/// How the embedded broker listens and what it holds at most.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The address to listen on; port 0 takes a free one. The default is where KubeMQ itself listens.
    pub listen: SocketAddr,
    /// The largest message, in bytes; 100 MiB, as the real broker without a configuration.
    pub message_bytes_max: usize,
    /// How many requests one stream holds ready for its subscriber, at least 1. Further ones wait in a backlog of fixed
    /// size, and are dropped one by one while the subscriber reads nothing for 2 s.
    pub subscription_buffer: usize,
    /// How many requests wait for a reply. One more is answered at once with `Error 301`, which is how an overloaded
    /// broker looks from outside: it never says "not sent", so a caller takes the outcome for unknown.
    pub requests_pending_max: usize,
    /// How many subscription streams are open; one more is refused as the real broker's inner NATS would.
    pub subscriptions_max: usize,
    /// How many query replies the cache holds; the one that expires first makes room.
    pub cache_entries_max: usize,
    /// How many bytes of query replies the cache holds.
    pub cache_bytes_max: usize,
    /// How many channels are remembered for `list-channels`. Traffic on further ones flows, but is not listed.
    pub channels_max: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 50_000)),
            message_bytes_max: 100 << 20,
            subscription_buffer: 100,
            requests_pending_max: 20_000,
            subscriptions_max: 10_000,
            cache_entries_max: 1_000,
            cache_bytes_max: 64 << 20,
            channels_max: 10_000,
        }
    }
}
