//! The door of the routing actors: a call in, a report out, one hop each way.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::actor::{AreYouThere, Channels, Route};
use super::call::{Lookup, Status};
use super::journal::Journal;
use super::keyed::{self, RETRY_AFTER, Wait};
use super::tool::key::KeyOfRefused;
use super::tool::request::{Refusal, timeout_seconds_default};
use super::{Call, Report, Shards};
use crate::audit;
use crate::domain::{Cause, Ending, Key, Kind, Principal, Sent, Tool};
use crate::idempotency;

/// How much longer than its own deadline a call may take on its way through the actors. Longer means that a thread hangs.
const ROUTING_PATIENCE: Duration = Duration::from_secs(10);

/// How long the store may take for both writes of a command with a key, beyond everything else.
const STORE_PATIENCE: Duration = Duration::from_secs(60);

/// All shards, seen from outside. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    shards: Arc<Shards>,
    journal: Journal,
}

impl Handle {
    /// The door of these shards.
    pub fn new(shards: Arc<Shards>) -> Self {
        let journal = shards.journal();
        Self { shards, journal }
    }

    /// Runs a call to its end. Dropping the future does not end the call: [`Call::leave`] says what leaving does.
    pub async fn call(&self, call: Call, arrived: Instant) -> Report {
        let door = self.clone();
        // On a task of its own: an actor does not read mail whose sender is gone.
        match tokio::spawn(async move { door.route(call, arrived).await }).await {
            Ok(report) => report,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    async fn route(&self, call: Call, arrived: Instant) -> Report {
        let unanswered = Cause::Internal(Sent::Maybe);
        let mut report = Report::of(&call, Ending::new(unanswered, "the routing actor died or hangs"));
        if self.shards.are_closed() {
            report.ending = Ending::new(Cause::Overloaded, "the connector is stopping");
            report.retry_after = Some(RETRY_AFTER);
        } else {
            let shard = self.shards.of(call.request.kind, &call.request.channel);
            let store = if call.keyed.is_some() { STORE_PATIENCE } else { Duration::ZERO };
            let written = match call.request.kind {
                Kind::Command => audit::PATIENCE,
                Kind::Query => Duration::ZERO,
            };
            let longest = call.request.timeout.duration()
                + self.shards.gateway_buffer()
                + ROUTING_PATIENCE
                + store
                + written;
            if let Ok(report) = shard.send(Route { call, arrived }).timeout(longest).await {
                return report;
            }
        }
        report.elapsed = arrived.elapsed();
        self.journal.call_ended(&report);
        report
    }

    /// Answers a call whose arguments are wrong. When its key is known all the same, what that did is told.
    pub(super) async fn refuse(
        &self,
        (principal, tool): (Principal, Tool),
        refusal: Refusal,
        leave: CancellationToken,
        arrived: Instant,
    ) -> Report {
        let Refusal { channel, ending, key, timeout } = refusal;
        let mut report = Report::refused(principal.clone(), tool, channel, ending);
        report.timeout = timeout;
        match key {
            KeyOfRefused::None => {}
            KeyOfRefused::Unclear => report.memory.lookup = Lookup::Missing,
            KeyOfRefused::Clear(keyed) => {
                report.memory = super::call::Memory::of(Some(keyed.key.clone()));
                let seconds = timeout_seconds_default(tool.kind());
                let patience = timeout.map_or(Duration::from_secs(seconds), crate::domain::Timeout::duration);
                let wait = Wait { until: arrived + patience, leave };
                keyed::look(&principal, &keyed, self.shards.store(), wait, &mut report).await;
            }
        }
        report.elapsed = arrived.elapsed();
        self.journal.call_ended(&report);
        report
    }

    /// Says what is known of a key, and touches nothing.
    pub(super) async fn status(&self, principal: Principal, key: Key, arrived: Instant) -> Report {
        let found = keyed::status(&principal, &key, self.shards.store()).await;
        let mut report =
            Report::refused(principal, Tool::CommandStatus, None, Ending::new(Cause::Completed, ""));
        report.memory = super::call::Memory::of(Some(key));
        match found {
            Ok(found) => {
                report.memory.lookup = Lookup::Done;
                report.channel = found.as_ref().map(|record| record.channel.to_string());
                report.status = Some(found.map_or(Status::Absent, Status::Known));
            }
            Err(closed) => report.ending = Ending::new(Cause::StoreUnavailable, closed.reason),
        }
        report.elapsed = arrived.elapsed();
        self.journal.call_ended(&report);
        report
    }

    /// Where the ends of calls are noted.
    pub(super) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Whether every routing actor takes its mail within `patience`.
    pub async fn answers(&self, patience: Duration) -> bool {
        for address in self.shards.all() {
            if address.send(AreYouThere).timeout(patience).await.is_err() {
                return false;
            }
        }
        true
    }

    /// Who remembers commands.
    pub fn store(&self) -> &idempotency::Handle {
        self.shards.store()
    }

    /// Requests in flight over all channels.
    pub fn requests_pending(&self) -> usize {
        self.shards.seats().requests_pending()
    }

    /// Channels that have an actor.
    pub fn channels_alive(&self) -> usize {
        self.shards.seats().channels_alive()
    }

    /// Takes no more calls, and ends everything in flight as stopped, each step within `patience`.
    pub async fn close(&self, patience: Duration) {
        self.shards.close();
        for address in self.shards.all() {
            let Ok(channels) = address.send(Channels).timeout(patience).await else { continue };
            for channel in channels {
                channel.close(patience).await;
            }
        }
    }
}
