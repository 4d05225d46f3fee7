//! How much the store may keep, and for how long.

use std::time::Duration;

/// The limits of the ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Records in all, whatever their state.
    pub records_max: usize,
    /// Records of one principal, so that one caller cannot fill the store for all.
    pub records_per_principal_max: usize,
    /// Bytes of all records; an open claim counts with the largest record that it can become.
    pub records_bytes_max: u64,
    /// Bytes of one record; what a responder says beyond it is not kept.
    pub record_bytes_max: usize,
    /// Callers that wait for the outcome of one key.
    pub joins_per_key_max: usize,
    /// Attempts with one key in all, where the responder takes care of duplicates.
    pub attempts_max: u32,
    /// How long a settled record is kept, from the first claim on.
    pub record_keep: Duration,
    /// How long a record in doubt is kept, from the first claim on.
    pub in_doubt_keep: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            records_max: 1_000_000,
            records_per_principal_max: 1_000_000,
            records_bytes_max: 1 << 30,
            // Larger values would go to files of their own in sled, which are never synced.
            record_bytes_max: 16 << 10,
            joins_per_key_max: 1_024,
            attempts_max: 5,
            record_keep: Duration::from_secs(86_400),
            in_doubt_keep: Duration::from_secs(30 * 86_400),
        }
    }
}
