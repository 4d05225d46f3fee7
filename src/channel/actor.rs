//! The shell around the pending table of one channel.
//!
//! The wait for a reply runs as a task of its own beside the actor: actix polls every future of an actor on each wake,
//! which would make a thousand waits cost a million polls.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use actix::{Actor, ActorContext, AsyncContext, Context, Handler, Message};
use futures_util::FutureExt;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::handle::{Asked, OwnSeats, Ticket};
use super::metrics::Metrics;
use super::pending::{Correlation, Idleness, Pending, correlate};
use super::registry::Seat;
use super::{AskError, Config};
use crate::broker::{SharedBroker, ask_within};
use crate::domain::{Channel, Kind, Request, RequestId};

/// Everything in flight on one channel.
pub struct ChannelActor {
    pub(super) kind: Kind,
    pub(super) channel: Channel,
    pub(super) broker: SharedBroker,
    pub(super) gateway_buffer: Duration,
    pub(super) idle_after: Duration,
    pending: Pending<Waiting>,
    seats: OwnSeats,
    answered: u64,
    // Gives the place in the registry back, also when the actor dies by a panic.
    seat: Seat,
}

/// One waiter, its room, and the call that is aborted with it.
struct Waiting {
    waiter: oneshot::Sender<Asked>,
    _ticket: Ticket,
    call: Option<AbortOnDropHandle<()>>,
}

impl ChannelActor {
    pub(super) fn new(
        kind: Kind,
        channel: Channel,
        broker: SharedBroker,
        gateway_buffer: Duration,
        config: &Config,
        seats: OwnSeats,
        seat: Seat,
    ) -> Self {
        Self {
            kind,
            channel,
            broker,
            gateway_buffer,
            idle_after: Duration::from_secs(config.idle_seconds),
            pending: Pending::new(config.requests_pending_per_channel_max, Instant::now()),
            seats,
            answered: 0,
            seat,
        }
    }

    /// One timer per actor, however many calls: it looks whether the actor may leave, or when to look again.
    fn look_after(&mut self, wait: Duration, ctx: &mut Context<Self>) {
        ctx.run_later(wait, |actor, ctx| {
            // A ticket that is out has its request still to come, and must find the actor here.
            match actor.pending.idleness(Instant::now(), actor.idle_after) {
                Idleness::Leave if actor.seats.all_free() => ctx.stop(),
                Idleness::Leave => actor.look_after(actor.idle_after, ctx),
                Idleness::LookAgain(wait) => actor.look_after(wait, ctx),
            }
        });
    }

    fn end(&mut self, id: &RequestId, asked: Asked) {
        // The deadline, the reply and the agent's leaving race; whoever comes second finds nothing.
        let Some(entry) = self.pending.close(id, Instant::now()) else { return };
        self.answered += 1;
        if let Ok(reply) = &asked
            && correlate(id, reply) == Correlation::Differs
        {
            Metrics::get().replies_mismatched.increment(1);
            tracing::warn!(channel = %self.channel, request_id = %id, "the reply carries another request id");
        }
        if let Some(call) = entry.waiter.call {
            call.detach();
        }
        // The waiter may be gone with its shard; the end is still counted above.
        let _ = entry.waiter.waiter.send(asked);
    }
}

impl Actor for ChannelActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX_MESSAGES);
        self.look_after(self.idle_after, ctx);
    }

    fn stopped(&mut self, _: &mut Self::Context) {
        self.seat.leave_in_order();
        tracing::debug!(channel = %self.channel, kind = %self.kind, answered = self.answered, "channel left");
    }
}

/// Mail that waits for an actor in its own mailbox. Senders beyond it wait, they are not refused: the pending limit is
/// what refuses, and it stands before the mailbox.
const MAILBOX_MESSAGES: usize = 256;

/// Sends a request.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct Ask {
    pub ticket: Ticket,
    pub request: Request,
    pub leave: CancellationToken,
    pub waiter: oneshot::Sender<Asked>,
}

impl Handler<Ask> for ChannelActor {
    type Result = ();

