//! Who gets a request, and what of it.

use std::collections::BTreeSet;

use kubemq::proto::kubemq::subscribe::SubscribeType;
use kubemq::proto::kubemq::{Request, Response};

use super::stand::{Stand, command, connect, done, internal, next, query, refusal, subscription, within};

#[tokio::test]
async fn a_responder_gets_the_request_as_sent_and_a_reply_channel() {
    let stand = Stand::new().await;
    let mut requests = stand.queries("orders", "").await;
    let sent = Request {
        reply_channel: "_INBOX.of.mine".into(),
        cache_key: "key".into(),
        cache_ttl: 5,
        span: b"span".to_vec(),
        tags: [("tag".to_owned(), "value".to_owned())].into(),
        ..query("orders")
    };
    let asked = sent.clone();
    let client = stand.client.clone();
    let call = tokio::spawn(async move { client.clone().send_request(asked).await });
    let received = next(&mut requests).await;
    let parts: Vec<usize> = received.reply_channel.split('.').map(str::len).collect();
    assert_eq!(parts, ["_INBOX".len(), 22, 8]);
    assert_eq!(Request { reply_channel: sent.reply_channel.clone(), ..received }, sent);
    call.abort();
}

#[tokio::test]
async fn a_request_without_an_id_gets_one() {
    let stand = Stand::new().await;
    stand.serve(stand.commands("orders", "").await, done);
    let response = stand.ask(Request { request_id: "".into(), ..command("orders") }).await.expect("a reply");
    assert_eq!(response.request_id.len(), 22);
    assert!(response.request_id.bytes().all(|byte| byte.is_ascii_alphanumeric()));
}

#[tokio::test]
async fn every_loner_and_one_member_of_each_group_get_a_copy() {
    let stand = Stand::new().await;
    let mut streams = Vec::new();
    for group in ["", "", "", "g", "g", "g", "h", "h"] {
        streams.push(stand.commands("orders", group).await);
    }
    let others = [stand.commands("other", "").await, stand.queries("orders", "").await];
    let client = stand.client.clone();
    let call = tokio::spawn(async move { client.clone().send_request(command("orders")).await });
    let mut reply_channels = BTreeSet::new();
    for requests in &mut streams[..3] {
        reply_channels.insert(next(requests).await.reply_channel);
    }
    assert_eq!(reply_channels.len(), 1);
    assert_eq!(stand.broker.figures().deliveries_total, 5);
    call.abort();
    drop(others);
}

#[tokio::test]
async fn a_group_lets_every_member_work() {
    let stand = Stand::new().await;
    let members: [fn(&Request) -> Response; 3] =
        [|request| named("a", request), |request| named("b", request), |request| named("c", request)];
    for member in members {
        stand.serve(stand.commands("orders", "g").await, member);
    }
    let mut answered = BTreeSet::new();
    // Three members all miss a turn for 200 requests about once in 10^35 runs.
    for _ in 0..200 {
        answered.insert(stand.ask(command("orders")).await.expect("a reply").client_id);
    }
    assert_eq!(answered.into_iter().collect::<String>(), "abc");
    assert_eq!(stand.broker.figures().deliveries_total, 200);
}

fn named(client_id: &str, request: &Request) -> Response {
    Response { client_id: client_id.into(), ..done(request) }
}

#[tokio::test]
async fn commands_and_queries_of_one_channel_never_cross() {
    let stand = Stand::new().await;
    stand.serve(stand.commands("orders", "").await, |request| named("commands", request));
    stand.serve(stand.queries("orders", "").await, |request| named("queries", request));
    assert_eq!(stand.ask(command("orders")).await.expect("a reply").client_id, "commands");
    assert_eq!(stand.ask(query("orders")).await.expect("a reply").client_id, "queries");
}

#[tokio::test]
async fn two_streams_of_one_client_id_are_two_subscribers() {
    let stand = Stand::new().await;
    let mut streams = [stand.commands("orders", "").await, stand.commands("orders", "").await];
    let client = stand.client.clone();
    let call = tokio::spawn(async move { client.clone().send_request(command("orders")).await });
    for requests in &mut streams {
        next(requests).await;
    }
    call.abort();
}

#[tokio::test]
async fn a_member_that_ends_its_stream_leaves_its_group_at_once() {
    let stand = Stand::new().await;
    let gone = stand.commands("orders", "g").await;
    stand.serve(stand.commands("orders", "g").await, done);
    drop(gone);
    within(stand.broker.until(|figures| figures.subscriptions == 1)).await;
    for _ in 0..50 {
        assert!(stand.ask(command("orders")).await.expect("a reply").executed);
    }
}

#[tokio::test]
async fn a_member_whose_connection_breaks_leaves_its_group_at_once() {
    let stand = Stand::new().await;
    stand.serve(stand.commands("orders", "g").await, done);
    let mut broken = connect(&stand.broker).await;
    let subscribe = subscription(SubscribeType::Commands, "orders", "g");
    let requests = broken.subscribe_to_requests(subscribe).await.expect("a subscription");
    within(stand.broker.until(|figures| figures.subscriptions == 2)).await;
    drop((requests, broken));
    within(stand.broker.until(|figures| figures.subscriptions == 1)).await;
    for _ in 0..50 {
        assert!(stand.ask(command("orders")).await.expect("a reply").executed);
    }
}

#[tokio::test]
async fn what_a_vanished_member_held_is_lost_and_goes_to_nobody_else() {
    let stand = Stand::new().await;
    let mut holder = stand.commands("orders", "g").await;
    let client = stand.client.clone();
    let held = Request { timeout: 300, ..command("orders") };
    let call = tokio::spawn(async move { client.clone().send_request(held).await });
    next(&mut holder).await;
    let heir = stand.commands("orders", "g").await;
    drop(holder);
    within(stand.broker.until(|figures| figures.subscriptions == 1)).await;
    let outcome = within(call).await.expect("no panic");
    assert_eq!(refusal(outcome), internal("Error 301: timeout for request message"));
    assert_eq!(stand.broker.figures().deliveries_total, 1);
    drop(heir);
}

#[tokio::test]
async fn a_subscriber_that_does_not_read_loses_requests_and_the_broker_lives() {
    let stand = Stand::new().await;
    let mut silent = stand.commands("orders", "").await;
    // Far more than the windows of HTTP/2 and an inbox of 100 hold.
    let large = || Request { body: vec![0; 64 << 10], timeout: 10_000, ..command("orders") };
    let calls: Vec<_> = (0..400)
        .map(|_| {
            let client = stand.client.clone();
            tokio::spawn(async move { client.clone().send_request(large()).await })
        })
        .collect();
    within(stand.broker.until(|figures| figures.deliveries_dropped_total > 0)).await;
    let first = next(&mut silent).await;
    stand.respond(done(&first)).await.expect("accepted");
    within(stand.broker.until(|figures| figures.requests_waiting == 399)).await;
    calls.iter().for_each(tokio::task::JoinHandle::abort);
    within(stand.broker.until(|figures| figures.requests_waiting == 0)).await;
}
