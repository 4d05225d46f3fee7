//! One real channel actor, a fake broker, and a clock that the test moves.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix::System;
use futures_util::future::BoxFuture;
use kubemq_mcp::broker::{Broker, BrokerInfo, Fault};
use kubemq_mcp::channel::{AskError, Config, Registry, ReserveError, Seats};
use kubemq_mcp::domain::{Cause, Channel, Kind, Reply, Request, RequestId, Timeout};
use tokio_util::sync::CancellationToken;

/// What the fake broker does with every request.
enum Way {
    Silent,
    Answer,
    AnotherId,
    Panic,
}

struct Fake {
    way: Way,
    asked: AtomicUsize,
}

impl Broker for Fake {
    fn ask(&self, request: Request) -> BoxFuture<'static, Result<Reply, Fault>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let reply = |id: RequestId| Ok(Reply { request_id: Some(id), executed: true, ..Reply::default() });
        match self.way {
            Way::Silent => Box::pin(std::future::pending()),
            Way::Answer => Box::pin(std::future::ready(reply(request.id))),
            Way::AnotherId => Box::pin(std::future::ready(reply(RequestId::from("another")))),
            Way::Panic => Box::pin(async { panic!("on purpose") }),
        }
    }

    fn ping(&self) -> BoxFuture<'static, Result<BrokerInfo, Fault>> {
        Box::pin(std::future::pending())
    }
}

struct Stage {
    broker: Arc<Fake>,
    seats: Seats,
    registry: Registry,
}

/// Runs a test on one thread whose clock stands still until everybody waits.
fn stage<Test: Future<Output = ()>>(way: Way, config: Config, test: impl FnOnce(Stage) -> Test) {
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().start_paused(true).build().expect("a runtime")
    };
    System::with_tokio_rt(runtime).block_on(async {
        let broker = Arc::new(Fake { way, asked: AtomicUsize::new(0) });
        // Before the first figure: a series made without the recorder is missing from every scrape of this process.
        kubemq_mcp::telemetry::install_recorder();
        let seats = Seats::new(&config);
        let registry = Registry::new(seats.clone(), config, broker.clone(), Duration::from_secs(10));
        test(Stage { broker, seats, registry }).await;
    });
}

fn channel(name: &str) -> Channel {
    Channel::parse(name).expect("a valid name")
}

fn command(name: &str, seconds: u64) -> Request {
    Request {
        id: RequestId::fresh(),
        kind: Kind::Command,
        channel: channel(name),
        body: b"b".to_vec(),
        metadata: String::new(),
        tags: Default::default(),
        timeout: Timeout::capped_at(seconds, 300).expect("a timeout"),
    }
}

fn never() -> CancellationToken {
    CancellationToken::new()
}

#[test]
fn a_silent_broker_leaves_the_outcome_unknown_at_our_own_deadline() {
    stage(Way::Silent, Config::default(), async |mut stage: Stage| {
        let orders = stage.registry.handle(Kind::Command, &channel("orders")).expect("room");
        let started = tokio::time::Instant::now();
        let ticket = orders.reserve().expect("room");
        let error =
            orders.ask(ticket, command("orders", 300), never()).await.expect_err("the broker is silent");
        assert_eq!(error.cause(), Cause::TimedOut);
        // 300 s and the buffer of 10 s: the longest call there is.
        assert_eq!(started.elapsed().as_secs(), 310);
        assert_eq!(stage.seats.requests_pending(), 0);
    });
}

