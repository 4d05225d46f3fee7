//! A million keys come and go: the directory must not grow with the keys that were, but with those that are.

use std::io;
use std::ops::Range;

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
    let mut swept = 0;
    for first in (0..KEYS).step_by(usize::try_from(STEP).expect("small")) {
        for some in (first..first + STEP).step_by(128) {
            let end = (some + 128).min(first + STEP);
            sample::fill(&mut store, some..end, 128);
            swept = sweep(&mut store, swept..end.saturating_sub(LIVE));
        }
        let live = store.head().records;
        let bytes = store.disk_bytes();
        say(&format!("  {:>8} keys: {live} live, {} MiB on the disk", first + STEP, bytes >> 20))?;
    }
    Ok(())
}

/// Forgets these keys, as the ledger's sweep does with those whose time is over. Gives the first that is left.
fn sweep(store: &mut kubemq_mcp::idempotency::SledStore, ended: Range<u64>) -> u64 {
    let numbers: Vec<u64> = ended.clone().collect();
    for some in numbers.chunks(SWEEP) {
        let changes: Vec<Change> = some
            .iter()
            .map(|&number| {
                let identity = sample::claimed(number, sample::time(number)).identity();
                let before = store.get(&identity).expect("a store that is whole");
                Change { identity, before, after: None }
            })
            .collect();
        sample::commit(store, &changes);
    }
    ended.end.max(ended.start)
}
