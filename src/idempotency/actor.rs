//! Who runs a key and who waits for it. Nothing is answered here that is not durable: the commit thread said it first.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorContext, AsyncContext, Context, Handler, Message, StreamHandler};
use futures_util::stream;
use tokio::sync::{Mutex, mpsc, oneshot};

use super::commit::{Closed, Done, Task, Work};
use super::ledger::would_be;
use super::metrics::{Decided, Metrics};
use super::verdict::{Claimed, Join, Orphans, Recorded, Told, Verdict, Waiting};
use super::{Answer, Config, Decision, Ended, Identity, Operation, Record, Settled, settled_ending};
use crate::domain::{Cause, Ending, Sent};

/// Records that one sweep takes away at most, so that commands wait for none longer than for another command.
const SWEPT_AT_ONCE: usize = 256;

/// What the actor is built from. After its death another one is built from the same.
#[derive(Clone)]
pub(super) struct Parts {
    pub commits: mpsc::Sender<Work>,
    pub done: Arc<Mutex<mpsc::Receiver<Vec<Done>>>>,
    pub orphans: Orphans,
    pub waiting: Waiting,
    pub joins_per_key_max: usize,
    pub sweep_every: Duration,
    pub mailbox_messages_max: usize,
}

impl Parts {
    pub fn new(config: &Config, commits: mpsc::Sender<Work>, done: mpsc::Receiver<Vec<Done>>) -> Self {
        Self {
            commits,
            done: Arc::new(Mutex::new(done)),
            orphans: Orphans::default(),
            waiting: Waiting::default(),
            joins_per_key_max: config.joins_per_key_max,
            sweep_every: Duration::from_secs(config.sweep_seconds),
            mailbox_messages_max: config.commits_waiting_max,
        }
    }
}

/// Owns the joins, and passes everything else between the doors and the commit thread.
pub(super) struct IdempotencyActor {
    parts: Parts,
    // By the number of the claim as well: a late word on an earlier attempt is not for those who wait for this one.
    joins: HashMap<(Identity, u64), Vec<oneshot::Sender<Told>>>,
}

impl IdempotencyActor {
    pub fn new(parts: Parts) -> Self {
        Self { parts, joins: HashMap::new() }
    }

    fn decided(&mut self, identity: Identity, waiter: oneshot::Sender<Verdict>, decision: Decision) {
        let verdict = match decision {
            Decision::Run(record) => Verdict::Run(Claimed::new(record, self.parts.orphans.clone())),
            Decision::Running(record) => self.join(identity, record),
            Decision::Free => Verdict::Free,
            Decision::Known(record) => Verdict::Known(record),
            Decision::Conflict => Verdict::Conflict,
            Decision::Full(full) => Verdict::Full(full),
        };
        count(&verdict);
        // Whoever has left drops a claim here, and its key is free again.
        drop(waiter.send(verdict));
    }

    fn join(&mut self, identity: Identity, record: Box<Record>) -> Verdict {
        let waiting = self.joins.entry((identity, record.fence)).or_default();
        if waiting.len() >= self.parts.joins_per_key_max {
            waiting.retain(|waiter| !waiter.is_closed());
        }
        if waiting.len() >= self.parts.joins_per_key_max {
            return Verdict::Crowded(record);
        }
        let (waiter, told) = oneshot::channel();
        waiting.push(waiter);
        Verdict::Join(Join { record, told, _place: self.parts.waiting.enter() })
    }

    fn settled(
        &mut self,
        claimed: Box<Record>,
        ending: Ending,
        ended: Ended,
        settled: Result<Settled, Closed>,
    ) -> (Recorded, Box<Record>) {
        let (identity, fence) = (claimed.identity(), claimed.fence);
        let is_foreign = settled == Ok(Settled::Foreign);
        let (recorded, record) = match settled {
            Ok(Settled::Recorded(record)) => (Recorded::Yes, record),
            Ok(Settled::Withdrawn) => (Recorded::Yes, claimed),
            Ok(Settled::Foreign) => {
                Metrics::get().settles_refused.increment(1);
                tracing::error!(
                    channel = %claimed.channel,
                    request_id = %claimed.request_id,
                    "a settle was refused: the record is of another attempt, or settled already"
                );
                (Recorded::No, claimed)
            }
            Err(_) => (Recorded::No, Box::new(would_be(*claimed, &ended))),
        };
        if recorded == Recorded::No && !matches!(ended, Ended::NotSent) {
            Metrics::get().unrecorded.increment(1);
        }
        let ending = settled_ending(&record, ending);
        let waiting = self.joins.remove(&(identity, fence)).unwrap_or_default();
        if is_foreign {
            // It says nothing of their call; they hear that it is in progress.
            return (recorded, record);
        }
        for waiter in waiting {
            let told = Told { ending: ending.clone(), record: record.clone(), recorded };
            // Whoever does not wait any more has been answered.
            drop(waiter.send(told));
        }
        (recorded, record)
    }

