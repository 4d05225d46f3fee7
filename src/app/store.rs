//! Opens the store of keys, and tells what a start has found in it.

use std::sync::Arc;

use anyhow::Context;

use crate::clock;
use crate::idempotency::{Clock, Config, Handle, Ledger, Recovered, RecoveryError, SledStore, Timestamp};

/// Opens the store and starts its threads. What was in progress in the last life is in doubt from here on, durably.
///
/// # Errors
/// Says why the store cannot be used, and what to do.
pub async fn open(config: &Config) -> anyhow::Result<Handle> {
    let clock: Clock = Arc::new(|| Timestamp::from(clock::now()));
    let (now, config_of_thread) = (clock(), config.clone());
    let opened = tokio::task::spawn_blocking(move || {
        let mut store = SledStore::open(&config_of_thread)?;
        let (ledger, recovered) = Ledger::recover(&mut store, &config_of_thread, now)
            .map_err(|error| explained(error, &config_of_thread))?;
        anyhow::Ok((store, ledger, recovered))
    });
    let (store, ledger, Recovered { records, doubted }) =
        opened.await.context("the thread that opens the store died")??;
    tracing::info!(directory = %config.path.display(), records, doubted, "the store of keys is open");
    if config.record_keep_seconds < LONGEST_CALL_SECONDS {
        tracing::warn!(
            record_keep_seconds = config.record_keep_seconds,
            "keys are kept for less time than the longest call takes; a retry of such a call would be sent again"
        );
    }
    Handle::start(ledger, Box::new(store), clock, config).context("no thread for the store")
}

/// A call lasts at most 300 s and the gateway's buffer.
const LONGEST_CALL_SECONDS: u64 = 310;

fn explained(error: RecoveryError, config: &Config) -> anyhow::Error {
    let directory = config.path.display();
    anyhow::Error::new(error).context(format!(
        "the store `{directory}` cannot be gone on with; restore a backup, or move it away, which forgets its keys: a \
         command with a forgotten key is sent again"
    ))
}
