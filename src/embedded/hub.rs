//! What all calls of one broker share: the tables, each behind its own lock.
//!
//! No lock is held across an `await` or while another is taken.

use std::sync::{Mutex, MutexGuard, PoisonError};

use kubemq::proto::kubemq::{PingResult, Response};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::cache::Cache;
use super::config::Config;
use super::counter::Counters;
use super::delivery::Outlet;
use super::directory::{ChannelType, Directory, Record, UnixMilliseconds};
use super::fault::Fault;
use super::figures::Figures;
use super::identifier::Inbox;
use super::pending::Pending;
use super::routes::Routes;
use super::validation::Kind;
use super::wall_clock;

/// The version of KubeMQ whose answers these are, marked as a stand-in's. SDKs compare it with the versions they were
/// tested with and warn about any other, so a version of our own would tell their users to upgrade.
const VERSION: &str = "2.4.0-embedded";

/// The state of one broker.
#[derive(Debug)]
pub struct Hub {
    /// The way of replies.
    pub(super) inbox: Inbox,
    /// Who listens where.
    pub(super) routes: Mutex<Routes<Outlet>>,
    /// Who waits for a reply.
    pub(super) pending: Mutex<Pending<oneshot::Sender<Response>>>,
    /// Replies to give again.
    pub(super) cache: Mutex<Cache>,
    /// The channels seen.
    pub(super) directory: Mutex<Directory>,
    /// What is counted.
    pub(super) counters: Counters,
    /// Cancelled when the broker starts to end.
    pub(super) stopping: CancellationToken,
    /// The size of an inbox.
    pub(super) subscription_buffer: usize,
    changed: watch::Sender<()>,
    started_at: UnixMilliseconds,
    started: Instant,
}

impl Hub {
    /// The state of a broker that starts now.
    pub fn new(config: &Config) -> Self {
        Self {
            inbox: Inbox::new(),
            routes: Mutex::new(Routes::new(config.subscriptions_max)),
            pending: Mutex::new(Pending::new(config.requests_pending_max)),
            cache: Mutex::new(Cache::new(config.cache_entries_max, config.cache_bytes_max)),
            directory: Mutex::new(Directory::new(config.channels_max)),
            counters: Counters::default(),
            stopping: CancellationToken::new(),
            // An inbox of size 0 does not exist.
            subscription_buffer: config.subscription_buffer.max(1),
            changed: watch::Sender::new(()),
            started_at: wall_clock::now(),
            started: Instant::now(),
        }
    }

    /// Refuses what comes after the broker started to end.
    ///
    /// # Errors
    /// It has.
    pub fn refuse_while_stopping(&self) -> Result<(), Fault> {
        if self.stopping.is_cancelled() {
            return Err(Fault::ShuttingDown);
        }
        Ok(())
    }

    /// The figures now, of all but the connections.
    pub fn figures(&self) -> Figures {
        // Each in a statement of its own, so that each lock is released before the next is taken.
        let requests_waiting = open(&self.pending).len();
        let subscriptions = open(&self.routes).len();
        let channels = open(&self.directory).len();
        let cache_entries = open(&self.cache).len();
        Figures {
            requests_waiting,
            subscriptions,
            channels,
            cache_entries,
            connections: 0,
            requests_total: self.counters.requests.get(),
            timeouts_total: self.counters.timeouts.get(),
            cache_hits_total: self.counters.cache_hits.get(),
            responses_total: self.counters.responses.get(),
            responses_unclaimed_total: self.counters.responses_unclaimed.get(),
            deliveries_total: self.counters.deliveries.get(),
            deliveries_dropped_total: self.counters.deliveries_dropped.get(),
        }
    }

    /// Wakes those who wait for the figures to change.
    pub fn announce_change(&self) {
        // Without listeners there is nobody to tell, which is the usual case.
        let _ = self.changed.send(());
    }

    /// A listener for changes of the figures.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Notes activity on a channel; in a full directory a new channel goes unlisted.
    pub fn note(&self, kind: Kind, channel: &str, note: impl FnOnce(&mut Record)) {
        if let Ok(record) = open(&self.directory).touch(ChannelType::from(kind), channel, wall_clock::now()) {
            note(record);
        }
    }

    /// What the broker says of itself.
    pub fn ping(&self) -> PingResult {
        PingResult {
            host: "embedded".into(),
            version: VERSION.into(),
            server_start_time: self.started_at.0 / 1_000,
            server_up_time_seconds: i64::try_from(self.started.elapsed().as_secs()).unwrap_or(i64::MAX),
        }
    }
}

/// Opens a table. A panic elsewhere cannot have left one half changed: nothing between its lines can panic.
pub fn open<T>(table: &Mutex<T>) -> MutexGuard<'_, T> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}
