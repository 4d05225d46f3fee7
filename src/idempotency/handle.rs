//! The door of the store: claims, settles, looks, and what operators ask.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use actix::{Actor, Addr, Arbiter, ArbiterHandle, System};
use tokio::sync::{mpsc, oneshot};

use super::actor::{IdempotencyActor, Parts, Submit};
use super::commit::{Closed, Commits, Task, Work};
use super::metrics::Metrics;
use super::room::Room;
use super::verdict::{Claimed, Recorded, Verdict};
use super::{
    Answer, Clock, Config, Consent, Ended, Full, Identity, Ledger, Listed, Operation, Proposal, Record,
    Refusal, Selection, Settlement, Store,
};
use crate::domain::{Ending, FOREIGN_TEXT_CHARACTERS_MAX, Fingerprint, Outcome, Reply};

/// How long the store may take to say whether a command may leave. Longer means that its disk hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often a settle is handed over again when the actor dies with it.
const SETTLES_MAX: usize = 3;

/// The door of the store. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    inner: Arc<Inner>,
}

struct Inner {
    parts: Parts,
    arbiter: ArbiterHandle,
    // Locked for a clone on each message, and for a rebuild.
    address: Mutex<Addr<IdempotencyActor>>,
    health: Arc<Health>,
    attempts_max: u32,
    threads: Mutex<Option<Threads>>,
}

struct Threads {
    system: System,
    actors: JoinHandle<()>,
    commits: JoinHandle<()>,
}

/// Whether the store can be written, and has room.
#[derive(Debug, Default)]
pub(super) struct Health {
    closed: Mutex<Option<Closed>>,
    full: Mutex<Option<Full>>,
}

impl Health {
    pub fn closed(&self) -> Option<Closed> {
        self.closed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn close(&self, closed: Closed) {
        Metrics::get().up.set(0.0);
        *self.closed.lock().unwrap_or_else(PoisonError::into_inner) = Some(closed);
    }

    pub fn fill(&self, full: Option<Full>) {
        *self.full.lock().unwrap_or_else(PoisonError::into_inner) = full;
    }
}

/// How a command ended, as far as the store keeps it.
#[derive(Clone, Debug)]
pub struct End<'a> {
    /// Why it ended.
    pub ending: &'a Ending,
    /// What the responder said, when it said something.
    pub reply: Option<&'a Reply>,
    /// How long the command took.
    pub elapsed: Duration,
}

