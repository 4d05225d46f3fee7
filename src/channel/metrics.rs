//! What an operator sees of the channels.

use std::sync::LazyLock;

use metrics::{Counter, Gauge, counter, describe_counter, describe_gauge, gauge};

/// The figures of all channels together. Cheap to use: the series are looked up once.
pub struct Metrics {
    /// Requests in flight.
    pub pending: Gauge,
    /// Channels with an actor.
    pub alive: Gauge,
    /// Replies that carried another request's id.
    pub replies_mismatched: Counter,
    /// Channels without work that left before their time, for others.
    pub displaced: Counter,
    /// Channel actors that died; each is rebuilt by the next call.
    pub died: Counter,
}

static METRICS: LazyLock<Metrics> = LazyLock::new(|| {
    describe_gauge!("kubemq_mcp_requests_pending", "Requests in flight to the broker.");
    describe_gauge!("kubemq_mcp_channels_alive", "Channels that have an actor at this time.");
    describe_counter!("kubemq_mcp_replies_mismatched_total", "Replies that carried another request's id.");
    describe_counter!(
        "kubemq_mcp_channels_displaced_total",
        "Channels without work that left before their time, since channel.channels_alive_max was reached."
    );
    describe_counter!(
        "kubemq_mcp_channels_died_total",
        "Channel actors that died; the next call rebuilds one."
    );
    Metrics {
        pending: gauge!("kubemq_mcp_requests_pending"),
        alive: gauge!("kubemq_mcp_channels_alive"),
        replies_mismatched: counter!("kubemq_mcp_replies_mismatched_total"),
        displaced: counter!("kubemq_mcp_channels_displaced_total"),
        died: counter!("kubemq_mcp_channels_died_total"),
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
