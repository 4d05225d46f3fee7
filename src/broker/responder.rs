//! Answers the requests of one channel: what `kubemq-mcp respond` and the demo stand on.
//!
//! This file is the door; `subscription` keeps the stream alive and `answering` runs the handler.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::address::Address;
use super::config::Config;
use super::credential::Credential;
use super::error::ConfigError;
use super::subscription::Supervisor;
use super::tls::Tls;
use crate::domain::{Channel, Kind, Tags};

/// How long [`Responder::stop`] waits for handlers that have begun.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

/// Requests answered at once when nothing else is said.
pub const IN_FLIGHT_MAX: usize = 100;

/// What to subscribe to.
#[derive(Clone, Debug)]
pub struct Subscription {
    /// Commands or queries.
    pub kind: Kind,
    /// The channel; the broker takes no wildcard here.
    pub channel: Channel,
    /// Members of one group share the requests; empty for none, and then *every* such responder gets each request.
    pub group: String,
    /// How many requests may be in the handler at once; the broker keeps a hundred more and drops the rest.
    pub in_flight_max: usize,
}

/// A request, as it came.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The asker's id of it.
    pub request_id: String,
    /// Command or query.
    pub kind: Kind,
    /// The channel it was sent to.
    pub channel: String,
    /// The payload.
    pub body: Vec<u8>,
    /// A text beside the payload.
    pub metadata: String,
    /// String pairs beside the payload.
    pub tags: Tags,
    /// The asker's client id.
    pub client_id: String,
}

/// What the handler says. The broker passes neither body nor metadata on to the asker of a command.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Whether it was done.
    pub executed: bool,
    /// Why not; may stand beside `executed`.
    pub error: String,
    /// The payload.
    pub body: Vec<u8>,
    /// A text beside the payload.
    pub metadata: String,
    /// String pairs beside the payload.
    pub tags: Tags,
}

/// The handler has begun and nobody knows how far it came.
///
/// A command is not answered then, so that its asker hears that the outcome is unknown: an answer could only say that it
/// was not executed. A query, which has no effect, is answered with the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the responder failed while it handled the request: {0}")]
pub struct Unfinished(pub String);

/// Runs once for each request, many at a time. A panic counts as [`Unfinished`].
pub type Handler = Arc<dyn Fn(Asked) -> BoxFuture<'static, Result<Answer, Unfinished>> + Send + Sync>;

/// A subscription that comes back after every loss of the broker, until it is stopped or dropped.
pub struct Responder {
    open: watch::Receiver<bool>,
    stop: CancellationToken,
    abandon: CancellationToken,
    in_flight: Arc<Semaphore>,
    in_flight_max: usize,
    supervisor: JoinHandle<()>,
}

impl Responder {
    /// Starts to answer, at the first of these addresses that answers; the broker may be down.
    ///
    /// # Errors
    /// Names the option that is wrong, or the file that cannot be used.
    pub fn start(
        config: &Config,
        addresses: Vec<Address>,
        subscription: Subscription,
        handler: Handler,
    ) -> Result<Self, ConfigError> {
        config.check()?;
        if addresses.is_empty() {
            return Err(ConfigError::NoAddress);
        }
        // A semaphore holds no more, and one of zero would never answer.
        let in_flight_max = subscription.in_flight_max.clamp(1, Semaphore::MAX_PERMITS);
        let in_flight = Arc::new(Semaphore::new(in_flight_max));
        let (opened, open) = watch::channel(false);
        let (stop, abandon) = (CancellationToken::new(), CancellationToken::new());
        let supervisor = Supervisor {
            config: config.clone(),
            addresses,
            tls: Tls::load(config)?,
            credential: Arc::new(Credential::load(config)?),
            subscription,
            handler,
            in_flight: Arc::clone(&in_flight),
            opened,
            abandon: abandon.clone(),
        };
        let supervisor = tokio::spawn(supervisor.run(stop.clone()));
        Ok(Self { open, stop, abandon, in_flight, in_flight_max, supervisor })
    }

    /// Waits until the subscription is open, as far as one can know: a broker written in Go confirms nothing before the
    /// first request, so there an unopposed second counts.
    pub async fn ready(&self) {
        // The sender ends only with the supervisor, after which nothing becomes ready: waiting on would be for ever.
        let _ = self.open.clone().wait_for(|open| *open).await;
    }

    /// Whether the subscription is open now.
    pub fn is_open(&self) -> bool {
        *self.open.borrow()
    }

    /// Leaves the channel, lets the handlers that have begun answer, and gives up on them after five seconds.
    pub async fn stop(mut self) {
        self.stop.cancel();
        // A supervisor that has panicked has left the channel as well.
        let _ = (&mut self.supervisor).await;
        let permits = u32::try_from(self.in_flight_max).unwrap_or(u32::MAX);
        if tokio::time::timeout(STOP_PATIENCE, self.in_flight.acquire_many(permits)).await.is_err() {
            tracing::warn!("a responder was stopped before all its answers were sent");
        }
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.stop.cancel();
        self.abandon.cancel();
    }
}
