//! The section `[store]`: where the records are, how many, and for how long.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

/// The section `[store]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The directory of the store; made with mode 0700 when it is not there.
    pub path: PathBuf,
    /// How long to wait for another process to let go of the store.
    pub lock_wait_seconds: u64,
    /// Records in all, whatever their state.
    pub records_max: usize,
    /// Records of one principal, so that one caller cannot fill the store for all.
    pub records_per_principal_max: usize,
    /// Bytes of all records; an open claim counts with the largest record that it can become.
    pub records_bytes_max: u64,
    /// Bytes of one record; what a responder says beyond it is not kept.
    pub record_bytes_max: usize,
    /// Bytes that the disk must have left for a new key.
    pub free_bytes_min: u64,
    /// How long a settled record is kept, from the first claim on.
    pub record_keep_seconds: u64,
    /// How long a record in doubt is kept, from the first claim on.
    pub in_doubt_keep_seconds: u64,
    /// Time between two sweeps for records whose time is over.
    pub sweep_seconds: u64,
    /// Attempts with one key in all, where the responder takes care of duplicates.
    pub attempts_max: u32,
    /// Callers that wait for the outcome of one key.
    pub joins_per_key_max: usize,
    /// Claims, settles and looks that wait for the commit thread.
    pub commits_waiting_max: usize,
    /// Of those, how many one write to the disk takes.
    pub commit_batch_max: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            path: PathBuf::from("./data"),
            lock_wait_seconds: 10,
            records_max: 1_000_000,
            records_per_principal_max: 1_000_000,
            records_bytes_max: 1 << 30,
            // Larger values would go to files of their own in sled, which are never synced.
            record_bytes_max: 12 << 10,
            free_bytes_min: 256 << 20,
            record_keep_seconds: 86_400,
            in_doubt_keep_seconds: 30 * 86_400,
            sweep_seconds: 1,
            attempts_max: 5,
            joins_per_key_max: 1_024,
            commits_waiting_max: 4_096,
            // Beyond it sled is bound by the processor, and a longer batch only makes everybody wait.
            commit_batch_max: 128,
        }
    }
}

impl Config {
    /// How long a settled record is kept.
    pub(super) fn record_keep(&self) -> Duration {
        Duration::from_secs(self.record_keep_seconds)
    }

    /// How long a record in doubt is kept.
    pub(super) fn in_doubt_keep(&self) -> Duration {
        Duration::from_secs(self.in_doubt_keep_seconds)
    }
}
