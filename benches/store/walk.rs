//! A start with a million records: how long it takes and how much memory.

use std::io;

use kubemq_mcp::idempotency::{Config, Ledger, Recovered, View};
use tokio::time::Instant;

use super::sample;
use super::say;

const RECORDS: u64 = 1_000_000;
/// Set by the process that has filled the store, for the one that walks it: memory is measured from a clean start.
const DIRECTORY: &str = "KUBEMQ_MCP_BENCH_STORE";

pub fn run() -> io::Result<()> {
    if let Some(directory) = std::env::var_os(DIRECTORY) {
        return walk(directory.as_ref());
    }
    let directory = tempfile::tempdir_in(".")?;
    let mut store = sample::open(directory.path());
    sample::fill(&mut store, 0..RECORDS, 512);
    say(&format!("{RECORDS} records in {} MiB", store.disk_bytes() >> 20))?;
    drop(store);
    // The second start finds the snapshot that the first has written.
    for _ in 0..2 {
        std::process::Command::new(std::env::current_exe()?)
            .arg("walk")
            .env(DIRECTORY, directory.path())
            .status()?;
    }
    Ok(())
}

fn walk(directory: &std::path::Path) -> io::Result<()> {
    let begun = Instant::now();
    let mut store = sample::open(directory);
    let (opened, after_open) = (begun.elapsed(), sample::resident());
    let (_ledger, Recovered { records, .. }) =
        Ledger::recover(&mut store, &Config::default(), sample::time(RECORDS)).map_err(io::Error::other)?;
    let took = begun.elapsed();
    say(&format!(
        "  opened in {opened:.1?} ({} MiB), {records} recovered after {took:.1?} ({} MiB, at most {})",
        after_open.0,
        sample::resident().0,
        sample::resident().1
    ))
}
