//! One subscription to requests: an inbox that a stream reads, and a place in the routes.
//!
//! The place is given up in `Drop`, so a subscriber whose stream ends for whatever reason is gone at once. On a
//! shutdown the stream gives what is in the inbox and ends cleanly, with status OK.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::Stream;
use kubemq::proto::kubemq::{Request, Subscribe};
use tokio::sync::mpsc;
use tokio_util::sync::WaitForCancellationFutureOwned;
use tonic::Status;

use super::fault::Fault;
use super::hub::{Hub, open};
use super::routes::{Address, Seat};
use super::{delivery, validation};

/// The stream of requests for one subscriber.
#[derive(Debug)]
pub struct Subscription {
    inbox: mpsc::Receiver<Request>,
    stopping: Pin<Box<WaitForCancellationFutureOwned>>,
    _place: Place,
}

/// A subscriber's place in the routes, for as long as this lives.
#[derive(Debug)]
struct Place {
    hub: Arc<Hub>,
    address: Address,
    seat: Seat,
}

impl Hub {
    /// Opens a subscription.
    ///
    /// # Errors
    /// The subscription is refused, as the real broker would.
    pub fn subscribe(self: &Arc<Self>, subscribe: Subscribe) -> Result<Subscription, Fault> {
        let kind = validation::subscription_kind(&subscribe)?;
        self.refuse_while_stopping()?;
        validation::subscription(&subscribe)?;
        let address = Address { kind, channel: subscribe.channel, group: subscribe.group };
        let (outlet, backlog) = delivery::backlog();
        let (sender, inbox) = mpsc::channel(self.subscription_buffer);
        let seat = open(&self.routes).join(&address, outlet).map_err(|_| Fault::SubscriptionsExhausted)?;
        tokio::spawn(Arc::clone(self).pump(backlog, sender));
        self.note(kind, &address.channel, |_| {});
        self.announce_change();
        Ok(Subscription {
            inbox,
            stopping: Box::pin(self.stopping.clone().cancelled_owned()),
            _place: Place { hub: Arc::clone(self), address, seat },
        })
    }
}

impl Stream for Subscription {
    type Item = Result<Request, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // A closed inbox is closed once: the wait for the shutdown must not be asked again after it ended.
        if !self.inbox.is_closed() && self.stopping.as_mut().poll(context).is_ready() {
            self.inbox.close();
        }
        self.inbox.poll_recv(context).map(|request| request.map(Ok))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        open(&self.hub.routes).leave(&self.address, self.seat);
        self.hub.announce_change();
    }
}
