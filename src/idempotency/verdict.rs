//! What a door tells the connector, and what the connector holds of the store.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use super::metrics::Metrics;
use super::{Ended, Full, Record};
use crate::domain::Ending;

/// What the store says of a command that wants to leave.
#[derive(Debug)]
pub enum Verdict {
    /// It may leave once, for this claim.
    Run(Claimed),
    /// The key is new; to a look only.
    Free,
    /// What an earlier call with this key did, or that it is in doubt.
    Known(Box<Record>),
    /// The first call with this key still runs.
    Join(Join),
    /// It still runs, and too many wait for it already.
    Crowded(Box<Record>),
    /// The key stands for another command.
    Conflict,
    /// There is no room for a new key.
    Full(Full),
    /// Too much waits for the store already. The key was not looked up.
    Busy,
    /// The store does not answer. The key was not looked up.
    Unavailable(String),
}

/// The right to send one command once. Whoever drops it unsettled leaves its key free if the command did not leave, and
/// in doubt if it may have.
#[derive(Debug)]
pub struct Claimed {
    // `None` once it is settled.
    record: Option<Box<Record>>,
    leaves: bool,
    orphans: Orphans,
}

impl Claimed {
    pub(super) fn new(record: Box<Record>, orphans: Orphans) -> Self {
        Self { record: Some(record), leaves: false, orphans }
    }

    /// The record as it was claimed.
    pub fn record(&self) -> &Record {
        self.record.as_ref().expect("a claim that is held is not settled")
    }

    /// From here on the command may have left.
    pub fn leave(&mut self) {
        self.leaves = true;
    }

    pub(super) fn settled(mut self) -> Box<Record> {
        self.record.take().expect("a claim is settled once")
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        if let Some(record) = self.record.take() {
            self.orphans.push(record, if self.leaves { Ended::Interrupted } else { Ended::NotSent });
        }
    }
}

/// Claims that nobody holds any more, until the actor settles them. As many as requests can be pending.
#[derive(Clone, Debug, Default)]
pub(super) struct Orphans(Arc<Mutex<Vec<Orphan>>>);

type Orphan = (Box<Record>, Ended);

impl Orphans {
    fn push(&self, record: Box<Record>, ended: Ended) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((record, ended));
    }

    pub(super) fn take(&self) -> Vec<Orphan> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A place among those who wait for the first call with a key.
#[derive(Debug)]
pub struct Join {
    /// The record of the first call.
    pub record: Box<Record>,
    pub(super) told: oneshot::Receiver<Told>,
    pub(super) _place: Place,
}

/// Counts the calls that wait for another one with their key.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting(Arc<AtomicUsize>);

impl Waiting {
    pub(super) fn enter(&self) -> Place {
        self.0.fetch_add(1, Ordering::Relaxed);
        Metrics::get().joins_waiting.increment(1);
        Place(self.clone())
    }

    pub(super) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// One call that waits, until it is dropped.
#[derive(Debug)]
pub(super) struct Place(Waiting);

impl Drop for Place {
    fn drop(&mut self) {
        (self.0).0.fetch_sub(1, Ordering::Relaxed);
        Metrics::get().joins_waiting.decrement(1);
    }
}

impl Join {
    /// Waits for the first call's end; `None` when nobody will tell.
    pub async fn told(&mut self) -> Option<Told> {
        (&mut self.told).await.ok()
    }
}

/// How the first call with a key ended, for those who joined it.
#[derive(Clone, Debug)]
pub struct Told {
    /// How it ended.
    pub ending: Ending,
    /// The record as it is then.
    pub record: Box<Record>,
    /// Whether the disk has it.
    pub recorded: Recorded,
}

/// Whether an outcome will be told again to a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// It will.
    Yes,
    /// It could not be recorded.
    No,
}
