//! What every call passes before it leaves: over which connection, or that there is none.
//!
//! A call leaves only over a link whose last look found a broker. When there is none, the call asks for a look and
//! waits for its result, so that thousands of calls make one attempt to connect together; the client library would
//! make theirs one after the other, each as long as `connect_seconds`. A call that ends here was certainly not sent.
//!
//! ```text
//!  call ── open? ──yes──────────────────────────────▶ leaves over the route
//!            │no: wake the health task, wait for its next look
//!            └──▶ found ──▶ leaves       not found ──▶ Unavailable, not sent
//! ```

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::client::Client;
use super::link::{Epoch, Link, Pace};
use super::{BrokerInfo, Fault};

/// How much of a look that was under way when a call arrived must remain for the call to share its result. A shorter one
/// may have knocked just before the broker came back.
const SHARED_LOOK_MIN: Duration = Duration::from_millis(100);

/// Whether the broker is there, for people and probes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// The last ping was answered.
    Up {
        /// By whom.
        info: BrokerInfo,
    },
    /// No broker was found.
    Down {
        /// What was met instead.
        reason: String,
        /// Since when.
        since: Instant,
    },
}

/// The connection that a call leaves over. It keeps its client alive when another one takes over.
#[derive(Clone)]
pub(super) struct Route {
    pub client: Arc<Client>,
    pub index: usize,
    pub epoch: Epoch,
}

/// What a broker that is there says of itself.
pub(super) enum Condition {
    /// It answered the ping.
    Well(BrokerInfo),
    /// It speaks, but does not serve the ping; calls shall hear from itself why.
    Unwell(String),
    /// It answered calls while it was late with the ping.
    Unheard,
}

/// What the last look has found, as calls go by it.
#[derive(Clone)]
enum Verdict {
    Open(Route),
    Doubted,
    Closed(Fault),
}

/// The gate, shared by all calls and the health task.
pub(super) struct Gate {
    link: Mutex<Link>,
    /// The verdict, and when the look behind it began.
    verdict: watch::Sender<(Instant, Verdict)>,
    state: watch::Sender<LinkState>,
    wake: Notify,
    avoid: Mutex<Option<usize>>,
    shut: AtomicBool,
    replies: AtomicU64,
}

impl Gate {
    pub(super) fn new(pace: Pace) -> Self {
        let reason = "not connected yet".to_owned();
        let closed = Verdict::Closed(Fault::Unavailable(reason.clone()));
        Self {
            link: Mutex::new(Link::new(pace)),
            verdict: watch::Sender::new((Instant::now(), closed)),
            state: watch::Sender::new(LinkState::Down { reason, since: Instant::now() }),
            wake: Notify::new(),
            avoid: Mutex::new(None),
            shut: AtomicBool::new(false),
            replies: AtomicU64::new(0),
        }
    }

    /// The route to leave over.
    ///
    /// # Errors
    /// Tells why there is none, after a look on behalf of this call.
    pub(super) async fn pass(&self) -> Result<Route, Fault> {
        if let Some(route) = self.route() {
            return Ok(route);
        }
        let arrived = Instant::now();
        let mut verdicts = self.verdict.subscribe();
        match &verdicts.borrow_and_update().1 {
            Verdict::Open(route) => return Ok(route.clone()),
            Verdict::Closed(fault) if self.shut.load(Ordering::Acquire) => return Err(fault.clone()),
            Verdict::Closed(_) | Verdict::Doubted => {}
        }
        self.wake.notify_one();
        loop {
            // The sender lives in `self`, so it outlives this borrow.
            verdicts.changed().await.expect("the gate owns the sender");
            let seen = verdicts.borrow_and_update();
            let on_behalf = seen.0 >= arrived || arrived.elapsed() >= SHARED_LOOK_MIN;
            match &seen.1 {
                Verdict::Open(route) => return Ok(route.clone()),
                Verdict::Closed(fault) if on_behalf => return Err(fault.clone()),
                Verdict::Closed(_) | Verdict::Doubted => {}
            }
        }
    }

    /// The route of the moment, if calls may leave.
    pub(super) fn route(&self) -> Option<Route> {
        match &self.verdict.borrow().1 {
            Verdict::Open(route) => Some(route.clone()),
            Verdict::Doubted | Verdict::Closed(_) => None,
        }
    }

