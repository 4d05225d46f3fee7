//! Every answer of a broker that is not a reply, and the one fault it becomes.

use std::time::Duration;

use kubemq_mcp::broker::{Broker, Fault, SharedBroker, ask_within};
use kubemq_mcp::domain::Kind;
use tokio::time::Instant;

use super::{Config, ask, config, connect, connect_with, request};
use crate::harness::raw;
use crate::harness::scripted::Scripted;

async fn fault_of(channel: &str) -> Fault {
    let server = Scripted::start();
    let broker = connect(&[server.address]).await;
    ask(&broker, channel).await.expect_err(channel)
}

#[tokio::test]
async fn validation_access_and_authentication_errors_are_refusals() {
    for (channel, text) in [
        ("error.101", "Error 101: invalid clientID value, cannot be empty"),
        ("error.115", "Error 115: invalid request, cannot be empty"),
        ("error.206", "Error 206: invalid request type"),
        ("error.412", "Error 412: access denied to resource"),
        ("error.421", "Error 421: authentication verification failed, token is expired by 1s"),
        ("error.no-token", "Authorization token is not supplied"),
        ("error.denied", "not for you"),
        ("error.go-limit", "grpc: received message larger than max (5000000 vs. 4194304)"),
    ] {
        assert_eq!(fault_of(channel).await, Fault::Refused(text.into()), "{channel}");
    }
}

#[tokio::test]
async fn a_broker_that_says_it_is_not_serving_is_unavailable() {
    for channel in ["error.302", "error.409", "error.not-ready"] {
        let fault = fault_of(channel).await;
        assert!(matches!(fault, Fault::Unavailable(_)), "{channel}: {fault:?}");
    }
}

#[tokio::test]
async fn error_301_at_its_time_is_a_timeout_and_early_it_is_a_failure() {
    assert_eq!(fault_of("nobody-listens").await, Fault::TimedOut);
    let Fault::Failed(detail) = fault_of("error.301").await else { panic!("it came early") };
    assert!(detail.starts_with("Error 301: timeout for request message after 0.0"), "{detail}");
    assert!(detail.ends_with(" s of 1 s"), "{detail}");
    assert!(matches!(fault_of("error.late").await, Fault::Failed(_)), "a deadline of somebody else, early");
}

#[tokio::test]
async fn whatever_else_a_broker_says_leaves_the_outcome_unknown() {
    for channel in
        ["error.500", "error.proxy", "code.2", "code.3", "code.5", "code.9", "code.10", "code.12", "code.15"]
    {
        let fault = fault_of(channel).await;
        assert!(matches!(fault, Fault::Failed(_)), "{channel}: {fault:?}");
    }
    assert!(matches!(fault_of("error.303").await, Fault::ReplyInvalid(_)));
}

#[tokio::test]
async fn a_request_that_the_client_itself_refuses_is_a_refusal() {
    let server = Scripted::start();
    let broker = connect(&[server.address]).await;
    let mut wrong = request(Kind::Command, "echo", 1);
    wrong.tags.insert("key".into(), "x".repeat(4_097));
    let fault = broker.ask(wrong).await.unwrap_err();
    assert_eq!(fault, Fault::Refused("tag value exceeds maximum length".into()));
    assert_eq!(*server.state.arrived.borrow(), 0);
}

#[tokio::test]
async fn a_request_that_the_broker_finds_too_large_is_a_refusal() {
    let server = Scripted::start();
    let broker = connect(&[server.address]).await;
    let mut large = request(Kind::Command, "echo", 5);
    large.body = vec![0; 9 << 20];
    let fault = broker.ask(large).await.unwrap_err();
    assert!(matches!(&fault, Fault::Refused(detail) if detail.contains("too large")), "{fault:?}");
    assert_eq!(*server.state.arrived.borrow(), 0);
}

#[tokio::test]
async fn a_reply_over_the_limit_names_both_sizes() {
    let server = Scripted::start();
    let config = Config { reply_bytes_max: 1_000, ..config() };
    let broker = connect_with(&config, &[server.address]).await;
    assert_eq!(ask(&broker, "bytes.1000").await.unwrap().body.len(), 1_000);
    // Between our limit and the client's, and over both; there the size is that of the whole message.
    let fault = ask(&broker, "bytes.1001").await.unwrap_err();
    assert_eq!(fault, Fault::ReplyTooLarge { size: Some(1_001), limit: 1_000 });
    let fault = ask(&broker, "bytes.2000000").await.unwrap_err();
    let Fault::ReplyTooLarge { size: Some(size), limit: 1_000 } = fault else { panic!("{fault:?}") };
    assert!((2_000_000..2_000_100).contains(&size), "{size}");
    assert!(ask(&broker, "echo").await.is_ok(), "the connection is not harmed");
}

#[tokio::test]
async fn a_reply_that_is_no_message_is_invalid() {
    // A field of wire type 7, which does not exist; a message that ends early; an unknown compression flag.
    let cases: [&[u8]; 3] = [b"\0\0\0\0\x02\xff\xff", b"\0\0\0\0\x09\x01", b"\x09\0\0\0\0"];
    for bytes in cases {
        let address = raw::answer_with(bytes).await;
        let broker = connect(&[address]).await;
        let fault = ask(&broker, "any").await.unwrap_err();
        assert!(matches!(fault, Fault::ReplyInvalid(_)), "{bytes:?}: {fault:?}");
    }
}

#[tokio::test]
async fn a_silent_broker_ends_at_our_own_deadline() {
    let server = Scripted::start();
    let broker: SharedBroker = connect(&[server.address]).await;
    let started = Instant::now();
    let reply = ask_within(&broker, request(Kind::Command, "silent", 1), Duration::from_millis(200)).await;
    assert_eq!(reply, Err(Fault::TimedOut));
    assert!((1_200..3_000).contains(&started.elapsed().as_millis()), "{:?}", started.elapsed());
}
