//! Several addresses: tried in order, and only calls that never left are tried at the next one.

use kubemq_mcp::broker::{Broker, Fault, LinkState};
use kubemq_mcp::domain::Kind;
use tonic::Code;

use super::{ask, connect, request, up};
use crate::harness::event::{wait_for, within};
use crate::harness::nowhere::Nowhere;
use crate::harness::scripted::Scripted;

#[tokio::test]
async fn the_second_address_answers_when_the_first_refuses() {
    let server = Scripted::start();
    let nowhere = Nowhere::new();
    let broker = connect(&[nowhere.address, server.address]).await;
    assert_eq!(ask(&broker, "echo").await.unwrap().responder, server.address.to_string());
}

#[tokio::test]
async fn the_first_address_that_answers_is_used() {
    let (first, second) = (Scripted::start(), Scripted::start());
    let broker = connect(&[first.address, second.address]).await;
    assert_eq!(ask(&broker, "echo").await.unwrap().responder, first.address.to_string());
    assert_eq!(*second.state.pings.borrow(), 0);
}

#[tokio::test]
async fn calls_move_on_when_the_first_address_dies_and_stay_when_it_returns() {
    let (first, second) = (Scripted::start(), Scripted::start());
    let broker = connect(&[first.address, second.address]).await;
    assert_eq!(ask(&broker, "echo").await.unwrap().responder, first.address.to_string());
    let address = first.kill();
    // The first call may leave over the dying connection; what becomes of it is not known, and it is not sent again.
    match within("the call ends", ask(&broker, "echo")).await {
        Ok(reply) => assert_eq!(reply.responder, second.address.to_string()),
        Err(fault) => assert!(matches!(fault, Fault::ConnectionLost(_)), "{fault:?}"),
    }
    assert_eq!(ask(&broker, "echo").await.unwrap().responder, second.address.to_string());
    let _returned = Scripted::start_at(address, None);
    let pings = *second.state.pings.borrow();
    wait_for(&mut second.state.pings.subscribe(), "another ping", |count| *count > pings).await;
    assert_eq!(ask(&broker, "echo").await.unwrap().responder, second.address.to_string());
}

#[tokio::test]
async fn a_call_that_had_left_is_never_sent_to_the_next_address() {
    let (first, second) = (Scripted::start(), Scripted::start());
    let broker = connect(&[first.address, second.address]).await;
    let call = tokio::spawn(broker.ask(request(Kind::Command, "silent", 300)));
    wait_for(&mut first.state.arrived.subscribe(), "the call has arrived", |count| *count == 1).await;
    first.kill();
    let fault = within("the call ends", call).await.unwrap().unwrap_err();
    assert!(matches!(fault, Fault::ConnectionLost(_)), "{fault:?}");
    up(&broker).await;
    assert_eq!(*second.state.arrived.borrow(), 0);
}

#[tokio::test]
async fn a_broker_that_shuts_down_hands_its_calls_to_the_next_address() {
    let (first, second) = (Scripted::start(), Scripted::start());
    let broker = connect(&[first.address, second.address]).await;
    // Both refuse this one; the order of arrival tells that each was asked once, the first one first.
    let fault = ask(&broker, "error.409").await.unwrap_err();
    assert!(matches!(fault, Fault::Unavailable(_)), "{fault:?}");
    assert_eq!((*first.state.arrived.borrow(), *second.state.arrived.borrow()), (1, 1));
}

#[tokio::test]
async fn an_unwell_broker_is_left_for_one_that_is_well() {
    let (first, second) = (Scripted::start(), Scripted::start());
    let broker = connect(&[first.address, second.address]).await;
    assert_eq!(ask(&broker, "echo").await.unwrap().responder, first.address.to_string());
    *first.state.ping_status.lock().unwrap() = Some((Code::Unauthenticated, "no token".to_owned()));
    let there = second.address.to_string();
    let moved = |state: &LinkState| matches!(state, LinkState::Up { info } if info.address == there);
    wait_for(&mut broker.link(), "the link has moved", moved).await;
    assert_eq!(ask(&broker, "echo").await.unwrap().responder, second.address.to_string());
}

#[tokio::test]
async fn no_address_is_a_mistake() {
    let error = connect_to_none().await;
    assert!(error.contains("`broker.address`"), "{error}");
}

async fn connect_to_none() -> String {
    let broker =
        kubemq_mcp::broker::KubemqBroker::connect(&super::config(), Vec::new(), super::GATE_PATIENCE).await;
    broker.err().expect("nothing to connect to").to_string()
}