    fn settle_orphans(&self, ctx: &mut Context<Self>) {
        for (claimed, ended) in self.parts.orphans.take() {
            let cause = if ended == Ended::NotSent { Cause::Cancelled } else { Cause::Internal(Sent::Maybe) };
            let ending = Ending::new(cause, "the call ended without an answer");
            let operation = Operation::Settle { claimed: claimed.clone(), ended: ended.clone() };
            self.pass_on(
                Work { operation, task: Task::Settle { claimed, ending, ended, waiter: None } },
                ctx,
            );
        }
    }

    /// Gives work to the commit thread, and waits for room outside of this actor.
    fn pass_on(&self, work: Work, ctx: &mut Context<Self>) {
        if let Err(mpsc::error::TrySendError::Full(work)) = self.parts.commits.try_send(work) {
            let commits = self.parts.commits.clone();
            ctx.spawn(actix::fut::wrap_future(async move {
                // Closed: the waiter hears it, since its channel is dropped with the work.
                drop(commits.send(work).await);
            }));
        }
    }
}

fn count(verdict: &Verdict) {
    let kind = match verdict {
        Verdict::Run(claimed) if claimed.record().attempt > 1 => Decided::Resent,
        Verdict::Run(_) => Decided::New,
        Verdict::Known(record) if record.state == super::State::InDoubt => Decided::InDoubt,
        Verdict::Known(_) => Decided::Replayed,
        Verdict::Join(_) | Verdict::Crowded(_) => Decided::Joined,
        Verdict::Conflict => Decided::Conflict,
        Verdict::Full(_) | Verdict::Busy | Verdict::Unavailable(_) => Decided::Refused,
        Verdict::Free => return,
    };
    Metrics::get().decided(kind);
}

impl Actor for IdempotencyActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(self.parts.mailbox_messages_max);
        let done = self.parts.done.clone();
        ctx.add_stream(stream::unfold(done, |done| async move {
            let next = done.lock().await.recv().await;
            next.map(|batch| (batch, done))
        }));
        ctx.run_interval(self.parts.sweep_every, |actor, ctx| {
            actor.settle_orphans(ctx);
            // When there is no room, the next tick sweeps.
            let operation = Operation::Sweep { max: SWEPT_AT_ONCE };
            drop(actor.parts.commits.try_send(Work { operation, task: Task::Sweep }));
        });
    }
}

/// Hands an operation over. Its answer goes to whoever waits in its task.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct Submit(pub Work);

impl Handler<Submit> for IdempotencyActor {
    type Result = ();

    fn handle(&mut self, Submit(work): Submit, ctx: &mut Self::Context) {
        let is_new = matches!(work.task, Task::Decide { .. } | Task::Tell { .. });
        if is_new && self.parts.commits.capacity() == 0 {
            refuse(work);
            return;
        }
        self.pass_on(work, ctx);
    }
}

fn refuse(work: Work) {
    match work.task {
        Task::Decide { waiter, .. } => {
            count(&Verdict::Busy);
            drop(waiter.send(Verdict::Busy));
        }
        Task::Tell { waiter } => {
            drop(waiter.send(Err(Closed::since("too much waits for the store already"))))
        }
        Task::Settle { .. } | Task::Sweep | Task::Stop { .. } => {}
    }
}

impl StreamHandler<Vec<Done>> for IdempotencyActor {
    fn handle(&mut self, batch: Vec<Done>, ctx: &mut Self::Context) {
        for Done { task, answer } in batch {
            match (task, answer) {
                (Task::Decide { identity, waiter }, Ok(Answer::Decision(decision))) => {
                    self.decided(identity, waiter, decision);
                }
                (Task::Decide { waiter, .. }, Err(closed)) => {
                    let verdict = Verdict::Unavailable(closed.reason);
                    count(&verdict);
                    drop(waiter.send(verdict));
                }
                (Task::Settle { claimed, ending, ended, waiter }, answer) => {
                    let settled = answer.map(|answer| match answer {
                        Answer::Settled(settled) => settled,
                        _ => Settled::Foreign,
                    });
                    let told = self.settled(claimed, ending, ended, settled);
                    if let Some(waiter) = waiter {
                        drop(waiter.send(told));
                    }
                }
                (Task::Tell { waiter }, answer) => drop(waiter.send(answer)),
                (Task::Sweep, Ok(Answer::Swept(swept))) => {
                    Metrics::get().expired.increment(swept as u64);
                    if swept == SWEPT_AT_ONCE {
                        let operation = Operation::Sweep { max: SWEPT_AT_ONCE };
                        drop(self.parts.commits.try_send(Work { operation, task: Task::Sweep }));
                    }
                }
                (Task::Sweep | Task::Stop { .. }, _) => {}
                (Task::Decide { .. }, Ok(answer)) => {
                    tracing::error!(?answer, "an answer that no claim can have");
                }
            }
        }
        self.settle_orphans(ctx);
    }

    fn finished(&mut self, ctx: &mut Self::Context) {
        // The commit thread has ended: nothing can be answered any more.
        ctx.stop();
    }
}
