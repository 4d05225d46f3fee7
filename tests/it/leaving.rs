//! What happens when an agent leaves: a query is reset down to the broker, a command goes on.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use kubemq_mcp::broker::Answer;
use kubemq_mcp::domain::Kind;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::harness::agent::Era;
use crate::harness::connector::Connector;
use crate::harness::event::{wait_for, within};
use crate::harness::scripted::Scripted;

/// The issue's own bound for a query whose agent has left.
const GONE_WITHIN: Duration = Duration::from_millis(100);

async fn a_query_is_reset(era: Era) {
    let broker = Scripted::start();
    let connector = Connector::in_front_of(broker.address).await;
    let (mut arrived, mut abandoned) = (broker.state.arrived.subscribe(), broker.state.abandoned.subscribe());
    // The best of some rounds: a busy machine may be late, but not always.
    let mut best = Duration::MAX;
    for round in 1..=5 {
        let agent = connector.agent();
        let asking = tokio::spawn(async move {
            agent.try_call(era, "query_send", json!({ "channel": "silent", "body": "b" })).await
        });
        wait_for(&mut arrived, "the query is at the broker", |count| *count == round).await;
        let left = Instant::now();
        asking.abort();
        wait_for(&mut abandoned, "the broker sees the call reset", |count| *count == round).await;
        connector.until_pending(0).await;
        best = best.min(left.elapsed());
    }
    assert!(best < GONE_WITHIN, "{best:?}");
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_whose_modern_agent_leaves_is_reset_within_100_ms() {
    a_query_is_reset(Era::Modern).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_whose_older_agent_leaves_is_reset_as_well() {
    a_query_is_reset(Era::Plain).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_goes_on_when_its_agent_leaves() {
    for era in [Era::Modern, Era::Plain] {
        let connector = Connector::start().await;
        let (begun, ended) = (Arc::new(watch::Sender::new(0)), Arc::new(watch::Sender::new(0)));
        let release = Arc::new(watch::Sender::new(false));
        let (mut begins, mut ends) = (begun.subscribe(), ended.subscribe());
        let handler = {
            let (begun, ended, release) = (begun.clone(), ended.clone(), release.clone());
            Arc::new(move |_| {
                let (begun, ended, mut released) = (begun.clone(), ended.clone(), release.subscribe());
                async move {
                    begun.send_modify(|count| *count += 1);
                    let _ = released.wait_for(|released| *released).await;
                    ended.send_modify(|count| *count += 1);
                    Ok(Answer { executed: true, ..Answer::default() })
                }
                .boxed()
            })
        };
        let _responder = connector.handler(Kind::Command, "orders", handler).await;
        let agent = connector.agent();
        let metrics_before = completed(&connector).await;
        let asking = tokio::spawn(async move {
            agent.try_call(era, "command_send", json!({ "channel": "orders", "body": "b" })).await
        });
        wait_for(&mut begins, "the responder has begun", |count| *count == 1).await;
        asking.abort();
        within("the agent has left", asking).await.expect_err("aborted");
        assert_eq!(connector.app().requests_pending(), 1, "the command is still in flight");
        release.send_replace(true);
        wait_for(&mut ends, "the responder has finished", |count| *count == 1).await;
        connector.until_pending(0).await;
        let until = async {
            while completed(&connector).await <= metrics_before {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        within("the outcome is counted as completed", until).await;
        connector.stop().await;
    }
}

/// Commands counted as completed in this process; other tests may count as well, so it only ever grows.
async fn completed(connector: &Connector) -> u64 {
    let (_, metrics) = connector.agent().get("/metrics").await;
    let line = "kubemq_mcp_calls_total{tool=\"command_send\",kind=\"command\",cause=\"completed\"} ";
    let value =
        metrics.lines().find_map(|text| text.strip_prefix(line)).expect("the series is there from the start");
    value.parse().expect("a count")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_agents_that_leave_leave_nothing_behind() {
    let broker = Scripted::start();
    let connector = Connector::in_front_of(broker.address).await;
    let (mut arrived, mut abandoned) = (broker.state.arrived.subscribe(), broker.state.abandoned.subscribe());
    let agent = crate::harness::agent::Agent::multiplexed(&connector.url());
    let mut asking = tokio::task::JoinSet::new();
    for _ in 0..1_000 {
        let agent = agent.clone();
        asking.spawn(async move {
            agent.try_call(Era::Modern, "query_send", json!({ "channel": "silent", "body": "b" })).await
        });
    }
    wait_for(&mut arrived, "all queries are at the broker", |count| *count == 1_000).await;
    asking.shutdown().await;
    wait_for(&mut abandoned, "all calls are reset", |count| *count == 1_000).await;
    connector.until_pending(0).await;
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_was_heard_is_never_called_a_broken_request() {
    let broker = Scripted::start();
    let connector = Connector::in_front_of(broker.address).await;
    let mut arrived = broker.state.arrived.subscribe();
    let mut stream =
        TcpStream::connect(connector.app().address().expect("it listens")).await.expect("a stream");
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"command_send","arguments":{"channel":"silent","body":"b","timeout_seconds":1}}}"#;
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).await.expect("it is read");
    wait_for(&mut arrived, "the command is at the broker", |count| *count == 1).await;
    // The client says that it will send nothing more, as `nc -N` does.
    stream.shutdown().await.expect("half of it closes");
    let mut said = Vec::new();
    within("the end of the connection", stream.read_to_end(&mut said)).await.expect("a text");
    assert!(!String::from_utf8_lossy(&said).contains("-32600"), "the command runs");
    connector.until_pending(0).await;
    connector.stop().await;
}
