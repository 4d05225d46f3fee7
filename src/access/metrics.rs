//! What an operator sees of credentials: those that were refused, and how fresh what they are checked against is.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::Duration;

use metrics::{Counter, Gauge, counter, describe_counter, describe_gauge, gauge};

use super::limit::Excess;
use super::refusal::Refusal;

/// The series of this layer. The reasons come from an enum, so there are never more.
pub struct Metrics {
    tokens_refused: HashMap<Refusal, Counter>,
    /// Changed tokens files that were not taken.
    pub files_refused: Counter,
    /// Reads of the key set whose keys were taken.
    pub jwks_taken: Counter,
    /// Reads of the key set that left the old keys.
    pub jwks_failed: Counter,
    jwks_age: Gauge,
    jwks_keys: Gauge,
    calls_limited: HashMap<&'static str, Counter>,
    /// Callers with an account of what they have left.
    pub callers: Gauge,
}

static METRICS: LazyLock<Metrics> = LazyLock::new(|| {
    describe_counter!("kubemq_mcp_tokens_refused_total", "Requests refused for their token, by reason.");
    describe_counter!(
        "kubemq_mcp_tokens_files_refused_total",
        "Changed tokens files that were wrong, so that the old tokens stayed."
    );
    describe_counter!(
        "kubemq_mcp_jwks_reads_total",
        "Reads of the key set after the one at start, by result."
    );
    describe_gauge!(
        "kubemq_mcp_jwks_age_seconds",
        "Time since the keys in use were last known to be those that the issuer publishes."
    );
    describe_gauge!("kubemq_mcp_jwks_keys", "Keys in use for JWTs.");
    describe_counter!(
        "kubemq_mcp_calls_limited_total",
        "Calls refused for a limit of their caller, by limit."
    );
    describe_gauge!("kubemq_mcp_callers", "Callers whose calls are counted.");
    let limited = |name| (name, counter!("kubemq_mcp_calls_limited_total", "limit" => name));
    let reads = |result: &'static str| counter!("kubemq_mcp_jwks_reads_total", "result" => result);
    let series = |refusal: Refusal| {
        (refusal, counter!("kubemq_mcp_tokens_refused_total", "reason" => refusal.as_str()))
    };
    Metrics {
        tokens_refused: Refusal::ALL.into_iter().map(series).collect(),
        files_refused: counter!("kubemq_mcp_tokens_files_refused_total"),
        jwks_taken: reads("taken"),
        jwks_failed: reads("failed"),
        jwks_age: gauge!("kubemq_mcp_jwks_age_seconds"),
        jwks_keys: gauge!("kubemq_mcp_jwks_keys"),
        calls_limited: Excess::NAMES.map(limited).into(),
        callers: gauge!("kubemq_mcp_callers"),
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

    /// Counts a request that was refused for its token.
    pub fn token_refused(&self, refusal: Refusal) {
        self.tokens_refused[&refusal].increment(1);
    }

    /// Counts a call that was refused for a limit of its caller.
    pub fn call_exceeds(&self, excess: Excess) {
        self.calls_limited[excess.as_str()].increment(1);
    }

    /// Notes how old the keys for JWTs are.
    pub fn jwks_age(&self, age: Duration) {
        self.jwks_age.set(age.as_secs_f64());
    }

    /// Notes how many keys for JWTs there are.
    pub fn jwks_keys(&self, count: usize) {
        self.jwks_keys.set(u32::try_from(count).map_or(f64::INFINITY, f64::from));
    }
}