impl Handle {
    /// Starts the actor and its commit thread.
    ///
    /// # Errors
    /// When the operating system gives no thread.
    pub fn start(
        ledger: Ledger,
        store: Box<dyn Store>,
        clock: Clock,
        config: &Config,
    ) -> std::io::Result<Self> {
        let health = Arc::new(Health::default());
        Metrics::get().up.set(1.0);
        let (commits, inbox) = mpsc::channel(config.commits_waiting_max);
        // One batch is read while the next is written.
        let (outbox, done) = mpsc::channel(2);
        let (shown, batch_max) = (health.clone(), config.commit_batch_max);
        let thread = Commits { ledger, store, clock, health: shown, batch_max, room: Room::default() };
        let commit_thread =
            std::thread::Builder::new().name("commits".into()).spawn(move || thread.run(inbox, &outbox))?;
        let (system, arbiter, actor_thread) = actor_thread()?;
        let parts = Parts::new(config, commits, done);
        let address = Mutex::new(build(&arbiter, &parts));
        let threads = Threads { system, actors: actor_thread, commits: commit_thread };
        let (attempts_max, threads) = (config.attempts_max, Mutex::new(Some(threads)));
        let inner = Inner { parts, arbiter, address, health, attempts_max, threads };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Asks to send a command. After [`Verdict::Run`] the claim is durable.
    pub async fn claim(&self, proposal: Proposal) -> Verdict {
        let identity = Identity::of(&proposal.principal, &proposal.key);
        self.decide(identity, Operation::Claim(Box::new(proposal))).await
    }

    /// Asks what a claim would hear, without letting anything leave.
    pub async fn look(&self, identity: Identity, fingerprint: Fingerprint) -> Verdict {
        self.decide(identity, Operation::Look { identity, fingerprint }).await
    }

    async fn decide(&self, identity: Identity, operation: Operation) -> Verdict {
        let (waiter, verdict) = oneshot::channel();
        let work = Work { operation, task: Task::Decide { identity, waiter } };
        match tokio::time::timeout(PATIENCE, self.submitted(work, verdict)).await {
            Ok(Some(verdict)) => verdict,
            Ok(None) => Verdict::Unavailable(self.closed().reason),
            // A claim that is answered later is dropped by its actor, which makes its key free again.
            Err(_) => Verdict::Unavailable("the store does not answer in time".into()),
        }
    }

    /// Tells how a claimed command ended, and returns when that is durable, or cannot be made so.
    pub async fn settle(&self, claimed: Claimed, end: End<'_>) -> (Recorded, Box<Record>) {
        let ended = ended(&end);
        let record = claimed.settled();
        for _ in 0..SETTLES_MAX {
            let (waiter, settled) = oneshot::channel();
            let operation = Operation::Settle { claimed: record.clone(), ended: ended.clone() };
            let task = Task::Settle {
                claimed: record.clone(),
                ending: end.ending.clone(),
                ended: ended.clone(),
                waiter: Some(waiter),
            };
            if let Some(settled) = self.submitted(Work { operation, task }, settled).await {
                return settled;
            }
        }
        (Recorded::No, record)
    }

    /// What is known of a key.
    ///
    /// # Errors
    /// When the store is closed.
    pub async fn show(&self, identity: Identity) -> Result<Option<Box<Record>>, Closed> {
        match self.tell(Operation::Show(identity)).await? {
            Answer::Shown(record) => Ok(record),
            _ => Err(Closed::since("the store gave an answer to something else")),
        }
    }

    /// What is known of many keys, one piece of it.
    ///
    /// # Errors
    /// When the store is closed.
    pub async fn list(&self, selection: Selection) -> Result<Listed, Closed> {
        match self.tell(Operation::List(Box::new(selection))).await? {
            Answer::Listed(listed) => Ok(listed),
            _ => Err(Closed::since("the store gave an answer to something else")),
        }
    }

    /// Settles a key in doubt on an operator's word.
    ///
    /// # Errors
    /// When the store is closed; inside, why the word changes nothing.
    pub async fn resolve(
        &self,
        identity: Identity,
        settlement: Settlement,
    ) -> Result<Result<Box<Record>, Refusal>, Closed> {
        self.govern(Operation::Resolve { identity, settlement: Box::new(settlement) }).await
    }

    /// Takes a record away, so that its key is new again.
    ///
    /// # Errors
    /// When the store is closed; inside, why it stays.
    pub async fn forget(
        &self,
        identity: Identity,
        consent: Consent,
    ) -> Result<Result<Box<Record>, Refusal>, Closed> {
        self.govern(Operation::Forget { identity, consent }).await
    }

    async fn govern(&self, operation: Operation) -> Result<Result<Box<Record>, Refusal>, Closed> {
        match self.tell(operation).await? {
            Answer::Governed(governed) => Ok(governed),
            _ => Err(Closed::since("the store gave an answer to something else")),
        }
    }

    async fn tell(&self, operation: Operation) -> Result<Answer, Closed> {
        let (waiter, answer) = oneshot::channel();
        let work = Work { operation, task: Task::Tell { waiter } };
        match tokio::time::timeout(PATIENCE, self.submitted(work, answer)).await {
            Ok(Some(answer)) => answer,
            Ok(None) => Err(self.closed()),
            Err(_) => Err(Closed::since("the store does not answer in time")),
        }
    }

    /// Hands work over and waits for its answer; `None` when nobody will give one.
    async fn submitted<T>(&self, work: Work, answer: oneshot::Receiver<T>) -> Option<T> {
        let address = self.inner.address();
        address.send(Submit(work)).await.ok()?;
        answer.await.ok()
    }

    /// How often a command may leave with one key, where its channel lets it leave again.
    pub fn attempts_max(&self) -> u32 {
        self.inner.attempts_max
    }

    /// Calls that wait for another one with their key.
    pub fn joins_waiting(&self) -> usize {
        self.inner.parts.waiting.count()
    }

    /// Whether commands with a key can be recorded.
    ///
    /// # Errors
    /// Says why not.
    pub fn health(&self) -> Result<(), Closed> {
        self.inner.health.closed().map_or(Ok(()), Err)
    }

    /// Which limit leaves no room for new keys, when one does.
    pub fn full(&self) -> Option<Full> {
        *self.inner.health.full.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn closed(&self) -> Closed {
        self.inner.health.closed().unwrap_or_else(|| Closed::since("the store is closed"))
    }

    /// Makes everything that was handed over durable and closes the store. What comes later hears that it is closed.
    pub async fn close(&self) {
        let (waiter, closed) = oneshot::channel();
        let operation = Operation::Sweep { max: 0 };
        if self.inner.parts.commits.send(Work { operation, task: Task::Stop { waiter } }).await.is_ok() {
            // Dropped unanswered when the thread has ended already.
            let _ = closed.await;
        }
        self.inner.health.close(Closed::since("the connector stops"));
        let threads = self.inner.threads.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Threads { system, actors, commits }) = threads {
            system.stop();
            // A panic of either was logged where it happened.
            let _ = tokio::task::spawn_blocking(move || (commits.join(), actors.join())).await;
        }
    }
}

impl Inner {
    fn address(&self) -> Addr<IdempotencyActor> {
        let mut address = self.address.lock().unwrap_or_else(PoisonError::into_inner);
        if !address.connected() && self.health.closed().is_none() {
            tracing::error!("the idempotency actor died and is rebuilt");
            Metrics::get().rebuilt.increment(1);
            *address = build(&self.arbiter, &self.parts);
        }
        address.clone()
    }
}

fn build(arbiter: &ArbiterHandle, parts: &Parts) -> Addr<IdempotencyActor> {
    let parts = parts.clone();
    IdempotencyActor::start_in_arbiter(arbiter, move |_| IdempotencyActor::new(parts))
}

/// A thread of its own for the actor: a burst of claims must not wait behind routing.
fn actor_thread() -> std::io::Result<(System, ArbiterHandle, JoinHandle<()>)> {
    let (send, receive) = std::sync::mpsc::sync_channel(1);
    let thread = std::thread::Builder::new().name("idempotency".into()).spawn(move || {
        let runner = System::new();
        // The receiver waits right below; if it is gone the process is ending.
        let _ = send.send((System::current(), runner.block_on(async { Arbiter::current() })));
        if let Err(error) = runner.run() {
            tracing::error!(%error, "the actor system of the store ended");
        }
    })?;
    let (system, arbiter) =
        receive.recv().map_err(|_| std::io::Error::other("the thread of the idempotency actor died"))?;
    Ok((system, arbiter, thread))
}

/// Longest client id of a responder that a record keeps, in characters.
const RESPONDER_CHARACTERS_MAX: usize = 256;

fn clipped(text: &str, characters_max: usize) -> String {
    text.chars().take(characters_max).collect()
}

fn ended(end: &End<'_>) -> Ended {
    let executed = match end.ending.cause.outcome() {
        Outcome::Executed => true,
        Outcome::Rejected => false,
        Outcome::Unknown => return Ended::Unknown(end.ending.cause),
        Outcome::NotSent => return Ended::NotSent,
    };
    let reply = end.reply.cloned().unwrap_or_default();
    Ended::Answered(Settlement {
        executed,
        // The ledger's own time; see `Settlement::at`.
        at: super::Timestamp::default(),
        elapsed_milliseconds: u64::try_from(end.elapsed.as_millis()).unwrap_or(u64::MAX),
        error: clipped(&end.ending.detail, FOREIGN_TEXT_CHARACTERS_MAX + 1),
        responder: clipped(&reply.responder, RESPONDER_CHARACTERS_MAX),
        tags: reply.tags,
        truncated: false,
        resolved: None,
    })
}
