//! The commit thread: the only one that touches the ledger and the disk.
//!
//! ```text
//! take what waits ─▶ apply each to the ledger ─▶ write, flush, sync once ─▶ answer all
//! ```
//!
//! What waits while one batch is written is the next batch, so a batch grows with the load and no timer is needed. Every
//! answer, a replay as well, leaves only when all that it stands on is durable. After the first error the store stays
//! closed: nobody can say what a disk holds that has failed to sync.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::handle::Health;
use super::metrics::Metrics;
use super::room::{Room, Turn};
use super::verdict::Recorded;
use super::{Answer, Clock, Ended, Full, Identity, Ledger, Operation, Record, Store, StoreError, Verdict};
use crate::domain::Ending;

/// Between two looks at the size of the directory.
const SIZE_EVERY: Duration = Duration::from_secs(5);

/// One operation, and who waits for its answer.
pub(super) struct Work {
    pub operation: Operation,
    pub task: Task,
}

/// Who waits for an answer.
pub(super) enum Task {
    /// A call that wants to leave.
    Decide { identity: Identity, waiter: oneshot::Sender<Verdict> },
    /// A call that has ended.
    Settle { claimed: Box<Record>, ending: Ending, ended: Ended, waiter: Option<oneshot::Sender<Settlement>> },
    /// An operator, or an agent that asks for a status.
    Tell { waiter: oneshot::Sender<Result<Answer, Closed>> },
    /// Nobody.
    Sweep,
    /// Who waits for the end: everything before it is durable, and nothing comes after.
    Stop { waiter: oneshot::Sender<()> },
}

/// What whoever settles a claim hears: whether it is recorded, and the record as it is then.
pub(super) type Settlement = (Recorded, Box<Record>);

/// The store does not answer, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Closed {
    /// In words for everybody, agents as well.
    pub reason: String,
    /// What the disk or sled has said, for operators only; empty when there is nothing to add.
    pub detail: String,
}

impl Closed {
    /// For this reason, with nothing to add.
    pub fn since(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), detail: String::new() }
    }

    /// All that is known of it, for operators.
    pub fn whole(&self) -> String {
        if self.detail.is_empty() {
            self.reason.clone()
        } else {
            format!("{} ({})", self.reason, self.detail)
        }
    }
}

impl From<&StoreError> for Closed {
    fn from(error: &StoreError) -> Self {
        Self { reason: error.kind().to_owned(), detail: error.to_string() }
    }
}

/// One operation that is durable, or failed.
pub(super) struct Done {
    pub task: Task,
    pub answer: Result<Answer, Closed>,
}

/// What the thread owns.
pub(super) struct Commits {
    pub ledger: Ledger,
    pub store: Box<dyn Store>,
    pub clock: Clock,
    pub health: Arc<Health>,
    pub batch_max: usize,
    pub room: Room,
}

impl Commits {
    /// Works until it is told to stop or nobody is left who could ask.
    pub fn run(mut self, mut inbox: mpsc::Receiver<Work>, outbox: &mpsc::Sender<Vec<Done>>) {
        let mut measured: Option<Instant> = None;
        self.show_figures();
        while let Some(first) = inbox.blocking_recv() {
            let mut stop = None;
            let mut batch = Vec::new();
            let mut next = Some(first);
            while let Some(work) = next {
                match work.task {
                    Task::Stop { waiter } => {
                        stop = Some(waiter);
                        break;
                    }
                    _ => batch.push(work),
                }
                next = if batch.len() < self.batch_max { inbox.try_recv().ok() } else { None };
            }
            if !batch.is_empty() {
                let done = self.batch(batch);
                self.show_figures();
                self.see_room();
                if outbox.blocking_send(done).is_err() {
                    return;
                }
            }
            if let Some(waiter) = stop {
                // The store is closed before whoever waits goes on.
                drop(self);
                let _ = waiter.send(());
                return;
            }
            if measured.is_none_or(|measured| measured.elapsed() >= SIZE_EVERY) {
                measured = Some(Instant::now());
                Metrics::get().disk_bytes.set(to_f64(self.store.disk_bytes()));
                Metrics::get().free_bytes.set(to_f64(self.store.free_bytes()));
            }
        }
    }

    fn batch(&mut self, batch: Vec<Work>) -> Vec<Done> {
        let (operations, tasks): (Vec<_>, Vec<_>) =
            batch.into_iter().map(|work| (work.operation, work.task)).unzip();
        let answers = match self.health.closed() {
            Some(closed) => Err(closed),
            None => self.durably(operations).map_err(|error| self.close(&error)),
        };
        match answers {
            Ok(answers) => tasks
                .into_iter()
                .zip(answers)
                .map(|(task, answer)| Done { task, answer: Ok(answer) })
                .collect(),
            Err(closed) => tasks.into_iter().map(|task| Done { task, answer: Err(closed.clone()) }).collect(),
        }
    }

    /// Applies all, and makes what changed durable.
    fn durably(&mut self, operations: Vec<Operation>) -> Result<Vec<Answer>, StoreError> {
        let count = operations.len();
        let begun = Instant::now();
        // A panic of the engine is an error of the disk like another: it must not end the thread that says so.
        let answers = catch_unwind(AssertUnwindSafe(|| {
            self.ledger.begin((self.clock)(), self.store.free_bytes());
            let answers = operations
                .into_iter()
                .map(|operation| self.ledger.apply(operation, &*self.store))
                .collect::<Result<Vec<_>, _>>()?;
            let (changes, head) = self.ledger.take();
            if changes.is_empty() {
                return Ok((answers, false));
            }
            self.store.commit(&changes, &head)?;
            Ok((answers, true))
        }))
        .unwrap_or_else(|_| Err(StoreError::Broken("the store panicked".into())))?;
        if let (_, true) = answers {
            let metrics = Metrics::get();
            metrics.commit_duration.record(begun.elapsed().as_secs_f64());
            metrics.commit_operations.record(to_f64(count as u64));
        }
        Ok(answers.0)
    }

    fn close(&self, error: &StoreError) -> Closed {
        let closed = Closed::from(error);
        tracing::error!(%error, "the store is closed until the connector is started anew; commands with keys are refused");
        self.health.close(closed.clone());
        closed
    }

    /// Tells operators when new keys begin to be refused, and when that is over.
    fn see_room(&mut self) {
        match self.room.see(self.ledger.full_for_all(), self.ledger.now()) {
            Some(Turn::Full(full)) => {
                tracing::warn!(reason = %full, "the store takes no new keys; those that it knows are told as before");
            }
            Some(Turn::Free) => tracing::info!("the store takes new keys again"),
            None => {}
        }
        let full = self.room.full();
        Metrics::get().full(full.map(Full::limit));
        self.health.fill(full);
    }

    /// In every batch, and there is one with each sweep: an age grows without anybody writing.
    fn show_figures(&self) {
        // The ledger's own time stands still once the store is closed, and a doubt grows older all the same.
        let now = (self.clock)().max(self.ledger.now());
        Metrics::get().show(self.ledger.usage(), now);
    }
}

/// A figure for a gauge; beyond 2^53 the last digits do not matter.
#[expect(clippy::cast_precision_loss, reason = "a gauge of bytes or counts")]
fn to_f64(figure: u64) -> f64 {
    figure as f64
}
