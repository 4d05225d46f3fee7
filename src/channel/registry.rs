//! From the name of a channel to its actor. One registry per shard, shared with the actors that stand in it.
//!
//! An actor gives its place back by itself when it leaves or dies, so the registry never holds more than is alive. When
//! no place is free, the actor of this shard that has been without work for longest has to leave for a new one, so that
//! names nobody listens on cannot keep others out.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix::Actor;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::actor::{ChannelActor, Close};
use super::handle::OwnSeats;
use super::metrics::Metrics;
use super::places::Places;
use super::{Config, Handle, ReserveError};
use crate::broker::SharedBroker;
use crate::domain::{Channel, Kind};

/// Room for requests and for channels over all shards.
#[derive(Clone)]
pub struct Seats {
    requests: Arc<Semaphore>,
    requests_max: usize,
    channels: Arc<Semaphore>,
    channels_max: usize,
    in_flight: Arc<InFlight>,
}

/// How many tickets are out.
#[derive(Default)]
pub(super) struct InFlight {
    count: AtomicUsize,
    none: Notify,
}

impl InFlight {
    pub(super) fn add(&self) {
        self.count.fetch_add(1, Ordering::AcqRel);
        Metrics::get().pending.increment(1);
    }

    pub(super) fn remove(&self) {
        Metrics::get().pending.decrement(1);
        if self.count.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.none.notify_waiters();
        }
    }
}

impl Seats {
    /// As much room as the configuration gives.
    pub fn new(config: &Config) -> Self {
        Self {
            requests: Arc::new(Semaphore::new(config.requests_pending_max)),
            requests_max: config.requests_pending_max,
            channels: Arc::new(Semaphore::new(config.channels_alive_max)),
            channels_max: config.channels_alive_max,
            in_flight: Arc::default(),
        }
    }

    pub(super) fn in_flight(&self) -> Arc<InFlight> {
        Arc::clone(&self.in_flight)
    }

    pub(super) fn take(&self) -> Result<OwnedSemaphorePermit, ReserveError> {
        Arc::clone(&self.requests)
            .try_acquire_owned()
            .map_err(|_| ReserveError::ConnectorFull { limit: self.requests_max })
    }

    fn take_channel(&self) -> Result<OwnedSemaphorePermit, ReserveError> {
        Arc::clone(&self.channels)
            .try_acquire_owned()
            .map_err(|_| ReserveError::ChannelsFull { limit: self.channels_max })
    }

    /// Requests in flight over all channels.
    pub fn requests_pending(&self) -> usize {
        self.in_flight.count.load(Ordering::Acquire)
    }

    /// Waits until nothing is in flight.
    pub async fn all_free(&self) {
        loop {
            // Registered before the look, so that the last end is not missed.
            let none = self.in_flight.none.notified();
            if self.requests_pending() == 0 {
                return;
            }
            none.await;
        }
    }

    /// Channels that have an actor.
    pub fn channels_alive(&self) -> usize {
        self.channels_max - self.channels.available_permits()
    }
}

type Name = (Kind, Channel);
type Table = Rc<RefCell<Places<Name, Place>>>;

/// Who stands in a place, and the room that is counted for it.
struct Place {
    generation: u64,
    handle: Handle,
    permit: OwnedSemaphorePermit,
}

/// The channels of one shard.
pub struct Registry {
    table: Table,
    seats: Seats,
    config: Config,
    broker: SharedBroker,
    gateway_buffer: Duration,
    generation: u64,
}

impl Registry {
    /// An empty registry whose actors ask `broker`.
    pub fn new(seats: Seats, config: Config, broker: SharedBroker, gateway_buffer: Duration) -> Self {
        Self {
            table: Rc::new(RefCell::new(Places::new())),
            seats,
            config,
            broker,
            gateway_buffer,
            generation: 0,
        }
    }

    /// The actor of a channel, started on this thread when there is none or the last one has died.
    ///
    /// # Errors
    /// When there is no room for another channel.
    pub fn handle(&mut self, kind: Kind, channel: &Channel) -> Result<Handle, ReserveError> {
        let name = (kind, channel.clone());
        if let Some(place) = self.table.borrow_mut().used(&name)
            && place.handle.is_alive()
        {
            return Ok(place.handle.clone());
        }
        let permit = self.seats.take_channel().or_else(|full| self.take_over().ok_or(full))?;
        self.generation += 1;
        let seat = Seat::new(&self.table, name.clone(), self.generation);
        let own_seats = OwnSeats::new(self.config.requests_pending_per_channel_max);
        let address = ChannelActor::new(
            kind,
            channel.clone(),
            self.broker.clone(),
            self.gateway_buffer,
            &self.config,
            own_seats.clone(),
            seat,
        )
        .start();
        let handle = Handle { channel: channel.clone(), address, own_seats, seats: self.seats.clone() };
        let place = Place { generation: self.generation, handle: handle.clone(), permit };
        self.table.borrow_mut().insert(name, place);
        Ok(handle)
    }

    /// Has the actor leave that has been without work for longest, and gives its room.
    fn take_over(&mut self) -> Option<OwnedSemaphorePermit> {
        // Whoever has no ticket out has nothing in flight, and gets no more: its place is gone, and with it its name.
        let idle = self.table.borrow_mut().take_idle(|place| place.handle.own_seats.all_free())?;
        Metrics::get().displaced.increment(1);
        // It fails only on an actor that is dead.
        let _ = idle.handle.address.try_send(Close);
        Some(idle.permit)
    }

    /// Every actor that is alive on this shard.
    pub fn handles(&self) -> Vec<Handle> {
        self.table.borrow().items().map(|place| place.handle.clone()).collect()
    }
}

/// A place in the registry, held by the actor that stands there. Dropping it gives the place back.
pub(super) struct Seat {
    table: Table,
    name: Name,
    generation: u64,
    leaving: Leaving,
}

/// How an actor ends.
#[derive(Clone, Copy, PartialEq)]
enum Leaving {
    InOrder,
    ByDeath,
}

impl Seat {
    fn new(table: &Table, name: Name, generation: u64) -> Self {
        Metrics::get().alive.increment(1);
        Self { table: Rc::clone(table), name, generation, leaving: Leaving::ByDeath }
    }

    /// Says that the actor leaves by its own will: whoever does not say so has died.
    pub(super) fn leave_in_order(&mut self) {
        self.leaving = Leaving::InOrder;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        Metrics::get().alive.decrement(1);
        if self.leaving == Leaving::ByDeath {
            Metrics::get().died.increment(1);
            tracing::error!(channel = %self.name.1, kind = %self.name.0, "the channel's actor died");
        }
        // A successor may stand there already; and a panic may have come while the table was in use.
        let Ok(mut table) = self.table.try_borrow_mut() else { return };
        if table.get(&self.name).is_some_and(|place| place.generation == self.generation) {
            table.remove(&self.name);
        }
    }
}
