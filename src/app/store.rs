//! Opens the store of keys.

use std::sync::Arc;

use crate::clock;
use crate::idempotency::{Clock, Config, Handle, Ledger, MemoryStore, Timestamp};

/// Opens the store and starts its threads.
pub async fn open(config: &Config) -> anyhow::Result<Handle> {
    let clock: Clock = Arc::new(|| Timestamp::from(clock::now()));
    let mut store = MemoryStore::new(1);
    let (ledger, _) = Ledger::recover(&mut store, config, clock())?;
    Ok(Handle::start(ledger, Box::new(store), clock, config)?)
}
