//! What a check of a store has found.

use std::fmt;

use crate::idempotency::{Head, Record, RecordError, State, Timestamp};

/// Problems that are told one by one; of more only the number is.
const PROBLEMS_MAX: usize = 100;

/// What a check of a store has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// What the store says of itself.
    pub head: Head,
    /// Records that are as they were written.
    pub records: u64,
    /// Their bytes.
    pub record_bytes: u64,
    /// Bytes of the files.
    pub disk_bytes: u64,
    /// Records of commands that may have been running when the connector stopped.
    pub in_progress: u64,
    /// Records of commands that may have run.
    pub in_doubt: u64,
    /// Records of commands that did what was asked.
    pub executed: u64,
    /// Records of commands that did not.
    pub rejected: u64,
    /// Since when the oldest of those in doubt is.
    pub oldest_in_doubt: Option<Timestamp>,
    /// What is wrong; the first hundred.
    pub problems: Vec<Problem>,
    /// How much is wrong in all.
    pub problems_total: usize,
}

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// Records are missing, or there are some that were never counted.
    Count {
        /// As the store has counted them.
        counted: u64,
        /// As they are.
        found: u64,
    },
    /// Bytes where the record of the claim with this number should stand.
    NoRecord(u64, RecordError),
    /// The record of another claim stands where that of this number should.
    Misplaced(u64),
    /// The record of this claim has a key that has a record already.
    Second(u64),
    /// Something that this program never writes.
    Unknown(Vec<u8>),
    /// Files outside of the log, which are never synced.
    Blobs(usize),
    /// From some place on nothing can be read.
    Unreadable(String),
}

impl CheckReport {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.problems_total == 0
    }

    pub(super) fn problem(&mut self, problem: Problem) {
        self.problems_total += 1;
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(problem);
        }
    }

    pub(super) fn record(&mut self, record: &Record, bytes: usize) {
        self.records += 1;
        self.record_bytes += bytes as u64;
        match &record.state {
            State::InProgress => self.in_progress += 1,
            State::Settled(settlement) if settlement.executed => self.executed += 1,
            State::Settled(_) => self.rejected += 1,
            State::InDoubt => {
                self.in_doubt += 1;
                let since = record.doubt.map_or(record.first_seen, |(since, _)| since);
                self.oldest_in_doubt = Some(self.oldest_in_doubt.map_or(since, |oldest| oldest.min(since)));
            }
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count { counted, found } => {
                write!(formatter, "the store has counted {counted} records and holds {found}")
            }
            Self::NoRecord(fence, error) => write!(formatter, "record {fence}: {error}"),
            Self::Misplaced(fence) => write!(formatter, "record {fence}: it is that of another claim"),
            Self::Second(fence) => write!(formatter, "record {fence}: its key has a record already"),
            Self::Unknown(key) => write!(formatter, "key {}: this program never writes it", Hex(key)),
            Self::Blobs(files) => {
                write!(
                    formatter,
                    "blobs: {files} files where none should be; they may not survive a power cut"
                )
            }
            Self::Unreadable(error) => write!(formatter, "the rest cannot be read: {error}"),
        }
    }
}

struct Hex<'bytes>(&'bytes [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}
