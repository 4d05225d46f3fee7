//! The options of the process itself: where it listens, how it stops, how many threads its actors get.

use std::net::{Ipv4Addr, SocketAddr};

use serde::Deserialize;

use crate::http::{Tls, TlsError};

/// The section `[server]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The address that agents connect to.
    pub listen: SocketAddr,
    /// Whether other machines may call without a token.
    pub insecure: bool,
    /// Whether only queries are served, whoever asks.
    pub read_only: bool,
    /// The listener's certificate and those above it; empty for none.
    pub tls_certificate_file: String,
    /// Its key.
    pub tls_key_file: String,
    /// How long a stop waits for the calls that still run.
    pub drain_seconds: u64,
    /// Threads that run the actors.
    pub shards: usize,
    /// Messages that may wait for one actor.
    pub mailbox_messages_max: usize,
}

impl Config {
    /// Reads the listener's certificate, if there is one.
    ///
    /// # Errors
    /// When it cannot be used.
    pub fn tls(&self) -> Result<Option<Tls>, TlsError> {
        if self.tls_certificate_file.is_empty() {
            return Ok(None);
        }
        Tls::load(self.tls_certificate_file.as_ref(), self.tls_key_file.as_ref()).map(Some)
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: (Ipv4Addr::LOCALHOST, 9090).into(),
            insecure: false,
            read_only: false,
            tls_certificate_file: String::new(),
            tls_key_file: String::new(),
            drain_seconds: 25,
            shards: 2,
            mailbox_messages_max: 4096,
        }
    }
}
