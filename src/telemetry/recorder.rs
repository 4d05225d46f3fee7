//! The metrics recorder: Prometheus' text format, one recorder per process.

use std::sync::OnceLock;
use std::time::Duration;

use metrics::gauge;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();

/// Upper bounds of every duration histogram in seconds: from below a millisecond to beyond the longest call (310 s).
const DURATION_BUCKETS: [f64; 16] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 120.0, 320.0];

/// Upper bounds of how many operations one batch has.
const BATCH_BUCKETS: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 4096.0];

/// Between two rounds of moving histogram samples into their buckets; without them memory grows until a scrape.
const UPKEEP: Duration = Duration::from_secs(5);

/// The figures of this process.
#[derive(Clone)]
pub struct Figures {
    handle: PrometheusHandle,
}

impl Figures {
    /// All figures in Prometheus' text format.
    pub fn render(&self) -> String {
        self.handle.render()
    }

    /// Moves samples into their buckets now and then, until dropped.
    pub async fn keep_up(self) {
        let mut ticks = tokio::time::interval(UPKEEP);
        loop {
            ticks.tick().await;
            self.handle.run_upkeep();
        }
    }
}

/// Installs the recorder. Later calls in one process (as in tests) give the same one.
pub fn install_recorder() -> Figures {
    let handle = HANDLE.get_or_init(|| {
        let recorder = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &DURATION_BUCKETS)
            .expect("the buckets are not empty")
            .set_buckets_for_metric(Matcher::Suffix("_operations".into()), &BATCH_BUCKETS)
            .expect("the buckets are not empty")
            .build_recorder();
        let handle = recorder.handle();
        // Fails only when another recorder is installed, which nothing else here does.
        let installed = metrics::set_global_recorder(recorder);
        debug_assert!(installed.is_ok(), "one recorder per process");
        gauge!("kubemq_mcp_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
        handle
    });
    Figures { handle: handle.clone() }
}
