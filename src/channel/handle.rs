//! The door of a channel's actor.

use std::sync::Arc;
use std::time::Duration;

use actix::{Addr, MailboxError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::actor::{Ask, ChannelActor, Close};
use super::registry::InFlight;
use super::{AskError, ReserveError, Seats};
use crate::domain::{Channel, Reply, Request};

/// How long an actor may take to read its mail. It only files it, so a longer wait means that its thread hangs.
const MAIL_PATIENCE: Duration = Duration::from_secs(10);

/// A channel's actor, seen from outside. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    pub(super) channel: Channel,
    pub(super) address: Addr<ChannelActor>,
    pub(super) own_seats: OwnSeats,
    pub(super) seats: Seats,
}

/// Room for requests on one channel, shared by its door and its actor.
#[derive(Clone)]
pub(super) struct OwnSeats {
    free: Arc<Semaphore>,
    limit: usize,
}

impl OwnSeats {
    pub(super) fn new(limit: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(limit)), limit }
    }

    pub(super) fn all_free(&self) -> bool {
        self.free.available_permits() == self.limit
    }

    fn take(&self, channel: &Channel) -> Result<OwnedSemaphorePermit, ReserveError> {
        Arc::clone(&self.free)
            .try_acquire_owned()
            .map_err(|_| ReserveError::ChannelFull { channel: channel.clone(), limit: self.limit })
    }
}

/// Room for one request, on its channel and in the connector. It cannot be forged, and dropping it gives the room back.
pub struct Ticket {
    _own: OwnedSemaphorePermit,
    _shared: OwnedSemaphorePermit,
    _counted: Counted,
}

struct Counted(Arc<InFlight>);

impl Counted {
    fn new(in_flight: Arc<InFlight>) -> Self {
        in_flight.add();
        Self(in_flight)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.remove();
    }
}

/// How a request that was asked ended.
pub type Asked = Result<Reply, AskError>;

impl Handle {
    /// Takes room for one request. Answers at once.
    ///
    /// # Errors
    /// Names the limit that is reached. Nothing was sent.
    pub fn reserve(&self) -> Result<Ticket, ReserveError> {
        let own = self.own_seats.take(&self.channel)?;
        let shared = self.seats.take()?;
        Ok(Ticket { _own: own, _shared: shared, _counted: Counted::new(self.seats.in_flight()) })
    }

    /// Sends the request once and waits for its end. `leave` resets the call when the agent leaves.
    ///
    /// # Errors
    /// [`AskError::Gone`] when nothing was sent because the actor was dead; otherwise how the request failed.
    pub async fn ask(&self, ticket: Ticket, request: Request, leave: CancellationToken) -> Asked {
        if !self.is_alive() {
            return Err(AskError::Gone);
        }
        let (waiter, end) = tokio::sync::oneshot::channel();
        match self.address.send(Ask { ticket, request, leave, waiter }).timeout(MAIL_PATIENCE).await {
            Ok(()) => end.await.unwrap_or(Err(AskError::Died)),
            // The mail may have been read, or may be read still.
            Err(MailboxError::Closed | MailboxError::Timeout) => Err(AskError::Died),
        }
    }

    /// Ends everything in flight as stopped. For a shutdown whose patience is over.
    pub async fn close(&self, patience: Duration) {
        // A dead actor has nothing left to close.
        let _ = self.address.send(Close).timeout(patience).await;
    }

    /// Whether the actor still takes mail.
    pub fn is_alive(&self) -> bool {
        self.address.connected()
    }
}
