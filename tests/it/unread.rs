//! Clients that ask and do not read: what is kept for them, and for how long.

use std::time::Duration;

use kubemq_mcp::domain::Kind;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;

use crate::harness::connector::{Connector, echo};
use crate::harness::event::within;

/// Larger than what the system takes for a client that reads nothing.
const BODY_BYTES: usize = 1_000_000;

/// So many calls in one go; their answers together fill every buffer on the way.
const CALLS: usize = 16;

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_reads_nothing_loses_its_connection() {
    let connector = Connector::with(|config| config.http.answer_seconds = 1).await;
    let _responder = connector.responder(Kind::Query, "orders", echo).await;
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4096).expect("a socket of ours");
    let mut client =
        socket.connect(connector.app().address().expect("it listens")).await.expect("it listens");
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "query_send", "arguments": { "channel": "orders", "body": "x".repeat(BODY_BYTES) } } });
    let call = call.to_string();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{call}",
        call.len()
    );
    let asking = async {
        for _ in 0..CALLS {
            if client.write_all(request.as_bytes()).await.is_err() {
                return;
            }
        }
        // Nothing is read until the connection is gone, which a write meets first.
        while client.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    within("the connection is closed", asking).await;
    let mut rest = Vec::new();
    let _ = client.read_to_end(&mut rest).await;
    assert!(rest.len() < CALLS * BODY_BYTES, "not all was kept for it");
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_of_calls_that_wait_share_one_limit() {
    let connector = Connector::with(|config| {
        (config.http.body_bytes_max, config.http.bodies_bytes_max) = (4_000, 5_000);
    })
    .await;
    let (agent, waiting) = (connector.agent(), connector.agent());
    let call =
        |seconds: u64| json!({ "channel": "nobody", "body": "x".repeat(3_000), "timeout_seconds": seconds });
    let held = call(2);
    let first = tokio::spawn(async move { waiting.call("query_send", held).await });
    connector.until_pending(1).await;
    let refused = agent.call("query_send", call(1)).await;
    assert_eq!(refused.status, 503);
    assert!(refused.body.to_string().contains("http.bodies_bytes_max"), "{refused:?}");
    assert!(first.await.expect("no panic").is_error(), "nobody listens");
    assert_eq!(agent.call("query_send", call(1)).await.status, 200, "its room is free again");
    connector.stop().await;
}
