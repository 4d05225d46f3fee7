//! What goes out and what comes back when all is well.

use futures_util::future::join_all;
use kubemq_mcp::broker::Broker;
use kubemq_mcp::domain::{Kind, RequestId, Tags};

use super::{ask, connect, request, up};
use crate::harness::event::{wait_for, within};
use crate::harness::scripted::Scripted;

#[tokio::test]
async fn a_query_arrives_whole_and_its_reply_comes_back_whole() {
    let server = Scripted::start();
    let broker = connect(&[server.address]).await;
    let reply = broker.ask(request(Kind::Query, "echo.a", 7)).await.unwrap();
    assert_eq!(reply.request_id, Some(RequestId::from("request-1")));
    assert!(reply.executed && reply.error.is_empty() && !reply.cache_hit);
    assert_eq!((reply.body.as_slice(), reply.metadata.as_str()), (b"{\"a\":1}".as_slice(), "meta"));
    assert_eq!(reply.tags, Tags::from([("key".into(), "value".into())]));
    assert_eq!(reply.responder, server.address.to_string());
    let seen = server.state.last.lock().unwrap().clone().unwrap();
    assert_eq!((seen.request_id.as_str(), seen.channel.as_str()), ("request-1", "echo.a"));
    assert_eq!((seen.timeout, seen.client_id.as_str()), (7_000, "kubemq-mcp"));
    assert_eq!(seen.request_type_data(), kubemq::proto::kubemq::request::RequestType::Query);
}

#[tokio::test]
async fn a_command_says_that_it_is_one() {
    let server = Scripted::start();
    let broker = connect(&[server.address]).await;
    let reply = broker.ask(request(Kind::Command, "echo.a", 1)).await.unwrap();
    assert!(reply.executed && reply.body.is_empty());
    let seen = server.state.last.lock().unwrap().clone().unwrap();
    assert_eq!(seen.request_type_data(), kubemq::proto::kubemq::request::RequestType::Command);
    assert_eq!(seen.body, b"{\"a\":1}");
}

#[tokio::test]
async fn a_ping_tells_who_answered() {
    let server = Scripted::start();
    let broker = connect(&[server.address]).await;
    let info = broker.ping().await.unwrap();
    assert_eq!((info.host.as_str(), info.version.as_str()), ("scripted", "2.4.0"));
    assert_eq!(info.address, server.address.to_string());
}

#[tokio::test]
async fn dropping_a_call_resets_it_at_the_broker_at_once() {
    let server = Scripted::start();
    let broker = connect(&[server.address]).await;
    let call = tokio::spawn(broker.ask(request(Kind::Command, "silent", 300)));
    wait_for(&mut server.state.arrived.subscribe(), "the call has arrived", |count| *count == 1).await;
    let mut abandoned = server.state.abandoned.subscribe();
    let dropped = tokio::time::Instant::now();
    call.abort();
    wait_for(&mut abandoned, "the handler was dropped", |count| *count == 1).await;
    let elapsed = dropped.elapsed();
    assert!(elapsed.as_millis() < 100, "{elapsed:?}");
    assert!(ask(&broker, "echo").await.is_ok(), "the connection is not harmed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_thousand_calls_at_once_share_one_connection() {
    const CALLS: usize = 5_000;
    let server = Scripted::start();
    let broker = connect(&[server.address]).await;
    up(&broker).await;
    let calls: Vec<_> =
        (0..CALLS).map(|_| tokio::spawn(broker.ask(request(Kind::Query, "hold", 300)))).collect();
    wait_for(&mut server.state.arrived.subscribe(), "all have arrived", |count| *count == CALLS).await;
    server.release();
    let replies = within("all are answered", join_all(calls)).await;
    assert!(replies.into_iter().all(|reply| reply.unwrap().is_ok()));
    assert_eq!(*server.state.connections.borrow(), 1);
}

#[tokio::test]
async fn a_stopped_broker_sends_nothing_more_and_says_so() {
    let server = Scripted::start();
    let broker = connect(&[server.address]).await;
    up(&broker).await;
    broker.stop().await;
    let fault = within("the call ends", ask(&broker, "echo")).await.unwrap_err();
    assert_eq!(fault.to_string(), "the broker is not reachable: the connection is being closed");
    assert_eq!(*server.state.arrived.borrow(), 0);
}
