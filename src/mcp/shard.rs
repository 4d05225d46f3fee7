//! The threads that actors live on. A channel always lands on the same shard.
//!
//! actix runs its own system on a thread of its own, and each shard is one arbiter in it. An actor that died is rebuilt
//! here from its factory; actix's own supervisor does not survive a panic.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use actix::{Actor, Addr, Arbiter, ArbiterHandle, System};

use super::actor::McpActor;
use super::journal::Journal;
use super::metrics::Metrics;
use crate::audit::Audit;
use crate::broker::SharedBroker;
use crate::channel::{self, Registry, Seats};
use crate::domain::{Channel, Kind};
use crate::idempotency;

/// What every actor is built from.
#[derive(Clone)]
pub struct Parts {
    /// Room for requests and channels, over all shards.
    pub seats: Seats,
    /// The limits of the channels.
    pub channel: channel::Config,
    /// Who carries the requests.
    pub broker: SharedBroker,
    /// How long to wait beyond a call's timeout.
    pub gateway_buffer: Duration,
    /// Who remembers commands.
    pub idempotency: idempotency::Handle,
    /// Where commands and their ends are written down.
    pub audit: Audit,
    /// Mail that waits for one routing actor.
    pub mailbox_messages_max: usize,
}

/// The running shards. Dropping them does not end them; [`Shards::stop`] does.
pub struct Shards {
    system: System,
    // Locked once, by whoever ends it.
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
    shards: Vec<Shard>,
    parts: Parts,
    closed: AtomicBool,
}

struct Shard {
    arbiter: ArbiterHandle,
    // Locked for a clone on each call, and for a rebuild.
    address: Mutex<Addr<McpActor>>,
}

impl Shards {
    /// Starts `count` shards. Blocks until their actors are there.
    ///
    /// # Errors
    /// When the operating system gives no thread.
    pub fn start(count: usize, parts: Parts) -> std::io::Result<Arc<Self>> {
        assert!(count > 0, "a connector without a shard routes nothing");
        let (send, receive) = std::sync::mpsc::sync_channel(1);
        let thread = std::thread::Builder::new().name("actors".into()).spawn(move || {
            let runner = System::new();
            let arbiters: Vec<Arbiter> =
                runner.block_on(async { (0..count).map(|_| Arbiter::new()).collect() });
            let handles: Vec<ArbiterHandle> = arbiters.iter().map(Arbiter::handle).collect();
            // The receiver waits right below; if it is gone the process is ending.
            let _ = send.send((System::current(), handles));
            if let Err(error) = runner.run() {
                tracing::error!(%error, "the actor system ended");
            }
            for arbiter in arbiters {
                arbiter.stop();
                // A panic of the thread was logged where it happened.
                let _ = arbiter.join();
            }
        })?;
        let (system, arbiters) =
            receive.recv().map_err(|_| std::io::Error::other("the actor thread died"))?;
        let shards = arbiters
            .into_iter()
            .map(|arbiter| Shard { address: Mutex::new(build(&arbiter, &parts)), arbiter })
            .collect();
        Ok(Arc::new(Self {
            system,
            thread: Mutex::new(Some(thread)),
            shards,
            parts,
            closed: AtomicBool::new(false),
        }))
    }

    /// The routing actor of a channel; a new one when the last has died.
    pub(super) fn of(&self, kind: Kind, channel: &Channel) -> Addr<McpActor> {
        let mut hasher = DefaultHasher::new();
        (kind, channel).hash(&mut hasher);
        let count = u64::try_from(self.shards.len()).expect("a count of threads fits");
        let index = usize::try_from(hasher.finish() % count).expect("below the count of shards");
        self.shards[index].address(&self.parts)
    }

    /// The routing actor of every shard.
    pub(super) fn all(&self) -> Vec<Addr<McpActor>> {
        self.shards.iter().map(|shard| shard.address(&self.parts)).collect()
    }

    /// How long a call may take beyond its timeout.
    pub(super) fn gateway_buffer(&self) -> Duration {
        self.parts.gateway_buffer
    }

    /// Who remembers commands.
    pub(super) fn store(&self) -> &idempotency::Handle {
        &self.parts.idempotency
    }

    /// Where the ends of calls are noted.
    pub(super) fn journal(&self) -> Journal {
        Journal::new(self.parts.audit.clone())
    }

    /// Takes no more calls.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// Whether no more calls are taken.
    pub(super) fn are_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Room for requests and channels.
    pub fn seats(&self) -> &Seats {
        &self.parts.seats
    }

    /// Ends the actors and their threads, and returns when they have ended. What is still in flight ends unknown.
    pub fn stop(&self) {
        self.system.stop();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A panic of the thread was logged where it happened.
            let _ = thread.join();
        }
    }
}

impl Shard {
    fn address(&self, parts: &Parts) -> Addr<McpActor> {
        let mut address = self.address.lock().unwrap_or_else(PoisonError::into_inner);
        if !address.connected() {
            tracing::error!("a routing actor died and is rebuilt");
            Metrics::get().rebuilt.increment(1);
            *address = build(&self.arbiter, parts);
        }
        address.clone()
    }
}

fn build(arbiter: &ArbiterHandle, parts: &Parts) -> Addr<McpActor> {
    let parts = parts.clone();
    McpActor::start_in_arbiter(arbiter, move |_| {
        let registry = Registry::new(parts.seats, parts.channel, parts.broker, parts.gateway_buffer);
        McpActor::new(registry, parts.idempotency, Journal::new(parts.audit), parts.mailbox_messages_max)
    })
}