#[test]
fn a_full_channel_refuses_without_sending() {
    let config = Config { requests_pending_per_channel_max: 1, ..Config::default() };
    stage(Way::Answer, config, async |mut stage: Stage| {
        let orders = stage.registry.handle(Kind::Command, &channel("orders")).expect("room");
        let ticket = orders.reserve().expect("room for one");
        let full = ReserveError::ChannelFull { channel: channel("orders"), limit: 1 };
        assert_eq!(orders.reserve().err(), Some(full));
        let other = stage.registry.handle(Kind::Query, &channel("orders")).expect("room");
        assert!(other.reserve().is_ok(), "queries of the same name have their own");
        drop(ticket);
        assert!(orders.reserve().is_ok(), "an unused ticket gives its room back");
        assert_eq!(stage.broker.asked.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn a_new_channel_takes_the_place_of_the_one_longest_without_work() {
    let config = Config { channels_alive_max: 2, ..Config::default() };
    stage(Way::Answer, config, async |mut stage: Stage| {
        let busy = stage.registry.handle(Kind::Command, &channel("busy")).expect("room");
        let ticket = busy.reserve().expect("room");
        for number in 0..200 {
            let name = format!("made-up-{number}");
            let fresh = stage.registry.handle(Kind::Command, &channel(&name)).expect("an idle one leaves");
            let room = fresh.reserve().expect("room");
            assert!(fresh.ask(room, command(&name, 10), never()).await.is_ok());
            assert_eq!(stage.seats.channels_alive(), 2);
        }
        assert!(busy.ask(ticket, command("busy", 10), never()).await.is_ok(), "who has work stays");
        let tickets = ["one", "two"].map(|name| {
            let handle = stage.registry.handle(Kind::Command, &channel(name)).expect("an idle one leaves");
            handle.reserve().expect("room")
        });
        let full = ReserveError::ChannelsFull { limit: 2 };
        assert_eq!(stage.registry.handle(Kind::Command, &channel("three")).err(), Some(full));
        drop(tickets);
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(!busy.is_alive(), "the displaced have left");
        assert_eq!(stage.registry.handles().len(), 2);
    });
}

#[test]
fn an_idle_channel_leaves_and_the_next_call_finds_another() {
    let config = Config { idle_seconds: 60, channels_alive_max: 1, ..Config::default() };
    stage(Way::Answer, config, async |mut stage: Stage| {
        let orders = stage.registry.handle(Kind::Command, &channel("orders")).expect("room");
        tokio::time::sleep(Duration::from_secs(50)).await;
        let ticket = orders.reserve().expect("room");
        assert!(orders.ask(ticket, command("orders", 10), never()).await.is_ok());
        tokio::time::sleep(Duration::from_secs(50)).await;
        assert!(orders.is_alive(), "the call has put the leaving off");
        tokio::time::sleep(Duration::from_secs(70)).await;
        assert!(!orders.is_alive());
        assert_eq!(stage.seats.channels_alive(), 0);
        assert!(stage.registry.handle(Kind::Command, &channel("other")).is_ok());
    });
}

#[test]
fn a_channel_waits_for_the_request_of_a_ticket_that_is_out() {
    let config = Config { idle_seconds: 60, ..Config::default() };
    stage(Way::Answer, config, async |mut stage: Stage| {
        let orders = stage.registry.handle(Kind::Command, &channel("orders")).expect("room");
        let ticket = orders.reserve().expect("room");
        tokio::time::sleep(Duration::from_secs(600)).await;
        assert!(orders.ask(ticket, command("orders", 10), never()).await.is_ok());
    });
}

#[test]
fn a_query_ends_as_soon_as_its_agent_leaves() {
    stage(Way::Silent, Config::default(), async |mut stage: Stage| {
        let orders = stage.registry.handle(Kind::Query, &channel("orders")).expect("room");
        let (ticket, leave) = (orders.reserve().expect("room"), never());
        let asking = {
            let (orders, leave) = (orders.clone(), leave.clone());
            actix::spawn(async move { orders.ask(ticket, command("orders", 30), leave).await })
        };
        tokio::time::sleep(Duration::from_secs(1)).await;
        let left = tokio::time::Instant::now();
        leave.cancel();
        assert_eq!(asking.await.expect("no panic"), Err(AskError::Left));
        assert_eq!((left.elapsed(), stage.seats.requests_pending()), (Duration::ZERO, 0));
    });
}

#[test]
fn closing_a_channel_tells_every_waiter() {
    stage(Way::Silent, Config::default(), async |mut stage: Stage| {
        let orders = stage.registry.handle(Kind::Command, &channel("orders")).expect("room");
        let asking: Vec<_> = (0..3)
            .map(|_| {
                let (orders, ticket) = (orders.clone(), orders.reserve().expect("room"));
                actix::spawn(async move { orders.ask(ticket, command("orders", 30), never()).await })
            })
            .collect();
        tokio::time::sleep(Duration::from_secs(1)).await;
        orders.close(Duration::from_secs(1)).await;
        for asked in asking {
            assert_eq!(asked.await.expect("no panic"), Err(AskError::Stopped));
        }
        assert_eq!(stage.seats.requests_pending(), 0);
    });
}

#[test]
fn two_requests_with_one_id_never_share_a_reply() {
    stage(Way::Silent, Config::default(), async |mut stage: Stage| {
        let orders = stage.registry.handle(Kind::Command, &channel("orders")).expect("room");
        let request = command("orders", 1);
        let first = {
            let (orders, ticket, request) =
                (orders.clone(), orders.reserve().expect("room"), request.clone());
            actix::spawn(async move { orders.ask(ticket, request, never()).await })
        };
        tokio::time::sleep(Duration::from_millis(1)).await;
        let ticket = orders.reserve().expect("room");
        assert_eq!(orders.ask(ticket, request, never()).await, Err(AskError::Gone));
        assert_eq!(stage.broker.asked.load(Ordering::Relaxed), 1);
        assert_eq!(first.await.expect("no panic").expect_err("silent").cause(), Cause::TimedOut);
    });
}

#[test]
fn a_reply_with_another_id_is_taken_since_the_call_correlates_it() {
    stage(Way::AnotherId, Config::default(), async |mut stage: Stage| {
        let orders = stage.registry.handle(Kind::Command, &channel("orders")).expect("room");
        let ticket = orders.reserve().expect("room");
        assert!(orders.ask(ticket, command("orders", 10), never()).await.is_ok_and(|reply| reply.executed));
    });
}

#[test]
fn a_broker_that_panics_keeps_no_waiter_waiting() {
    stage(Way::Panic, Config::default(), async |mut stage: Stage| {
        let orders = stage.registry.handle(Kind::Command, &channel("orders")).expect("room");
        let ticket = orders.reserve().expect("room");
        assert_eq!(orders.ask(ticket, command("orders", 10), never()).await, Err(AskError::Died));
        assert!(orders.is_alive(), "only the call has ended");
    });
}
