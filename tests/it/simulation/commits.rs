//! The commit thread of the simulated connector: apply a batch, write it, and only then say what it said.

use kubemq_mcp::domain::Cause;
use kubemq_mcp::idempotency::{
    Answer as Says, Change, Consent, Ended, Head, Identity, Operation, Record, Resolution, Settlement, Store,
    StoreError,
};

use super::connector::{Connector, settlement};
use super::disk::Fate;
use super::stage::{CallId, Stage, Step};

/// Something for the ledger, and who waits for it.
#[derive(Clone, Debug)]
pub enum Task {
    Claim(CallId),
    Look(CallId),
    Settle { claimed: Box<Record>, cause: Cause, ended: Ended, waiter: Option<CallId> },
    Show(Identity),
    Resolve(Identity),
    Forget { identity: Identity, consent: Consent },
    Sweep,
}

pub struct Work {
    task: Task,
}

/// What is applied and not yet written.
pub struct Batch {
    tasks: Vec<Task>,
    says: Vec<Says>,
    changes: Vec<Change>,
    head: Head,
}

/// A task with its answer; `None` when the store is closed.
pub struct Finished {
    pub task: Task,
    pub says: Option<Says>,
}

impl Task {
    pub fn without_waiter(&self) -> Self {
        match self.clone() {
            Self::Settle { claimed, cause, ended, .. } => {
                Self::Settle { claimed, cause, ended, waiter: None }
            }
            other => other,
        }
    }

    fn operation(&self, stage: &Stage) -> Operation {
        match self {
            Self::Claim(call) => Operation::Claim(Box::new(stage.oracle.proposal(*call))),
            Self::Look(call) => {
                let proposal = stage.oracle.proposal(*call);
                let identity = Identity::of(&proposal.principal, &proposal.key);
                Operation::Look { identity, fingerprint: proposal.fingerprint }
            }
            Self::Settle { claimed, ended, .. } => {
                Operation::Settle { claimed: claimed.clone(), ended: ended.clone() }
            }
            Self::Show(identity) => Operation::Show(*identity),
            Self::Resolve(identity) => match stage.oracle.truth(*identity) {
                Some(executed) => {
                    let resolved = Some(Resolution { by: "kim".into(), why: "asked the responder".into() });
                    let settlement = Box::new(Settlement { resolved, ..settlement(executed) });
                    Operation::Resolve { identity: *identity, settlement }
                }
                // An operator who cannot know says nothing.
                None => Operation::Sweep { max: 0 },
            },
            Self::Forget { identity, consent } => {
                Operation::Forget { identity: *identity, consent: *consent }
            }
            Self::Sweep => Operation::Sweep { max: 3 },
        }
    }
}

impl Connector {
    pub fn submit(&mut self, task: Task, stage: &mut Stage) {
        self.queue.push_back(Work { task });
        self.go_on(stage);
    }

    fn go_on(&mut self, stage: &mut Stage) {
        if !self.is_busy && !self.queue.is_empty() {
            self.is_busy = true;
            let after = stage.between(0, 5);
            stage.inside(self.life, after, Step::Apply);
        }
    }

    pub(super) fn apply(&mut self, stage: &mut Stage) {
        let most = stage.below(stage.config.commit_batch_max) + 1;
        let count = most.min(self.queue.len());
        let tasks: Vec<Task> = self.queue.drain(..count).map(|work| work.task).collect();
        let applied = if self.is_closed { None } else { self.applied(&tasks, stage).ok() };
        let Some(says) = applied else {
            self.close(tasks, stage);
            return;
        };
        let (changes, head) = self.ledger.take();
        self.writing = Some(Batch { tasks, says, changes, head });
        let after = stage.between(0, 5);
        stage.inside(self.life, after, Step::Write);
    }

    fn applied(&mut self, tasks: &[Task], stage: &mut Stage) -> Result<Vec<Says>, StoreError> {
        let free_bytes = if stage.happens(stage.chances.disk_full) { 0 } else { u64::MAX };
        let wall = stage.wall();
        self.ledger.begin(wall, free_bytes);
        stage.oracle.begins(wall);
        stage.oracle.time_is(self.ledger.now());
        let mut says = Vec::new();
        for task in tasks {
            let operation = task.operation(stage);
            let fails = stage.happens(stage.chances.read_fails);
            stage.disk.fail_reads(fails);
            let said = self.ledger.apply(operation, &stage.disk);
            stage.disk.fail_reads(false);
            says.push(said?);
        }
        Ok(says)
    }

    /// Nobody can say what a disk holds that has failed.
    fn close(&mut self, tasks: Vec<Task>, stage: &mut Stage) {
        self.is_closed = true;
        let finished = tasks.into_iter().map(|task| Finished { task, says: None }).collect();
        self.deliver(finished, stage);
    }

    pub(super) fn write(&mut self, stage: &mut Stage) {
        let Batch { tasks, says, changes, head } = self.writing.take().expect("it was applied");
        if !changes.is_empty() {
            let written = stage.disk.written();
            if stage.happens(stage.chances.commit_fails) {
                let is_there = stage.happens(0.5);
                let fate = if is_there { Fate::FailsAndIsThere } else { Fate::FailsAndIsNotThere };
                stage.disk.decide(vec![fate]);
            }
            let result = stage.disk.commit(&changes, &head);
            if stage.disk.written() > written {
                stage.oracle.wrote();
                stage.oracle.durable(&tasks, &says);
            }
            if result.is_err() {
                self.close(tasks, stage);
                return;
            }
        } else {
            stage.oracle.durable(&tasks, &says);
        }
        let finished = tasks.into_iter().zip(says);
        let finished = finished.map(|(task, says)| Finished { task, says: Some(says) }).collect();
        self.deliver(finished, stage);
    }

    fn deliver(&mut self, finished: Vec<Finished>, stage: &mut Stage) {
        self.outbox.push_back(finished);
        let after = stage.between(0, 3);
        stage.inside(self.life, after, Step::Tell);
        self.is_busy = false;
        self.go_on(stage);
    }
}
