//! What an operator sees of the calls: how many, how they ended, how long they took.

use std::collections::HashMap;
use std::sync::LazyLock;

use metrics::{Counter, Histogram, Unit, counter, describe_counter, describe_histogram, histogram};

use crate::access::Reason;
use crate::domain::{Cause, Tool};

/// The name of the duration histogram.
const DURATION_NAME: &str = "kubemq_mcp_call_duration_seconds";

/// The series of all calls. The labels come from enums, so there are never more.
pub struct Metrics {
    calls: HashMap<(Tool, Cause), Counter>,
    durations: HashMap<Tool, Histogram>,
    denied: HashMap<Reason, Counter>,
    /// McpActors that died and were rebuilt.
    pub rebuilt: Counter,
}

static METRICS: LazyLock<Metrics> = LazyLock::new(|| {
    describe_counter!("kubemq_mcp_calls_total", "Calls that ended, by tool, kind and cause.");
    describe_histogram!(DURATION_NAME, Unit::Seconds, "Time from a call's arrival to its end, by tool.");
    describe_counter!("kubemq_mcp_shards_rebuilt_total", "Routing actors that died and were rebuilt.");
    describe_counter!(
        "kubemq_mcp_calls_denied_total",
        "Calls that the policy or a read-only mode denied, by reason."
    );
    let mut calls = HashMap::new();
    let mut durations = HashMap::new();
    for tool in Tool::ALL {
        for cause in Cause::ALL {
            let counter = counter!(
                "kubemq_mcp_calls_total",
                "tool" => tool.as_str(),
                "kind" => tool.kind().as_str(),
                "cause" => cause.as_str(),
            );
            calls.insert((tool, cause), counter);
        }
        durations.insert(tool, histogram!(DURATION_NAME, "tool" => tool.as_str()));
    }
    let denied = Reason::ALL
        .map(|reason| (reason, counter!("kubemq_mcp_calls_denied_total", "reason" => reason.as_str())));
    Metrics { calls, durations, denied: denied.into(), rebuilt: counter!("kubemq_mcp_shards_rebuilt_total") }
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

    /// Counts a call that its caller may not make.
    pub fn denied(&self, reason: Reason) {
        self.denied[&reason].increment(1);
    }

    /// Counts a call that ended.
    pub fn call_ended(&self, tool: Tool, cause: Cause, seconds: f64) {
        self.calls[&(tool, cause)].increment(1);
        self.durations[&tool].record(seconds);
    }
}
