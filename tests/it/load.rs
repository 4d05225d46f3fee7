//! Ten thousand queries held open at once on a thousand channels, with everything in processes of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kubemq::proto::kubemq::kubemq_client::KubemqClient;
use kubemq::proto::kubemq::subscribe::SubscribeType;
use kubemq::proto::kubemq::{Response, Subscribe};
use serde_json::json;
use tokio::sync::watch;

use crate::harness::agent::{Agent, Era};
use crate::harness::binary::Binary;
use crate::harness::child::ROLE;
use crate::harness::event::wait_for;

const CHANNELS: usize = 1_000;
const QUERIES: usize = 10_000;
/// Connections that the load comes over; each carries a thousand queries at once.
const CONNECTIONS: usize = 10;
/// What the issue allows the connector: resident memory with all of them open.
const RESIDENT_KIB_MAX: u64 = 600 * 1024;
/// The variable that tells the child where the broker is.
const BROKER: &str = "KUBEMQ_MCP_TEST_BROKER";
/// Long enough for a slow machine, and within what a call may ask for.
const TIMEOUT_SECONDS: u64 = 240;

fn channel(number: usize) -> String {
    format!("load.{}", number % CHANNELS)
}

/// The responder's process: holds every query until all of a round have come, then answers them all.
#[test]
fn answers_the_load_when_asked() {
    let (Ok(_), Ok(broker)) = (std::env::var(ROLE), std::env::var(BROKER)) else { return };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("one");
    runtime.block_on(async {
        let channel = tonic::transport::Endpoint::from_shared(format!("http://{broker}"))
            .expect("an address")
            .initial_connection_window_size(16 << 20)
            .connect()
            .await
            .expect("the broker listens");
        let client = KubemqClient::new(channel);
        let (arrived, rounds) = (Arc::new(AtomicUsize::new(0)), Arc::new(watch::Sender::new(0)));
        for number in 0..CHANNELS {
            let subscribe = Subscribe {
                subscribe_type_data: SubscribeType::Queries.into(),
                client_id: "load".into(),
                channel: self::channel(number),
                ..Subscribe::default()
            };
            let mut requests =
                client.clone().subscribe_to_requests(subscribe).await.expect("a subscription").into_inner();
            let (client, arrived, rounds) = (client.clone(), arrived.clone(), rounds.clone());
            tokio::spawn(async move {
                while let Ok(Some(request)) = requests.message().await {
                    let count = arrived.fetch_add(1, Ordering::SeqCst) + 1;
                    let round = count.div_ceil(QUERIES);
                    if count % QUERIES == 0 {
                        println!("round {round} has come");
                        std::io::stdout().flush().expect("a pipe");
                    }
                    let (mut client, mut rounds) = (client.clone(), rounds.subscribe());
                    tokio::spawn(async move {
                        let _ = rounds.wait_for(|released| *released >= round).await;
                        let response = Response {
                            client_id: "load".into(),
                            request_id: request.request_id,
                            reply_channel: request.reply_channel,
                            body: request.body,
                            executed: true,
                            ..Response::default()
                        };
                        client.send_response(response).await.expect("the broker takes it");
                    });
                }
            });
        }
        println!("subscribed");
        std::io::stdout().flush().expect("a pipe");
        // A line on standard input releases a round; the end of it ends the process.
        let released = rounds.clone();
        tokio::task::spawn_blocking(move || {
            for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                released.send_replace(line.trim().parse::<usize>().expect("a round"));
            }
        })
        .await
        .expect("no panic");
    });
}

/// The responder's process, seen from the test.
struct Responder {
    child: Child,
    said: watch::Receiver<String>,
}

impl Responder {
    fn start(broker: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("a running binary"))
            .args(["load::answers_the_load_when_asked", "--exact", "--nocapture"])
            .envs([(ROLE, "1"), (BROKER, broker)])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let (says, said) = watch::channel(String::new());
        let output = child.stdout.take().expect("it is piped");
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                says.send_modify(|text| text.push_str(&line));
            }
        });
        Self { child, said }
    }

    async fn says(&self, part: &str) {
        let mut said = self.said.clone();
        let heard = said.wait_for(|text| text.contains(part));
        tokio::time::timeout(Duration::from_secs(TIMEOUT_SECONDS), heard)
            .await
            .expect(part)
            .expect("it lives");
    }

    fn release(&mut self, round: usize) {
        writeln!(self.child.stdin.as_mut().expect("it is piped"), "{round}").expect("it reads");
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = self.child.stdout.take().map(|mut output| output.read_to_end(&mut Vec::new()));
    }
}

/// The resident memory of a connector that does nothing but hold: the least of some readings, since what a burst needed
/// for a moment goes back to the system a little later.
async fn settled_kib(connector: &Binary) -> u64 {
    let mut least = connector.resident_kib();
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        least = least.min(connector.resident_kib());
    }
    least
}

/// One round; gives the connector's resident memory while every query is open.
async fn round(number: usize, agents: &[Agent], responder: &mut Responder, connector: &Binary) -> u64 {
    let answered = Arc::new(watch::Sender::new(0));
    let mut asked = tokio::task::JoinSet::new();
    for query in 0..QUERIES {
        let (agent, answered) = (agents[query % agents.len()].clone(), answered.clone());
        asked.spawn(async move {
            let body = format!("query {query}");
            let arguments =
                json!({ "channel": channel(query), "body": body, "timeout_seconds": TIMEOUT_SECONDS });
            let answer = agent.try_call(Era::Plain, "query_send", arguments).await.expect("an answer");
            assert_eq!(answer.text(0), body);
            answered.send_modify(|count| *count += 1);
        });
    }
    responder.says(&format!("round {number} has come")).await;
    let resident = settled_kib(connector).await;
    assert_eq!(*answered.borrow(), 0, "all are open at once");
    responder.release(number);
    while let Some(done) = asked.join_next().await {
        done.expect("every query is answered");
    }
    wait_for(&mut answered.subscribe(), "all are answered", |count| *count == QUERIES).await;
    resident
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_queries_are_held_open_at_once_within_600_mib() {
    let broker = Binary::start(&["broker", "--listen", "127.0.0.1:0", "--log-level", "error"], &[]);
    let broker_address = broker.word("127.0.0.1:");
    let connector = Binary::start(
        &["serve", "--listen", "127.0.0.1:0", "--broker", &broker_address, "--log-level", "error"],
        &[],
    );
    let mut responder = Responder::start(&broker_address);
    responder.says("subscribed").await;
    let url = connector.word("http://");
    let agents: Vec<Agent> = (0..CONNECTIONS).map(|_| Agent::multiplexed(&url)).collect();
    let before = connector.resident_kib();
    let first = round(1, &agents, &mut responder, &connector).await;
    let second = round(2, &agents, &mut responder, &connector).await;
    println!(
        "resident memory: {before} KiB before, {first} KiB and {second} KiB with {QUERIES} queries open"
    );
    assert!(first < RESIDENT_KIB_MAX, "{first} KiB");
    assert!(second * 100 < first * 105, "from {first} to {second} KiB");
}
