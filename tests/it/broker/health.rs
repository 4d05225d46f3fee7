//! Whether the broker is there, as people and probes are told.

use kubemq_mcp::broker::{Fault, LinkState};
use tonic::Code;

use super::{ask, connect, down, up};
use crate::harness::event::wait_for;
use crate::harness::nowhere::Nowhere;
use crate::harness::scripted::Scripted;

#[tokio::test]
async fn the_link_comes_up_by_itself_and_tells_who_answered() {
    let server = Scripted::start();
    let broker = connect(&[server.address]).await;
    let LinkState::Up { info } = up(&broker).await else { unreachable!("just awaited") };
    assert_eq!(info.address, server.address.to_string());
}

#[tokio::test]
async fn a_broker_that_is_down_at_start_is_found_when_it_appears() {
    let nowhere = Nowhere::new();
    let broker = connect(&[nowhere.address]).await;
    wait_for(
        &mut broker.link(),
        "the first look has failed",
        |state| matches!(state, LinkState::Down { reason, .. } if reason.contains("refused")),
    )
    .await;
    let _server = Scripted::start_at(nowhere.address, None);
    up(&broker).await;
    assert_eq!(broker.reconnects(), 0, "the first connection is no reconnect");
}

#[tokio::test]
async fn a_loss_without_any_call_is_noticed_by_the_ping() {
    let server = Scripted::start();
    let broker = connect(&[server.address]).await;
    up(&broker).await;
    server.kill();
    assert!(down(&broker).await.contains("refused"));
}

#[tokio::test]
async fn a_broker_that_is_not_ready_gets_no_calls() {
    let server = Scripted::start();
    let not_ready = (Code::Unavailable, "grpc server is not ready to accept requests".to_owned());
    *server.state.ping_status.lock().unwrap() = Some(not_ready);
    let broker = connect(&[server.address]).await;
    let fault = ask(&broker, "echo").await.unwrap_err();
    assert!(matches!(&fault, Fault::Unavailable(reason) if reason.contains("not ready")), "{fault:?}");
    assert_eq!(*server.state.arrived.borrow(), 0);
    *server.state.ping_status.lock().unwrap() = None;
    assert!(ask(&broker, "echo").await.is_ok());
}

#[tokio::test]
async fn a_broker_that_refuses_only_the_ping_still_gets_calls() {
    let server = Scripted::start();
    *server.state.ping_status.lock().unwrap() = Some((Code::Unauthenticated, "no token".to_owned()));
    let broker = connect(&[server.address]).await;
    assert!(ask(&broker, "echo").await.is_ok());
    let state = wait_for(
        &mut broker.link(),
        "the reason is told",
        |state| matches!(state, LinkState::Down { reason, .. } if reason.contains("no token")),
    )
    .await;
    assert!(matches!(state, LinkState::Down { .. }));
    assert_eq!(broker.reconnects(), 0);
}

#[tokio::test]
async fn a_quiet_link_is_pinged_at_its_pace_only() {
    let server = Scripted::start();
    let broker = connect(&[server.address]).await;
    let started = tokio::time::Instant::now();
    wait_for(&mut server.state.pings.subscribe(), "three pings", |count| *count >= 3).await;
    assert!(started.elapsed().as_millis() >= 1_900, "{:?}", started.elapsed());
    drop(broker);
}
