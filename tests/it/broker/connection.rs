//! What becomes of calls when the connection goes.

use std::sync::Arc;
use std::time::Duration;

use kubemq_mcp::broker::{Broker, Fault, KubemqBroker, SharedBroker, ask_within};
use kubemq_mcp::domain::Kind;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::{Config, ask, config, connect, connect_with, down, request, up};
use crate::harness::child::Process;
use crate::harness::event::{wait_for, within};
use crate::harness::nowhere::Nowhere;
use crate::harness::raw::{self, Goaway};
use crate::harness::scripted::Scripted;

const CHILD: &str = "broker::child::runs_a_scripted_broker_when_asked";

#[tokio::test]
async fn a_refused_connection_means_that_nothing_was_sent() {
    let nowhere = Nowhere::new();
    let address = nowhere.address;
    let broker = connect(&[address]).await;
    let fault = ask(&broker, "echo").await.unwrap_err();
    let expected = format!("the broker is not reachable: {address}: Connection refused (os error 111)");
    assert_eq!(fault.to_string(), expected);
}

#[tokio::test]
async fn a_call_waits_for_a_connection_no_longer_than_its_deadline_is_later() {
    // The system accepts for it, and nobody ever answers.
    let mute = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addresses = vec![mute.local_addr().unwrap().into()];
    let config = Config { ping_seconds: 60, ping_timeout_seconds: 60, connect_seconds: 60, ..config() };
    let gateway_buffer = Duration::from_millis(200);
    let broker = KubemqBroker::connect(&config, addresses, gateway_buffer).await.unwrap();
    let begun = Instant::now();
    let call = broker.ask(request(Kind::Command, "echo", 300));
    let fault = within("the call ends", call).await.unwrap_err();
    assert!(matches!(fault, Fault::Unavailable(_)), "{fault:?}");
    assert!(begun.elapsed() >= gateway_buffer);
}

#[tokio::test]
async fn a_name_that_does_not_resolve_means_that_nothing_was_sent() {
    let address = kubemq_mcp::broker::Address::parse("no-such-host.invalid:50000").unwrap();
    let broker = kubemq_mcp::broker::KubemqBroker::connect(&config(), vec![address], super::GATE_PATIENCE)
        .await
        .unwrap();
    let fault = within("the look-up fails", ask(&broker, "echo")).await.unwrap_err();
    let Fault::Unavailable(reason) = fault else { panic!("{fault:?}") };
    assert!(reason.starts_with("no-such-host.invalid:50000: "), "{reason}");
}

#[tokio::test]
async fn a_broker_killed_under_a_call_leaves_the_outcome_unknown() {
    let mut process = Process::run(CHILD, &[]);
    let broker = connect(&[process.address()]).await;
    up(&broker).await;
    let call = tokio::spawn(broker.ask(request(Kind::Command, "silent", 300)));
    // The reply proves that the call before it, on the same connection, has left.
    assert!(ask(&broker, "echo").await.is_ok());
    process.signal("KILL");
    let fault = within("the call ends", call).await.unwrap().unwrap_err();
    assert!(matches!(fault, Fault::ConnectionLost(_)), "{fault:?}");
    let fault = within("the next call ends", ask(&broker, "echo")).await.unwrap_err();
    assert!(matches!(fault, Fault::Unavailable(_)), "{fault:?}");
}

#[tokio::test]
async fn a_broker_that_comes_back_is_used_by_the_next_call() {
    let server = Scripted::start();
    let broker = connect(&[server.address]).await;
    up(&broker).await;
    let address = server.kill();
    down(&broker).await;
    assert!(ask(&broker, "echo").await.is_err());
    let _server = Scripted::start_at(address, None);
    assert!(ask(&broker, "echo").await.is_ok(), "the first call after the return");
    up(&broker).await;
    assert_eq!(broker.reconnects(), 1);
}

#[tokio::test]
async fn a_stopped_process_holds_calls_until_the_keepalive_gives_up() {
    let mut process = Process::run(CHILD, &[]);
    let config = Config { keepalive_seconds: 5, keepalive_timeout_seconds: 1, ..config() };
    let broker = connect_with(&config, &[process.address()]).await;
    up(&broker).await;
    let call = tokio::spawn(broker.ask(request(Kind::Command, "silent", 300)));
    assert!(ask(&broker, "echo").await.is_ok());
    process.freeze();
    // The ping notices first, and from then on calls are told that nothing was sent.
    let reason = down(&broker).await;
    assert!(reason.ends_with("no answer to a ping"), "{reason}");
    let fault = within("the look ends", ask(&broker, "echo")).await.unwrap_err();
    assert!(matches!(fault, Fault::Unavailable(_)), "{fault:?}");
    let fault = within("the keepalive gives up", call).await.unwrap().unwrap_err();
    assert!(matches!(fault, Fault::ConnectionLost(_)), "{fault:?}");
    process.signal("CONT");
    assert!(matches!(up(&broker).await, kubemq_mcp::broker::LinkState::Up { .. }));
}

