//! One caller floods, others are slow, silent or send too much: everybody else is served, within bounded memory.
//!
//! How much slower the others are is printed and not judged: the flood runs on the same two cores as what is measured.

use std::io::Write;
use std::net::TcpStream as Plain;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::harness::agent::{Agent, Era};
use crate::harness::binary::Binary;
use crate::harness::event::within;
use crate::token::File;

/// What each caller may do in a second; the flood calls as fast as it is answered.
const CALLS_PER_SECOND: u64 = 300;
/// Connections that say nothing; as many as `http.connections_max` allows by default.
const IDLE: usize = 10_000;
/// Calls of the caller that is measured, one each 5 ms.
const CALLS: usize = 300;
/// Resident memory with all of it at once.
const RESIDENT_KIB_MAX: u64 = 400 * 1024;

/// The time within which 99 of 100 calls are answered.
async fn p99(agent: &Agent) -> Duration {
    let mut times = Vec::with_capacity(CALLS);
    let mut ticks = interval(Duration::from_millis(5));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for _ in 0..CALLS {
        ticks.tick().await;
        let begun = Instant::now();
        let answer = agent.call("query_send", json!({ "channel": "example-queries", "body": "b" })).await;
        assert!(!answer.is_error(), "{answer:?}");
        times.push(begun.elapsed());
    }
    times.sort();
    times[CALLS * 99 / 100]
}

/// Calls as fast as it is answered, until dropped; gives how often it has called and been refused.
async fn flood(agent: Agent, counts: std::sync::Arc<[std::sync::atomic::AtomicU64; 2]>) {
    use std::sync::atomic::Ordering::Relaxed;
    loop {
        let call = json!({ "channel": "example-queries", "body": "b" });
        let answer = agent.call_in(Era::Modern, "query_send", call).await;
        counts[0].fetch_add(1, Relaxed);
        counts[1].fetch_add(u64::from(answer.is_error()), Relaxed);
    }
}

/// Heads that never end: a byte now and then.
async fn slow_head(address: String) {
    loop {
        let Ok(mut stream) = TcpStream::connect(&address).await else { continue };
        let mut ticks = interval(Duration::from_millis(100));
        loop {
            ticks.tick().await;
            if stream.write_all(b"P").await.is_err() {
                break;
            }
        }
    }
}

/// A body of a gigabyte, as far as it is taken: answered 413, or cut off while it is still written.
async fn endless_body(address: &str, token: &str) {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         authorization: Bearer {token}\r\ncontent-length: {}\r\n\r\n",
        1u64 << 30
    );
    stream.write_all(head.as_bytes()).await.expect("it reads a head");
    let piece = vec![b'x'; 1 << 20];
    let mut sent = 0;
    while sent < 1 << 30 && stream.write_all(&piece).await.is_ok() {
        sent += piece.len();
    }
    let mut answer = Vec::new();
    let _ = within("the end of it", stream.read_to_end(&mut answer)).await;
    assert!(sent < 1 << 28, "{sent} bytes were taken");
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 413"), "{}", String::from_utf8_lossy(&answer));
}

#[test]
fn in_a_flood_the_others_are_served_and_memory_stays_bounded() {
    let file = File::new();
    let (calm, wild) = (file.add_with("calm", |_| {}), file.add_with("wild", |_| {}));
    let per_second = CALLS_PER_SECOND.to_string();
    let variables = [
        ("KUBEMQ_MCP__AUTH__MODE", "tokens"),
        ("KUBEMQ_MCP__AUTH__TOKENS_FILE", file.path()),
        ("KUBEMQ_MCP__LIMITS__CALLS_PER_SECOND", &per_second),
        ("KUBEMQ_MCP__LOG__LEVEL", "off"),
    ];
    let arguments = ["serve", "--demo", "--listen", "127.0.0.1:0", "--embedded-listen", "127.0.0.1:0"];
    let server = Binary::start(&arguments, &variables);
    let url = server.word("http://");
    let address = url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
    let (token, calm, wild) = (wild.clone(), Agent::with_token(&url, &calm), Agent::with_token(&url, &wild));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(async {
            let before = p99(&calm).await;
            let counts: std::sync::Arc<[std::sync::atomic::AtomicU64; 2]> = Default::default();
            let idle: Vec<Plain> = (0..IDLE)
                .map(|_| {
                    let mut stream = Plain::connect(&address).expect("idle ones give way");
                    // Half of them begin a request and leave it.
                    if stream.local_addr().is_ok_and(|local| local.port() % 2 == 0) {
                        let _ = stream.write_all(b"POST /mcp HTTP/1.1\r\n");
                    }
                    stream
                })
                .collect();
            let flooded = Instant::now();
            let mut tasks = tokio::task::JoinSet::new();
            (0..20).for_each(|_| _ = tasks.spawn(slow_head(address.clone())));
            (0..16).for_each(|_| _ = tasks.spawn(flood(wild.clone(), std::sync::Arc::clone(&counts))));
            endless_body(&address, &token).await;
            let begun = Instant::now();
            let during = p99(&calm).await;
            let seconds = begun.elapsed().as_secs_f64();
            let resident = server.resident_kib();
            tasks.shutdown().await;
            drop(idle);
            let [called, refused] = [0, 1].map(|index| counts[index].load(std::sync::atomic::Ordering::Relaxed));
            println!(
                "p99 {before:?} before, {during:?} in the flood of {called} calls in {seconds:.1} s, {refused} of them \
                 refused; {resident} KiB"
            );
            assert!(resident <= RESIDENT_KIB_MAX, "{resident} KiB");
            let let_in = (called - refused) as f64;
            let may = 100.0 + CALLS_PER_SECOND as f64 * (flooded.elapsed().as_secs_f64() + 1.0);
            assert!(refused > 0 && let_in <= may, "{let_in} of {called} were let in, {may} may be");
    });
}