    fn handle(&mut self, Ask { ticket, request, leave, waiter }: Ask, ctx: &mut Self::Context) {
        let id = request.id.clone();
        let waiting = Waiting { waiter, _ticket: ticket, call: None };
        if let Err((reason, waiting)) = self.pending.open(id.clone(), Instant::now(), waiting) {
            tracing::error!(channel = %self.channel, request_id = %id, ?reason, "a reserved request found no room");
            let _ = waiting.waiter.send(Err(AskError::Gone));
            return;
        }
        let broker = self.broker.clone();
        let gateway_buffer = self.gateway_buffer;
        let own_address = ctx.address();
        let call = actix::spawn(async move {
            let id = request.id.clone();
            let ask = AssertUnwindSafe(ask_within(&broker, request, gateway_buffer)).catch_unwind();
            let asked = tokio::select! {
                biased;
                () = leave.cancelled() => Err(AskError::Left),
                // A broker that panics must not take its waiter with it.
                asked = ask => asked.map_or(Err(AskError::Died), |asked| asked.map_err(AskError::from)),
            };
            // Fails only when the actor is dead, and then so is its table with the waiter.
            let _ = own_address.send(Ended { id, asked }).await;
        });
        self.pending.attach(&id, AbortOnDropHandle::new(call));
    }
}

impl Pending<Waiting> {
    fn attach(&mut self, id: &RequestId, call: AbortOnDropHandle<()>) {
        if let Some(waiting) = self.waiter_mut(id) {
            waiting.call = Some(call);
        }
    }
}

/// Tells how a request ended.
#[derive(Message)]
#[rtype(result = "()")]
struct Ended {
    id: RequestId,
    asked: Asked,
}

impl Handler<Ended> for ChannelActor {
    type Result = ();

    fn handle(&mut self, Ended { id, asked }: Ended, _: &mut Self::Context) {
        self.end(&id, asked);
    }
}

/// Ends everything in flight as stopped.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct Close;

impl Handler<Close> for ChannelActor {
    type Result = ();

    fn handle(&mut self, _: Close, ctx: &mut Self::Context) {
        for (id, entry) in self.pending.drain() {
            let waited = entry.since.elapsed().as_secs_f64();
            tracing::warn!(channel = %self.channel, request_id = %id, elapsed_seconds = waited, "stopped while waiting");
            let _ = entry.waiter.waiter.send(Err(AskError::Stopped));
        }
        ctx.stop();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use actix::System;
    use futures_util::future::BoxFuture;

    use super::*;
    use crate::broker::{Broker, BrokerInfo, Fault};
    use crate::channel::{Registry, Seats};
    use crate::domain::{Reply, Timeout};

    #[derive(Message)]
    #[rtype(result = "()")]
    struct Die;

    impl Handler<Die> for ChannelActor {
        type Result = ();

        fn handle(&mut self, _: Die, _: &mut Self::Context) {
            panic!("told to die");
        }
    }

    struct Silent;

    impl Broker for Silent {
        fn ask(&self, _: Request) -> BoxFuture<'static, Result<Reply, Fault>> {
            Box::pin(std::future::pending())
        }

        fn ping(&self) -> BoxFuture<'static, Result<BrokerInfo, Fault>> {
            Box::pin(std::future::pending())
        }
    }

    #[test]
    fn an_actor_that_dies_answers_unknown_gives_its_room_back_and_is_rebuilt() {
        System::new().block_on(async {
            let config = Config::default();
            let seats = Seats::new(&config);
            let mut registry =
                Registry::new(seats.clone(), config, Arc::new(Silent), Duration::from_secs(10));
            let channel = Channel::parse("orders").unwrap();
            let first = registry.handle(Kind::Command, &channel).unwrap();
            let request = Request {
                id: RequestId::fresh(),
                kind: Kind::Command,
                channel: channel.clone(),
                body: b"b".to_vec(),
                metadata: String::new(),
                tags: Default::default(),
                timeout: Timeout::capped_at(10, 300).unwrap(),
            };
            let ticket = first.reserve().unwrap();
            let dying = first.clone();
            let asked =
                actix::spawn(async move { dying.ask(ticket, request, CancellationToken::new()).await });
            // The mailbox keeps its order, so that the death comes after the request went out.
            tokio::task::yield_now().await;
            assert!(first.address.send(Die).await.is_err());
            assert_eq!(asked.await.unwrap(), Err(AskError::Died));
            assert_eq!((seats.requests_pending(), seats.channels_alive()), (0, 0));
            let second = registry.handle(Kind::Command, &channel).unwrap();
            assert!(second.is_alive() && !first.is_alive());
            assert_eq!(seats.channels_alive(), 1);
        });
    }
}
