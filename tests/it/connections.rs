//! As many connections as may be: idle ones give way, those at work stay.

use kubemq_mcp::domain::Kind;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::agent::Agent;
use crate::harness::connector::{Connector, echo};
use crate::harness::event::within;

async fn connector(connections_max: usize) -> Connector {
    Connector::with(|config| config.http.connections_max = connections_max).await
}

/// A connection that says nothing.
async fn idle(connector: &Connector) -> TcpStream {
    TcpStream::connect(connector.app().address().expect("it listens")).await.expect("it is let in")
}

async fn is_closed(stream: &mut TcpStream) {
    let mut byte = [0];
    let read = within("the end of a connection", stream.read(&mut byte)).await;
    assert!(read.is_err() || read.is_ok_and(|count| count == 0), "it was answered");
}

async fn figure(agent: &Agent, name: &str) -> f64 {
    let (_, text) = agent.get("/metrics").await;
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{text}"));
    line.trim().parse().expect("a number")
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_say_nothing_keep_nobody_out() {
    let connector = connector(3).await;
    let responder = connector.responder(Kind::Query, "orders", echo).await;
    let displaced = "kubemq_mcp_http_connections_displaced_total ";
    let before = figure(&connector.agent(), displaced).await;
    let (mut first, mut second) = (idle(&connector).await, idle(&connector).await);
    let mut more = Vec::new();
    for _ in 0..3 {
        more.push(idle(&connector).await);
    }
    is_closed(&mut first).await;
    is_closed(&mut second).await;
    let agent = connector.agent();
    for _ in 0..3 {
        let answer = agent.call("query_send", json!({ "channel": "orders", "body": "b" })).await;
        assert!(!answer.is_error(), "{answer:?}");
    }
    assert!(figure(&agent, displaced).await >= before + 3.0);
    responder.stop().await;
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_at_work_stay_and_a_further_one_is_refused() {
    let connector = connector(2).await;
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "query_send",
        "arguments": { "channel": "nobody", "body": "b", "timeout_seconds": 2 } } })
    .to_string();
    let mut working = Vec::new();
    for pending in [1, 2] {
        let mut stream = idle(&connector).await;
        let request = format!(
            "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{call}",
            call.len()
        );
        stream.write_all(request.as_bytes()).await.expect("it reads");
        connector.until_pending(pending).await;
        working.push(stream);
    }
    is_closed(&mut idle(&connector).await).await;
    for mut stream in working {
        let mut answer = [0; 12];
        within("an answer", stream.read_exact(&mut answer)).await.expect("it stays");
        assert_eq!(&answer, b"HTTP/1.1 200");
    }
    connector.stop().await;
}
