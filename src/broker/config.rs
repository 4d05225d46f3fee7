//! The options of the connection to the broker.

use serde::Deserialize;

use super::secret::Secret;

/// The section `[broker]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// `embedded`, or addresses `host:port` with commas between them, tried in order.
    pub address: String,
    /// The name we have at the broker.
    pub client_id: String,
    /// The token we show; empty for none.
    pub auth_token: Secret,
    /// A file with the token; empty for none.
    pub auth_token_file: String,
    /// Whether the connection is encrypted.
    pub tls: bool,
    /// The authority that the broker's certificate must come from; empty for the system's.
    pub tls_ca_file: String,
    /// Our own certificate; empty for none.
    pub tls_certificate_file: String,
    /// The key of our own certificate; empty for none.
    pub tls_key_file: String,
    /// The name in the broker's certificate; empty for the host of the address.
    pub tls_server_name: String,
    /// How long connecting may take.
    pub connect_seconds: u32,
    /// Time between two keepalive frames.
    pub keepalive_seconds: u32,
    /// How long a keepalive frame may stay unanswered.
    pub keepalive_timeout_seconds: u32,
    /// Time between two pings.
    pub ping_seconds: u32,
    /// How long a ping may stay unanswered.
    pub ping_timeout_seconds: u32,
    /// Longest pause before the next attempt to connect.
    pub reconnect_seconds_max: u32,
    /// Largest reply we take.
    pub reply_bytes_max: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            address: "embedded".into(),
            client_id: "kubemq-mcp".into(),
            auth_token: Secret::default(),
            auth_token_file: String::new(),
            tls: false,
            tls_ca_file: String::new(),
            tls_certificate_file: String::new(),
            tls_key_file: String::new(),
            tls_server_name: String::new(),
            connect_seconds: 5,
            keepalive_seconds: 10,
            keepalive_timeout_seconds: 5,
            ping_seconds: 5,
            ping_timeout_seconds: 2,
            reconnect_seconds_max: 1,
            reply_bytes_max: 1_048_576,
        }
    }
}
