//! Ten thousand requests that are wrong in some way: each gets an answer, none hangs, none panics, memory stays flat.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::harness::agent::Agent;
use crate::harness::binary::Binary;

/// How many; the issue's own number.
const REQUESTS: u64 = 10_000;

/// How many at once.
const AT_ONCE: usize = 64;

/// The longest wait for an answer: the connector's own limits below are one second each.
const PATIENCE: Duration = Duration::from_secs(10);

/// A request as bytes, wrong in a way that its number decides.
fn request(seed: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    match random.u8(0..10) {
        0..=5 => http(&mut random, &body_from_message(seed)),
        6 => http(&mut random, &garbage(seed, 200)),
        7 => {
            let body = garbage(seed, 50);
            let mut bytes = http(&mut random, &body);
            let cut = random.usize(1..bytes.len());
            bytes.truncate(cut);
            bytes
        }
        8 => wrong_head(&mut random),
        _ => {
            let mut bytes = garbage(seed, 120);
            bytes.push(b'x');
            bytes
        }
    }
}

fn garbage(seed: u64, length_max: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed ^ 0xbad);
    let length = random.usize(0..length_max);
    (0..length).map(|_| random.u8(..)).collect()
}

/// A valid call with some of it replaced, left out or cut.
fn body_from_message(seed: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed ^ 0x5eed);
    let mut message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "command_send", "arguments": {
            "channel": "nobody", "body": "b", "metadata": "m", "tags": { "a": "b" }, "timeout_seconds": 1 } }
    });
    for _ in 0..random.usize(1..4) {
        let paths = ["/jsonrpc", "/id", "/method", "/params", "/params/name", "/params/arguments"];
        let deeper = ["channel", "body", "metadata", "tags", "tags/a", "timeout_seconds"];
        let path = if random.bool() {
            paths[random.usize(..paths.len())].to_owned()
        } else {
            format!("/params/arguments/{}", deeper[random.usize(..deeper.len())])
        };
        if let Some(place) = message.pointer_mut(&path) {
            *place = odd_value(&mut random);
        }
    }
    let mut bytes = message.to_string().into_bytes();
    match random.u8(0..6) {
        0 => bytes.truncate(random.usize(..bytes.len())),
        1 => {
            let place = random.usize(..bytes.len());
            bytes[place] = random.u8(..);
        }
        _ => {}
    }
    bytes
}

fn odd_value(random: &mut fastrand::Rng) -> Value {
    match random.u8(0..12) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(random.i64(..)),
        3 => json!(random.f64() * 1e300),
        4 => json!(""),
        5 => json!("\u{0}\u{1b}[31m\u{202e}"),
        6 => json!("x".repeat(random.usize(..3_000))),
        7 => json!([[[[[]]]]]),
        8 => json!({ "__proto__": { "a": 1 }, "": "" }),
        9 => json!("tools/call"),
        10 => json!("notifications/cancelled"),
        _ => json!([1, "a", null]),
    }
}

fn http(random: &mut fastrand::Rng, body: &[u8]) -> Vec<u8> {
    let length = match random.u8(0..12) {
        0 => body.len() + 1,
        1 => body.len().saturating_sub(1),
        _ => body.len(),
    };
    let media = ["application/json", "text/plain", "application/json; charset=utf-8", "\u{1}", ""];
    let media = media[if random.u8(0..4) == 0 { random.usize(..media.len()) } else { 0 }];
    let extra = match random.u8(0..8) {
        0 => "MCP-Protocol-Version: 2026-07-28\r\n",
        1 => "MCP-Protocol-Version: \u{7f}\r\n",
        2 => "Mcp-Session-Id: x\r\nAccept: image/png\r\n",
        3 => "Transfer-Encoding: chunked\r\n",
        4 => "Expect: 100-continue\r\n",
        _ => "",
    };
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: {media}\r\nContent-Length: \
         {length}\r\n{extra}\r\n"
    );
    [head.as_bytes(), body].concat()
}

fn wrong_head(random: &mut fastrand::Rng) -> Vec<u8> {
    let heads: [&[u8]; 10] = [
        b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"POST /mcp HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nConnection: close\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"POST /../../etc HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"BREW /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"POST /mcp\r\n\r\n",
        b"\r\n\r\n\r\n\r\nx",
    ];
    let mut bytes = heads[random.usize(..heads.len())].to_vec();
    if random.u8(0..4) == 0 {
        // More headers than the limit allows.
        let many = format!("X-Many: {}\r\n", "y".repeat(300)).repeat(400);
        bytes = [b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n", many.as_bytes(), b"\r\n"].concat();
    }
    bytes
}

/// Sends the bytes, says that no more will come, and reads to the end.
async fn exchange(address: SocketAddr, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address).await?;
    // A server may answer and close before it has read everything; what it said still counts.
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer).await {
            Ok(0) => return Ok(answer),
            Ok(read) => answer.extend_from_slice(&buffer[..read]),
            Err(_) if !answer.is_empty() => return Ok(answer),
            Err(error) => return Err(error),
        }
    }
}

async fn all_answered(address: SocketAddr, seeds: std::ops::Range<u64>) {
    let room = Arc::new(Semaphore::new(AT_ONCE));
    let mut asked = tokio::task::JoinSet::new();
    for seed in seeds {
        let permit = Arc::clone(&room).acquire_owned().await.expect("never closed");
        asked.spawn(async move {
            let bytes = request(seed);
            let answer = tokio::time::timeout(PATIENCE, exchange(address, &bytes)).await;
            drop(permit);
            let shown = || String::from_utf8_lossy(&bytes).into_owned();
            let answer = answer.unwrap_or_else(|_| panic!("seed {seed} hangs: {}", shown()));
            let answer = answer.unwrap_or_else(|error| panic!("seed {seed}: {error}: {}", shown()));
            let text = String::from_utf8_lossy(&answer);
            assert!(text.starts_with("HTTP/1."), "seed {seed} got {text:?} for {}", shown());
            // Neither of these statuses is ever right for what a client did.
            assert!(!text.starts_with("HTTP/1.1 5"), "seed {seed} got {text:?} for {}", shown());
        });
    }
    while let Some(done) = asked.join_next().await {
        done.expect("every request is answered");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_malformed_requests_are_all_answered() {
    let server = Binary::start(
        &["serve", "--listen", "127.0.0.1:0", "--embedded-listen", "127.0.0.1:0", "--log-level", "error"],
        &[
            ("KUBEMQ_MCP__HTTP__HEADER_SECONDS", "1"),
            ("KUBEMQ_MCP__HTTP__BODY_SECONDS", "1"),
            ("KUBEMQ_MCP__TOOL__TOOL_TIMEOUT_SECONDS", "1"),
            ("KUBEMQ_MCP__CHANNEL__IDLE_SECONDS", "1"),
        ],
    );
    let url = server.word("http://");
    let address: SocketAddr =
        url.trim_start_matches("http://").trim_end_matches("/mcp").parse().expect("an address");
    all_answered(address, 0..REQUESTS / 5).await;
    let early = server.resident_kib();
    all_answered(address, REQUESTS / 5..REQUESTS).await;
    let late = server.resident_kib();
    println!("resident memory: {early} KiB after a fifth, {late} KiB after all");
    // An allocator keeps what it had; what grows with the requests would be far beyond this.
    assert!(late < early + 8_192, "from {early} to {late} KiB");
    let (status, _) = Agent::new(&url).get("/readyz").await;
    assert_eq!(status, 200);
    assert!(!server.log().contains("panicked"), "{}", server.log());
}
