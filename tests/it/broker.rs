//! The broker side against real servers: every fault provoked, none imitated.

mod adapter;
mod addresses;
mod child;
mod connection;
mod faults;
mod health;
mod responder;
mod tls;
mod token;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use kubemq_mcp::broker::{Address, Broker, Config, Fault, KubemqBroker, LinkState};
use kubemq_mcp::domain::{Channel, Kind, Reply, Request, RequestId, Tags, Timeout};

use crate::harness::event::wait_for;

/// The defaults, as impatient as they go.
fn config() -> Config {
    Config { ping_seconds: 1, ping_timeout_seconds: 1, connect_seconds: 2, ..Config::default() }
}

/// How long a call waits for a connection: what the product adds to the timeout of a call.
const GATE_PATIENCE: Duration = Duration::from_secs(10);

async fn connect(addresses: &[SocketAddr]) -> Arc<KubemqBroker> {
    connect_with(&config(), addresses).await
}

async fn connect_with(config: &Config, addresses: &[SocketAddr]) -> Arc<KubemqBroker> {
    let addresses = addresses.iter().copied().map(Address::from).collect();
    KubemqBroker::connect(config, addresses, GATE_PATIENCE).await.expect("the configuration is right")
}

fn request(kind: Kind, channel: &str, seconds: u64) -> Request {
    Request {
        id: RequestId::from("request-1"),
        kind,
        channel: Channel::parse(channel).expect("a valid channel"),
        body: b"{\"a\":1}".to_vec(),
        metadata: "meta".into(),
        tags: Tags::from([("key".into(), "value".into())]),
        timeout: Timeout::capped_at(seconds, 300).expect("a valid timeout"),
    }
}

async fn ask(broker: &KubemqBroker, channel: &str) -> Result<Reply, Fault> {
    broker.ask(request(Kind::Query, channel, 1)).await
}

async fn up(broker: &KubemqBroker) -> LinkState {
    wait_for(&mut broker.link(), "the link is up", |state| matches!(state, LinkState::Up { .. })).await
}

async fn down(broker: &KubemqBroker) -> String {
    let state =
        wait_for(&mut broker.link(), "the link is down", |state| matches!(state, LinkState::Down { .. }))
            .await;
    let LinkState::Down { reason, .. } = state else { unreachable!("just matched") };
    reason
}