#[tokio::test]
async fn a_black_hole_ends_at_our_own_deadline() {
    let mut process = Process::run(CHILD, &[]);
    // Slow pings: this call must not be saved by the health task.
    let config = Config { ping_seconds: 60, ..config() };
    let broker = connect_with(&config, &[process.address()]).await;
    up(&broker).await;
    assert!(ask(&broker, "echo").await.is_ok());
    process.freeze();
    let broker: SharedBroker = broker;
    let reply = ask_within(&broker, request(Kind::Command, "echo", 1), Duration::from_millis(200)).await;
    assert_eq!(reply, Err(Fault::TimedOut));
}

#[tokio::test]
async fn a_call_that_waits_for_a_dead_broker_is_told_in_time_that_it_was_not_sent() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let broker: SharedBroker = connect(&[silent.local_addr().unwrap()]).await;
    let reply = ask_within(&broker, request(Kind::Command, "echo", 1), Duration::from_secs(1)).await;
    assert!(matches!(reply, Err(Fault::Unavailable(_))), "{reply:?}");
}

#[tokio::test]
async fn a_graceful_stop_lets_the_call_in_flight_finish() {
    let server = Scripted::start();
    let broker = connect(&[server.address]).await;
    let call = tokio::spawn(broker.ask(request(Kind::Command, "hold", 300)));
    wait_for(&mut server.state.arrived.subscribe(), "the call has arrived", |count| *count == 1).await;
    server.stop_gracefully();
    server.release();
    let reply = within("the call ends", call).await.unwrap();
    assert!(reply.unwrap().executed);
    wait_for(&mut server.ended(), "the server has ended", |ended| *ended).await;
    let fault = within("the next call ends", ask(&broker, "echo")).await.unwrap_err();
    assert!(matches!(fault, Fault::Unavailable(_) | Fault::ConnectionLost(_)), "{fault:?}");
}

#[tokio::test]
async fn a_thousand_calls_on_a_dead_broker_share_the_attempts_to_connect() {
    // A listener that never accepts: the system accepts for it, and no answer ever comes.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let broker = connect(&[silent.local_addr().unwrap()]).await;
    let calls: Vec<_> =
        (0..1_000).map(|_| tokio::spawn(broker.ask(request(Kind::Query, "echo", 300)))).collect();
    // Each alone would take three seconds to give up; one after the other they would take an hour.
    for call in calls {
        let fault = within("the call is told", call).await.unwrap().unwrap_err();
        assert!(matches!(fault, Fault::Unavailable(_)), "{fault:?}");
    }
}

#[tokio::test]
async fn a_goaway_under_a_call_leaves_the_outcome_unknown() {
    for goaway in [Goaway::NoError, Goaway::EnhanceYourCalm] {
        let (server, now) = (Scripted::start(), Arc::new(Notify::new()));
        let broker =
            connect(&[raw::goaway_in_front_of(server.address, goaway, Arc::clone(&now)).await]).await;
        let call = tokio::spawn(broker.ask(request(Kind::Command, "silent", 300)));
        wait_for(&mut server.state.arrived.subscribe(), "the call has arrived", |count| *count == 1).await;
        now.notify_waiters();
        // The server has the call, although the GOAWAY says that it has not: an intermediary may be wrong about that.
        let fault = within("the call ends", call).await.unwrap().unwrap_err();
        assert!(matches!(fault, Fault::ConnectionLost(_)), "{goaway:?}: {fault:?}");
        assert!(ask(&broker, "echo").await.is_ok(), "the next call has a new connection");
        assert_eq!(broker.reconnects(), 1);
    }
}

#[tokio::test]
async fn a_reset_stream_leaves_the_outcome_unknown() {
    let broker = connect(&[raw::reset_streams().await]).await;
    let fault = ask(&broker, "echo").await.unwrap_err();
    assert!(matches!(fault, Fault::ConnectionLost(_)), "{fault:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_lose_one_connection_together_are_one_loss() {
    const CALLS: usize = 2_000;
    let (server, now) = (Scripted::start(), Arc::new(Notify::new()));
    let address = raw::goaway_in_front_of(server.address, Goaway::EnhanceYourCalm, Arc::clone(&now)).await;
    let broker = connect(&[address]).await;
    let calls: Vec<_> =
        (0..CALLS).map(|_| tokio::spawn(broker.ask(request(Kind::Command, "silent", 300)))).collect();
    wait_for(&mut server.state.arrived.subscribe(), "all have arrived", |count| *count == CALLS).await;
    now.notify_waiters();
    for call in calls {
        let fault = within("the call ends", call).await.unwrap().unwrap_err();
        assert!(matches!(fault, Fault::ConnectionLost(_)), "{fault:?}");
    }
    assert!(ask(&broker, "echo").await.is_ok());
    assert_eq!(broker.reconnects(), 1);
    assert_eq!(*server.state.arrived.borrow(), CALLS + 1, "none was sent twice");
}
