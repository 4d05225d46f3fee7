//! The limits on what a client may hold open.

use serde::Deserialize;

/// Section `[http]` of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Values of `Host` that are answered: a name, or a name and a port.
    pub allowed_hosts: Vec<String>,
    /// Values of `Origin` that are answered: scheme, host and port, or `:*` for any port.
    pub allowed_origins: Vec<String>,
    /// Bytes of a request's body.
    pub body_bytes_max: usize,
    /// Bytes of a request's headers.
    pub header_bytes_max: usize,
    /// Seconds a client has to send its headers.
    pub header_seconds: u64,
    /// Seconds a client has to send its body.
    pub body_seconds: u64,
    /// Connections open at one time.
    pub connections_max: usize,
    /// Requests open at one time on one HTTP/2 connection.
    pub streams_per_connection_max: u32,
}

impl Default for Config {
    fn default() -> Self {
        let owned = |texts: [&str; 3]| texts.map(str::to_owned).to_vec();
        Self {
            allowed_hosts: owned(["localhost", "127.0.0.1", "[::1]"]),
            allowed_origins: owned(["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"]),
            body_bytes_max: 4_194_304,
            header_bytes_max: 65_536,
            header_seconds: 10,
            body_seconds: 30,
            connections_max: 10_000,
            streams_per_connection_max: 10_000,
        }
    }
}

/// Section `[admin]` of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdminConfig {
    /// An address of their own for health and metrics; empty: they are served beside `/mcp`.
    pub listen: String,
}
