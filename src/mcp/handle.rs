//! The door of the routing actors: a call in, a report out, one hop each way.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::actor::{AreYouThere, Channels, Route};
use super::{Call, Report, Shards, journal};
use crate::domain::{Cause, Ending, Sent};

/// How much longer than its own deadline a call may take on its way through the actors. Longer means that a thread hangs.
const ROUTING_PATIENCE: Duration = Duration::from_secs(10);

/// All shards, seen from outside. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    shards: Arc<Shards>,
}

impl Handle {
    /// The door of these shards.
    pub fn new(shards: Arc<Shards>) -> Self {
        Self { shards }
    }

    /// Runs a call to its end. Dropping the future does not end the call: [`Call::leave`] says what leaving does.
    pub async fn call(&self, call: Call, arrived: Instant) -> Report {
        let mut report =
            Report::of(&call, Ending::new(Cause::Internal(Sent::Maybe), "the routing actor died or hangs"));
        let shard = self.shards.of(call.request.kind, &call.request.channel);
        let longest = call.request.timeout.duration() + self.shards.gateway_buffer() + ROUTING_PATIENCE;
        if let Ok(report) = shard.send(Route { call, arrived }).timeout(longest).await {
            return report;
        }
        report.elapsed = arrived.elapsed();
        journal::call_ended(&report);
        report
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

    /// Requests in flight over all channels.
    pub fn requests_pending(&self) -> usize {
        self.shards.seats().requests_pending()
    }

    /// Channels that have an actor.
    pub fn channels_alive(&self) -> usize {
        self.shards.seats().channels_alive()
    }

    /// Ends everything in flight as stopped, each step within `patience`.
    pub async fn close(&self, patience: Duration) {
        for address in self.shards.all() {
            let Ok(channels) = address.send(Channels).timeout(patience).await else { continue };
            for channel in channels {
                channel.close(patience).await;
            }
        }
    }
}
