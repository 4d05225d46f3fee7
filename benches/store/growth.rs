//! A million keys come and go: the directory must not grow with the keys that were, but with those that are.

use std::io;

use kubemq_mcp::idempotency::{Change, View};

use super::sample;
use super::say;

const KEYS: u64 = 1_000_000;
const LIVE: u64 = 50_000;
const STEP: u64 = 50_000;
const SWEEP: usize = 256;

pub fn run() -> io::Result<()> {
    let directory = tempfile::tempdir_in(".")?;
    let mut store = sample::open(directory.path());
    say(&format!("{KEYS} keys claimed, settled and expired, {LIVE} live at a time:"))?;
    for first in (0..KEYS).step_by(usize::try_from(STEP).expect("small")) {
        for some in (first..first + STEP).step_by(128) {
            let end = (some + 128).min(first + STEP);
            sample::fill(&mut store, some..end, 128);
            sweep(&mut store, end);
        }
        let live = store.head().records;
        let bytes = store.disk_bytes();
        say(&format!("  {:>8} keys: {live} live, {} MiB on the disk", first + STEP, bytes >> 20))?;
    }
    Ok(())
}

/// Forgets all but the last [`LIVE`] keys, as the ledger's sweep does.
fn sweep(store: &mut kubemq_mcp::idempotency::SledStore, next: u64) {
    let Some(last) = next.checked_sub(LIVE + 1) else { return };
    let now = sample::claimed(last, sample::time(last)).settled_until;
    loop {
        let ended = store.expired(now, SWEEP).expect("a store that is whole");
        let changes: Vec<Change> = ended
            .iter()
            .map(|identity| {
                let before = store.get(identity).expect("a store that is whole");
                Change { identity: *identity, before, after: None }
            })
            .collect();
        if changes.is_empty() {
            return;
        }
        sample::commit(store, &changes);
    }
}
