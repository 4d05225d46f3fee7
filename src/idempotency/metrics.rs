//! What an operator sees of the keys and their store.

use std::collections::HashMap;
use std::sync::LazyLock;

use metrics::{
    Counter, Gauge, Histogram, Unit, counter, describe_counter, describe_gauge, describe_histogram, gauge,
    histogram,
};

use super::{Limit, StateName, Timestamp, Usage};

/// What was decided about a command with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Decided {
    /// It may leave: the key was new.
    New,
    /// It may leave again: it was in doubt, and its channel allows that.
    Resent,
    /// What it did was told again.
    Replayed,
    /// It joined the call that runs.
    Joined,
    /// It stands for another command.
    Conflict,
    /// It is in doubt, and was told so.
    InDoubt,
    /// There was no room, or the store did not answer.
    Refused,
}

impl Decided {
    const ALL: [Self; 7] =
        [Self::New, Self::Resent, Self::Replayed, Self::Joined, Self::Conflict, Self::InDoubt, Self::Refused];

    fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Resent => "resent",
            Self::Replayed => "replayed",
            Self::Joined => "joined",
            Self::Conflict => "conflict",
            Self::InDoubt => "in_doubt",
            Self::Refused => "refused",
        }
    }
}

/// The series of the store.
pub(super) struct Metrics {
    decisions: HashMap<Decided, Counter>,
    states: HashMap<StateName, Gauge>,
    keys_bytes: Gauge,
    oldest_doubt: Gauge,
    limits: HashMap<Limit, Gauge>,
    /// Bytes that the directory of the store takes.
    pub disk_bytes: Gauge,
    /// Bytes that the disk of the store has left.
    pub free_bytes: Gauge,
    /// Whether the store can be written.
    pub up: Gauge,
    /// Time that one batch takes to become durable.
    pub commit_duration: Histogram,
    /// Operations of one batch.
    pub commit_operations: Histogram,
    /// Settles of an attempt that is not the record's own.
    pub settles_refused: Counter,
    /// Outcomes that could not be recorded.
    pub unrecorded: Counter,
    /// Calls that wait for another with their key.
    pub joins_waiting: Gauge,
    /// Records whose time was over.
    pub expired: Counter,
    /// Actors that died and were rebuilt.
    pub rebuilt: Counter,
}

static METRICS: LazyLock<Metrics> = LazyLock::new(|| {
    describe_counter!("kubemq_mcp_key_decisions_total", "Decisions about commands with a key, by kind.");
    describe_gauge!("kubemq_mcp_keys", "Keys in the store, by state.");
    describe_gauge!(
        "kubemq_mcp_keys_bytes",
        Unit::Bytes,
        "Bytes of all records, room for open claims included."
    );
    describe_gauge!(
        "kubemq_mcp_keys_oldest_in_doubt_seconds",
        Unit::Seconds,
        "Age of the oldest key in doubt."
    );
    describe_gauge!(
        "kubemq_mcp_store_disk_bytes",
        Unit::Bytes,
        "Bytes that the directory of the store takes."
    );
    describe_gauge!("kubemq_mcp_store_free_bytes", Unit::Bytes, "Bytes that the disk of the store has left.");
    describe_gauge!(
        "kubemq_mcp_store_full",
        "Whether this limit leaves no room for new keys (1) or does (0)."
    );
    describe_gauge!("kubemq_mcp_store_up", "Whether the store can be written (1) or is closed (0).");
    describe_histogram!(
        "kubemq_mcp_store_commit_duration_seconds",
        Unit::Seconds,
        "Time that one batch of claims and settles takes to become durable."
    );
    describe_histogram!("kubemq_mcp_store_commit_operations", "Operations in one batch.");
    describe_counter!(
        "kubemq_mcp_key_settles_refused_total",
        "Settles by an attempt that is not the record's own."
    );
    describe_counter!(
        "kubemq_mcp_key_outcomes_unrecorded_total",
        "Outcomes that were told and could not be recorded."
    );
    describe_gauge!("kubemq_mcp_key_joins_waiting", "Calls that wait for another call with their key.");
    describe_counter!("kubemq_mcp_keys_expired_total", "Keys that were forgotten when their time was over.");
    describe_counter!(
        "kubemq_mcp_store_actors_rebuilt_total",
        "Idempotency actors that died and were rebuilt."
    );
    Metrics {
        decisions: Decided::ALL
            .into_iter()
            .map(|kind| (kind, counter!("kubemq_mcp_key_decisions_total", "decision" => kind.as_str())))
            .collect(),
        states: StateName::ALL
            .into_iter()
            .map(|state| (state, gauge!("kubemq_mcp_keys", "state" => state.as_str())))
            .collect(),
        keys_bytes: gauge!("kubemq_mcp_keys_bytes"),
        oldest_doubt: gauge!("kubemq_mcp_keys_oldest_in_doubt_seconds"),
        limits: Limit::OF_ALL
            .into_iter()
            .map(|limit| (limit, gauge!("kubemq_mcp_store_full", "limit" => limit.as_str())))
            .collect(),
        disk_bytes: gauge!("kubemq_mcp_store_disk_bytes"),
        free_bytes: gauge!("kubemq_mcp_store_free_bytes"),
        up: gauge!("kubemq_mcp_store_up"),
        commit_duration: histogram!("kubemq_mcp_store_commit_duration_seconds"),
        commit_operations: histogram!("kubemq_mcp_store_commit_operations"),
        settles_refused: counter!("kubemq_mcp_key_settles_refused_total"),
        unrecorded: counter!("kubemq_mcp_key_outcomes_unrecorded_total"),
        joins_waiting: gauge!("kubemq_mcp_key_joins_waiting"),
        expired: counter!("kubemq_mcp_keys_expired_total"),
        rebuilt: counter!("kubemq_mcp_store_actors_rebuilt_total"),
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

    /// Counts a decision.
    pub fn decided(&self, kind: Decided) {
        self.decisions[&kind].increment(1);
    }

    /// Shows which limit leaves no room for new keys.
    pub fn full(&self, full: Option<Limit>) {
        for (limit, gauge) in &self.limits {
            gauge.set(if full == Some(*limit) { 1.0 } else { 0.0 });
        }
    }

    /// Shows what the records take at `now`.
    #[expect(clippy::cast_precision_loss, reason = "gauges; beyond 2^53 the last digits do not matter")]
    pub fn show(&self, usage: &Usage, now: Timestamp) {
        for (state, gauge) in &self.states {
            gauge.set(usage.records_in(*state) as f64);
        }
        self.keys_bytes.set(usage.bytes() as f64);
        let age =
            usage.oldest_doubt().map_or(0, |since| now.milliseconds().saturating_sub(since.milliseconds()));
        self.oldest_doubt.set(age as f64 / 1_000.0);
    }
}
