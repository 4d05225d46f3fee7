//! What an operator sees of the listener.

use std::sync::LazyLock;

use metrics::{Counter, Gauge, counter, describe_counter, describe_gauge, gauge};

/// The figures of the listener.
pub struct Metrics {
    /// Connections open.
    pub connections: Gauge,
    /// Idle connections closed for a new one because the limit was reached.
    pub connections_displaced: Counter,
    /// Connections closed at once because the limit was reached.
    pub connections_refused: Counter,
    /// Connections whose encryption was never agreed on.
    pub handshakes_failed: Counter,
    /// Changed certificates that were not taken.
    pub certificates_refused: Counter,
    /// Requests that got no further than HTTP.
    pub requests_refused: Counter,
}

static METRICS: LazyLock<Metrics> = LazyLock::new(|| {
    describe_gauge!("kubemq_mcp_http_connections", "HTTP connections open.");
    describe_counter!(
        "kubemq_mcp_http_connections_displaced_total",
        "Idle HTTP connections closed for a new one, http.connections_max reached."
    );
    describe_counter!(
        "kubemq_mcp_http_connections_refused_total",
        "HTTP connections closed at once, http.connections_max reached and all at work."
    );
    describe_counter!(
        "kubemq_mcp_http_requests_refused_total",
        "Requests refused before they were read as MCP."
    );
    describe_counter!(
        "kubemq_mcp_tls_handshakes_failed_total",
        "Connections closed since their TLS handshake failed or did not end in time."
    );
    describe_counter!(
        "kubemq_mcp_tls_certificates_refused_total",
        "Changed certificates that were wrong, so that the old one stayed."
    );
    Metrics {
        connections: gauge!("kubemq_mcp_http_connections"),
        connections_displaced: counter!("kubemq_mcp_http_connections_displaced_total"),
        connections_refused: counter!("kubemq_mcp_http_connections_refused_total"),
        handshakes_failed: counter!("kubemq_mcp_tls_handshakes_failed_total"),
        certificates_refused: counter!("kubemq_mcp_tls_certificates_refused_total"),
        requests_refused: counter!("kubemq_mcp_http_requests_refused_total"),
    }
});

/// Makes every series of this layer, at zero.
pub fn register_metrics() {
    let _ = Metrics::get();
}

impl Metrics {
    /// The one set of series of this process. Ask for it after the recorder is installed.
    pub fn get() -> &'static Self {
        &METRICS
    }
}
