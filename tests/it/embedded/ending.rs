//! How the broker ends, seen by those who are connected.

use std::time::Duration;

use kubemq::proto::kubemq::Empty;
use kubemq::proto::kubemq::subscribe::SubscribeType;
use kubemq_mcp::embedded::{Config, EmbeddedBroker};

use super::stand::{Stand, command, connect, done, internal, next, refusal, subscription, within};

const GRACE: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_stop_ends_subscriptions_cleanly() {
    let stand = Stand::new().await;
    let mut requests = stand.commands("orders", "").await;
    let stop = tokio::spawn(stand.broker.stop(GRACE));
    let end = within(requests.message()).await.expect("status OK");
    assert_eq!(end, None);
    within(stop).await.expect("no panic");
}

#[tokio::test]
async fn a_stop_without_grace_ends_subscriptions_cleanly_too() {
    let stand = Stand::new().await;
    let mut requests = stand.commands("orders", "").await;
    let stop = tokio::spawn(stand.broker.stop(Duration::ZERO));
    assert_eq!(within(requests.message()).await.expect("status OK"), None);
    within(stop).await.expect("no panic");
}

#[tokio::test]
async fn a_stop_lets_a_request_under_way_finish_and_refuses_new_ones() {
    let stand = Stand::new().await;
    let mut requests = stand.commands("orders", "").await;
    let caller = stand.client.clone();
    let call = tokio::spawn(async move { caller.clone().send_request(command("orders")).await });
    let request = next(&mut requests).await;
    let mut client = stand.client.clone();
    let stop = tokio::spawn(stand.broker.stop(GRACE));
    assert_eq!(within(requests.message()).await.expect("status OK"), None);
    let shutdown = internal("Error 409: server is in shutdown mode");
    assert_eq!(refusal(client.send_request(command("orders")).await), shutdown);
    let subscribe = subscription(SubscribeType::Commands, "orders", "");
    assert_eq!(refusal(client.subscribe_to_requests(subscribe).await), shutdown);
    client.send_response(done(&request)).await.expect("accepted");
    assert!(within(call).await.expect("no panic").expect("a reply").into_inner().executed);
    within(stop).await.expect("no panic");
}

#[tokio::test]
async fn a_stop_cuts_what_has_not_finished_when_the_grace_is_over() {
    let stand = Stand::new().await;
    let caller = stand.client.clone();
    let call = tokio::spawn(async move { caller.clone().send_request(command("nobody")).await });
    within(stand.broker.until(|figures| figures.requests_waiting == 1)).await;
    within(stand.broker.stop(Duration::from_millis(100))).await;
    within(call).await.expect("no panic").expect_err("cut off");
}

#[tokio::test]
async fn a_kill_breaks_calls_and_streams_and_frees_the_port() {
    let stand = Stand::new().await;
    let address = stand.broker.address();
    let mut requests = stand.commands("orders", "").await;
    let caller = stand.client.clone();
    let call = tokio::spawn(async move { caller.clone().send_request(command("orders")).await });
    next(&mut requests).await;
    stand.broker.kill();
    let again =
        EmbeddedBroker::start(Config { listen: address, ..Config::default() }).await.expect("a free port");
    let status = within(call).await.expect("no panic").expect_err("the connection broke");
    assert!(!status.message().contains("Error "), "{status}");
    within(requests.message()).await.expect_err("not a clean end");
    connect(&again).await.ping(Empty {}).await.expect("a pong");
    // The old connection is dialled anew by itself.
    stand.client.clone().ping(Empty {}).await.expect("a pong");
}

#[tokio::test]
async fn a_broker_that_is_dropped_is_gone() {
    let stand = Stand::new().await;
    let address = stand.broker.address();
    drop(stand.broker);
    EmbeddedBroker::start(Config { listen: address, ..Config::default() }).await.expect("a free port");
    stand.client.clone().ping(Empty {}).await.expect_err("nobody is there");
}