    /// Takes note of how a call over this route failed, and wakes the health task when the connection is in doubt.
    pub(super) fn report(&self, route: &Route, fault: &Fault) {
        let avoid = match fault {
            Fault::Unavailable(_) => Some(route.index),
            Fault::ConnectionLost(_) => None,
            _ => return,
        };
        // Held until the verdict is written, or a look that ends in between would be overwritten by an older doubt.
        let mut link = self.link();
        if !link.doubted(route.epoch) {
            return;
        }
        *self.avoid() = avoid;
        self.verdict.send_modify(|verdict| verdict.1 = Verdict::Doubted);
        drop(link);
        self.wake.notify_one();
    }

    /// The address to try last in the next look: a call has just found it useless.
    pub(super) fn take_avoided(&self) -> Option<usize> {
        self.avoid().take()
    }

    /// Counts a reply: proof that the broker lives, even when it is late with a ping.
    pub(super) fn count_reply(&self) {
        self.replies.fetch_add(1, Ordering::Relaxed);
    }

    /// How many replies have come.
    pub(super) fn replies(&self) -> u64 {
        self.replies.load(Ordering::Relaxed)
    }

    /// The broker behind this route still answers. Says whether calls still leave over it; otherwise one has cast a
    /// doubt since.
    pub(super) fn confirm(&self, route: &Route, condition: Condition) -> bool {
        let confirmed = self.link().confirmed(route.epoch);
        match condition {
            _ if !confirmed => {}
            Condition::Well(info) => self.tell_up(info),
            Condition::Unwell(reason) => self.tell_down(reason),
            Condition::Unheard => {}
        }
        confirmed
    }

    /// A broker was found; calls leave over this client from now on.
    pub(super) fn open(&self, client: Arc<Client>, index: usize, condition: Condition) {
        let mut link = self.link();
        let epoch = link.answered();
        self.publish(Instant::now(), Verdict::Open(Route { client, index, epoch }));
        drop(link);
        match condition {
            Condition::Well(info) => self.tell_up(info),
            Condition::Unwell(reason) => self.tell_down(reason),
            Condition::Unheard => {}
        }
    }

    /// A new client to the same broker takes over, in good order.
    pub(super) fn replace(&self, client: Arc<Client>) {
        let mut link = self.link();
        let epoch = link.replaced();
        self.verdict.send_if_modified(|verdict| {
            let Verdict::Open(route) = &verdict.1 else { return false };
            verdict.1 = Verdict::Open(Route { client, index: route.index, epoch });
            true
        });
        drop(link);
    }

    /// A whole look, which began then, found no broker. Says whether that is news.
    pub(super) fn close(&self, look_began: Instant, reason: String) -> bool {
        let mut link = self.link();
        let news = link.failed();
        self.publish(look_began, Verdict::Closed(Fault::Unavailable(reason.clone())));
        drop(link);
        self.tell_down(reason);
        news
    }

    /// Lets nothing pass any more.
    pub(super) fn shut(&self) {
        self.shut.store(true, Ordering::Release);
        self.close(Instant::now(), "the connection is being closed".to_owned());
    }

    /// Waits until the next look is due, or until a call asks for one.
    pub(super) async fn next_look(&self) {
        let pause = self.link().next_look(fastrand::f64());
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = self.wake.notified() => {}
        }
    }

    /// Follows the state.
    pub(super) fn states(&self) -> watch::Receiver<LinkState> {
        self.state.subscribe()
    }

    /// How often a broker was found again after it had been lost.
    pub(super) fn reconnects(&self) -> u64 {
        self.link().reconnects()
    }

    fn publish(&self, look_began: Instant, fresh: Verdict) {
        self.verdict.send_replace((look_began, fresh));
    }

    fn tell_up(&self, info: BrokerInfo) {
        self.state.send_if_modified(|state| {
            let fresh = LinkState::Up { info };
            let changed = *state != fresh;
            *state = fresh;
            changed
        });
    }

    fn tell_down(&self, fresh: String) {
        self.state.send_if_modified(|state| {
            let since = match state {
                LinkState::Down { reason, .. } if *reason == fresh => return false,
                LinkState::Down { since, .. } => *since,
                LinkState::Up { .. } => Instant::now(),
            };
            *state = LinkState::Down { reason: fresh, since };
            true
        });
    }

    fn link(&self) -> MutexGuard<'_, Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn avoid(&self) -> MutexGuard<'_, Option<usize>> {
        self.avoid.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
