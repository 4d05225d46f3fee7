//! The options of the listener: who may speak to it, and how much of anything it takes.

use std::net::SocketAddr;

use serde::{Deserialize, Deserializer, de};

/// The section `[http]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Values of `Host` that are served; any other is refused.
    pub allowed_hosts: Vec<String>,
    /// Values of `Origin` that are served; `:*` stands for any port.
    pub allowed_origins: Vec<String>,
    /// Largest body of a request.
    pub body_bytes_max: usize,
    /// The bodies of all requests at one time.
    pub bodies_bytes_max: usize,
    /// Largest head of a request.
    pub header_bytes_max: usize,
    /// How long the head of a request may take to arrive.
    pub header_seconds: u64,
    /// How long the body of a request may take to arrive.
    pub body_seconds: u64,
    /// How long an answer may wait for a client that does not read.
    pub answer_seconds: u64,
    /// Connections that are open at one time.
    pub connections_max: usize,
    /// Requests that run on one HTTP/2 connection at one time.
    pub streams_per_connection_max: u32,
}

impl Default for Config {
    fn default() -> Self {
        let texts = |texts: [&str; 3]| texts.map(String::from).to_vec();
        Self {
            allowed_hosts: texts(["localhost", "127.0.0.1", "[::1]"]),
            allowed_origins: texts(["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"]),
            body_bytes_max: 4_194_304,
            bodies_bytes_max: 268_435_456,
            header_bytes_max: 65_536,
            header_seconds: 10,
            body_seconds: 30,
            answer_seconds: 30,
            connections_max: 10_000,
            streams_per_connection_max: 10_000,
        }
    }
}

/// The section `[admin]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdminConfig {
    /// An address of their own for what operators ask; without one that is on `server.listen`.
    #[serde(deserialize_with = "address_or_empty")]
    pub listen: Option<SocketAddr>,
    /// The file with the token for keys; empty: who comes from this machine may ask for them.
    pub token_file: String,
}

fn address_or_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SocketAddr>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(de::Error::custom)
}
