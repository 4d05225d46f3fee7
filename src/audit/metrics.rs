//! What an operator sees of the audit.

use std::collections::HashMap;
use std::sync::LazyLock;

use metrics::{Counter, Gauge, Unit, counter, describe_counter, describe_gauge, gauge};

use super::What;

/// The series of the audit. The kinds come from an enum.
pub(super) struct Metrics {
    lines: HashMap<What, Counter>,
    /// Lines that could not be written.
    pub lost: Counter,
    /// Bytes written.
    pub bytes: Counter,
    /// Files put aside.
    pub rotations: Counter,
    /// Whether the last line could be written.
    pub up: Gauge,
}

static METRICS: LazyLock<Metrics> = LazyLock::new(|| {
    describe_counter!("kubemq_mcp_audit_lines_total", "Lines of the audit that were written, by kind.");
    describe_counter!("kubemq_mcp_audit_lines_lost_total", "Lines of the audit that could not be written.");
    describe_counter!("kubemq_mcp_audit_bytes_total", Unit::Bytes, "Bytes of the audit that were written.");
    describe_counter!("kubemq_mcp_audit_rotations_total", "Files of the audit that were put aside.");
    describe_gauge!(
        "kubemq_mcp_audit_up",
        "Whether the audit can be written (1) or not (0); 1 without an audit."
    );
    let up = gauge!("kubemq_mcp_audit_up");
    up.set(1.0);
    Metrics {
        lines: What::ALL
            .into_iter()
            .map(|what| (what, counter!("kubemq_mcp_audit_lines_total", "kind" => what.as_str())))
            .collect(),
        lost: counter!("kubemq_mcp_audit_lines_lost_total"),
        bytes: counter!("kubemq_mcp_audit_bytes_total"),
        rotations: counter!("kubemq_mcp_audit_rotations_total"),
        up,
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

    /// Counts a line that was written.
    pub fn written(&self, what: What) {
        self.lines[&what].increment(1);
    }
}
