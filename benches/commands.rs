//! What a key costs: commands with one, without one, and replays, end to end, in ratios of one run.
//!
//! ```text
//! 256 callers ─HTTP/1─▶ connector ─gRPC─▶ embedded broker ─gRPC─▶ responder
//! ```
//!
//! All in this process, so the machine is shared as on a small host. Rounds of the three kinds take turns, and the median
//! of their ratios counts: a busy neighbour slows one round, not one kind.

#![expect(clippy::print_stdout, reason = "the figures are what it is for")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use kubemq_mcp::app::{App, Demo, Face, Options};
use kubemq_mcp::broker::{Answer, IN_FLIGHT_MAX, Responder, Subscription};
use kubemq_mcp::config::Config;
use kubemq_mcp::domain::{Channel, Kind};
use tokio::time::Instant;

const CALLERS: usize = 256;
const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keys {
    None,
    Fresh,
    Known,
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(run());
}

async fn run() {
    let store = tempfile::tempdir().expect("a temporary directory");
    let mut config = Config::default();
    config.log.level = "error".into();
    config.server.listen.set_port(0);
    config.embedded.listen.set_port(0);
    config.store.path = store.path().join("data");
    let app = App::start(config, Options { face: Face::Http, demo: Demo::Absent }).await.expect("it starts");
    let (broker, addresses) = app.broker();
    let subscription = Subscription {
        kind: Kind::Command,
        channel: Channel::parse("orders").expect("a valid channel"),
        group: String::new(),
        in_flight_max: IN_FLIGHT_MAX,
    };
    let yes = Answer { executed: true, ..Answer::default() };
    let handler = Arc::new(move |_| std::future::ready(Ok(yes.clone())).boxed());
    let responder =
        Responder::start(broker, addresses.to_vec(), subscription, handler).expect("a valid configuration");
    responder.ready().await;
    let url: Arc<str> = app.url().expect("it listens").into();
    let fresh = Arc::new(AtomicUsize::new(0));
    round(&url, Keys::Fresh, &fresh).await;
    let mut rates: Vec<[f64; 3]> = Vec::new();
    for _ in 0..ROUNDS {
        let mut rate = [0.0; 3];
        for (slot, keys) in rate.iter_mut().zip([Keys::None, Keys::Fresh, Keys::Known]) {
            *slot = round(&url, keys, &fresh).await;
        }
        println!("unkeyed {:>7.0}/s  keyed {:>7.0}/s  replayed {:>7.0}/s", rate[0], rate[1], rate[2]);
        rates.push(rate);
    }
    let median = |ratio: fn(&[f64; 3]) -> f64| {
        let mut ratios: Vec<f64> = rates.iter().map(ratio).collect();
        ratios.sort_by(f64::total_cmp);
        ratios[ratios.len() / 2]
    };
    println!("keyed / unkeyed:    {:.2}", median(|rate| rate[1] / rate[0]));
    println!("replayed / unkeyed: {:.2}", median(|rate| rate[2] / rate[0]));
    responder.stop().await;
    app.stop(None).await;
}

/// Commands per second over one round.
async fn round(url: &Arc<str>, keys: Keys, fresh: &Arc<AtomicUsize>) -> f64 {
    let begun = Instant::now();
    let callers = (0..CALLERS).map(|_| {
        let (url, fresh) = (url.clone(), fresh.clone());
        tokio::spawn(async move {
            let client = reqwest::Client::builder().no_proxy().build().expect("a client");
            let mut calls = 0_u32;
            while begun.elapsed() < ROUND {
                let key = match keys {
                    Keys::None => String::new(),
                    Keys::Fresh => {
                        format!(r#","idempotency_key":"key-{}""#, fresh.fetch_add(1, Ordering::Relaxed))
                    }
                    Keys::Known => format!(r#","idempotency_key":"key-{}""#, calls % 64),
                };
                let body = format!(
                    r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"command_send","arguments":{{"channel":"orders","body":"{{\"order\":17}}"{key}}}}}}}"#
                );
                let sent = client.post(&*url).header("content-type", "application/json").body(body).send();
                let text = sent.await.expect("an answer").text().await.expect("a text");
                assert!(text.contains(r#""outcome":"executed""#), "{text}");
                assert_eq!(text.contains(r#""replayed":true"#), keys == Keys::Known, "{text}");
                calls += 1;
            }
            calls
        })
    });
    let mut calls = 0_u32;
    for caller in callers.collect::<Vec<_>>() {
        calls += caller.await.expect("no panic");
    }
    f64::from(calls) / begun.elapsed().as_secs_f64()
}
