//! What an operator sees of tokens: those that were refused, and files that were.

use std::collections::HashMap;
use std::sync::LazyLock;

use metrics::{Counter, counter, describe_counter};

use super::callers::Refusal;

/// The series of this layer. The reasons come from an enum, so there are never more.
pub struct Metrics {
    tokens_refused: HashMap<Refusal, Counter>,
    /// Changed tokens files that were not taken.
    pub files_refused: Counter,
}

static METRICS: LazyLock<Metrics> = LazyLock::new(|| {
    describe_counter!("kubemq_mcp_tokens_refused_total", "Requests refused for their token, by reason.");
    describe_counter!(
        "kubemq_mcp_tokens_files_refused_total",
        "Changed tokens files that were wrong, so that the old tokens stayed."
    );
    let series = |refusal: Refusal| {
        (refusal, counter!("kubemq_mcp_tokens_refused_total", "reason" => refusal.as_str()))
    };
    Metrics {
        tokens_refused: Refusal::ALL.into_iter().map(series).collect(),
        files_refused: counter!("kubemq_mcp_tokens_files_refused_total"),
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
}
