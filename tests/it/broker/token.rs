//! The token the broker sees, and its change while calls are in flight.

use std::path::Path;

use kubemq_mcp::broker::Broker;
use kubemq_mcp::domain::Kind;

use super::{Config, ask, config, connect_with, request};
use crate::harness::event::{wait_for, within};
use crate::harness::nowhere::Nowhere;
use crate::harness::scripted::Scripted;

fn of_file(path: &Path) -> Config {
    Config { auth_token_file: path.to_str().expect("a path in UTF-8").into(), ..config() }
}

#[tokio::test]
async fn the_broker_sees_the_token_as_it_is() {
    let server = Scripted::start();
    let config = Config { auth_token: "raw.jwt.token".into(), ..config() };
    let broker = connect_with(&config, &[server.address]).await;
    ask(&broker, "echo").await.unwrap();
    assert_eq!(server.state.token.borrow().as_deref(), Some("raw.jwt.token"));
}

#[tokio::test]
async fn without_a_token_there_is_no_header() {
    let server = Scripted::start();
    let broker = connect_with(&config(), &[server.address]).await;
    ask(&broker, "echo").await.unwrap();
    assert_eq!(*server.state.token.borrow(), None);
}

#[tokio::test]
async fn a_changed_file_is_used_and_a_call_in_flight_is_not_harmed() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "first\n").unwrap();
    let server = Scripted::start();
    let broker = connect_with(&of_file(file.path()), &[server.address]).await;
    let call = tokio::spawn(broker.ask(request(Kind::Command, "hold", 300)));
    wait_for(&mut server.state.arrived.subscribe(), "the call has arrived", |count| *count == 1).await;
    let mut token = server.state.token.subscribe();
    assert_eq!(token.borrow_and_update().as_deref(), Some("first"));

    std::fs::write(file.path(), "the second one\n").unwrap();
    wait_for(&mut token, "the new token is shown", |token| token.as_deref() == Some("the second one")).await;
    ask(&broker, "echo").await.unwrap();
    assert_eq!(server.state.token.borrow().as_deref(), Some("the second one"));

    server.release();
    assert!(within("the call ends", call).await.unwrap().unwrap().executed);
    assert_eq!(broker.reconnects(), 0, "a new token is no loss of the broker");
}

#[tokio::test]
async fn a_file_that_becomes_empty_leaves_the_old_token_in_use() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "first").unwrap();
    let server = Scripted::start();
    let broker = connect_with(&of_file(file.path()), &[server.address]).await;
    ask(&broker, "echo").await.unwrap();
    std::fs::write(file.path(), "").unwrap();
    let seen = *server.state.pings.borrow();
    wait_for(&mut server.state.pings.subscribe(), "two more looks", |count| *count >= seen + 2).await;
    ask(&broker, "echo").await.unwrap();
    assert_eq!(server.state.token.borrow().as_deref(), Some("first"));
}

#[tokio::test]
async fn a_missing_file_is_an_error_at_start() {
    let path = Path::new("no/such/token");
    let addresses = vec![Nowhere::new().address.into()];
    let broker =
        kubemq_mcp::broker::KubemqBroker::connect(&of_file(path), addresses, super::GATE_PATIENCE).await;
    let text = broker.err().expect("the file is missing").to_string();
    assert!(text.starts_with("`broker.auth_token_file` is `no/such/token`"), "{text}");
}
