//! Which reply a caller gets, and what of it.

use std::time::Duration;

use kubemq::proto::kubemq::{Empty, Request, Response};
use tokio::time::Instant;
use tonic::Code;

use super::stand::{Stand, command, connect, done, internal, next, query, refusal, within};

fn full(request: &Request) -> Response {
    Response {
        metadata: "metadata of the reply".into(),
        cache_hit: true,
        executed: false,
        error: "out of stock".into(),
        span: b"span".to_vec(),
        tags: [("tag".to_owned(), "value".to_owned())].into(),
        request_id: "of another request".into(),
        ..done(request)
    }
}

#[tokio::test]
async fn without_a_responder_the_whole_timeout_passes() {
    let stand = Stand::new().await;
    for request in [command("nobody"), query("nobody")] {
        let start = Instant::now();
        let outcome = stand.ask(Request { timeout: 200, ..request }).await;
        assert_eq!(refusal(outcome), internal("Error 301: timeout for request message"));
        assert!(start.elapsed() >= Duration::from_millis(200));
    }
    let figures = stand.broker.figures();
    assert_eq!((figures.timeouts_total, figures.requests_waiting), (2, 0));
}

#[tokio::test]
async fn a_command_reply_travels_without_body_metadata_cache_hit_and_reply_channel() {
    let stand = Stand::new().await;
    stand.serve(stand.commands("orders", "").await, full);
    let expected = Response {
        reply_channel: "".into(),
        metadata: "".into(),
        body: vec![],
        cache_hit: false,
        ..full(&command("orders"))
    };
    assert_eq!(stand.ask(command("orders")).await.expect("gRPC OK, though not executed"), expected);
}

#[tokio::test]
async fn a_query_reply_travels_without_its_reply_channel_only() {
    let stand = Stand::new().await;
    stand.serve(stand.queries("orders", "").await, full);
    let expected = Response { reply_channel: "".into(), ..full(&query("orders")) };
    assert_eq!(stand.ask(query("orders")).await.expect("gRPC OK, though not executed"), expected);
}

#[tokio::test]
async fn the_first_reply_wins_and_all_others_are_accepted_and_dropped() {
    let stand = Stand::new().await;
    let mut requests = stand.queries("orders", "").await;
    let client = stand.client.clone();
    let call = tokio::spawn(async move { client.clone().send_request(query("orders")).await });
    let request = next(&mut requests).await;
    let reply = |body: &[u8]| Response { body: body.to_vec(), ..done(&request) };
    stand.respond(reply(b"first")).await.expect("accepted");
    stand.respond(reply(b"second")).await.expect("accepted");
    assert_eq!(within(call).await.expect("no panic").expect("a reply").into_inner().body, b"first");
    let unknown = Response { reply_channel: "_INBOX.nobody.waits".into(), ..reply(b"third") };
    stand.respond(unknown).await.expect("accepted");
    let figures = stand.broker.figures();
    assert_eq!((figures.responses_total, figures.responses_unclaimed_total), (3, 2));
}

#[tokio::test]
async fn a_late_reply_is_accepted_and_dropped() {
    let stand = Stand::new().await;
    let mut requests = stand.commands("orders", "").await;
    let outcome = stand.ask(Request { timeout: 50, ..command("orders") }).await;
    assert_eq!(refusal(outcome), internal("Error 301: timeout for request message"));
    let request = next(&mut requests).await;
    stand.respond(done(&request)).await.expect("accepted");
    assert_eq!(stand.broker.figures().responses_unclaimed_total, 1);
}

#[tokio::test]
async fn a_reply_reaches_no_subscriber_whatever_channel_it_names() {
    let stand = Stand::new().await;
    let mut commands = stand.commands("orders", "").await;
    let named = Response { reply_channel: "orders".into(), ..done(&command("orders")) };
    stand.respond(named).await.expect("accepted");
    let client = stand.client.clone();
    let call = tokio::spawn(async move { client.clone().send_request(command("orders")).await });
    assert_eq!(next(&mut commands).await.request_id, "request-1");
    assert_eq!(stand.broker.figures().deliveries_total, 1);
    call.abort();
}

#[tokio::test]
async fn any_connection_may_answer() {
    let stand = Stand::new().await;
    let mut requests = stand.commands("orders", "").await;
    let client = stand.client.clone();
    let call = tokio::spawn(async move { client.clone().send_request(command("orders")).await });
    let request = next(&mut requests).await;
    drop(requests);
    within(stand.broker.until(|figures| figures.subscriptions == 0)).await;
    let stranger = Response { client_id: "stranger".into(), ..done(&request) };
    connect(&stand.broker).await.send_response(stranger).await.expect("accepted");
    assert_eq!(within(call).await.expect("no panic").expect("a reply").into_inner().client_id, "stranger");
}

#[tokio::test]
async fn a_caller_that_hangs_up_waits_no_longer() {
    let stand = Stand::new().await;
    let client = stand.client.clone();
    let call = tokio::spawn(async move { client.clone().send_request(command("nobody")).await });
    within(stand.broker.until(|figures| figures.requests_waiting == 1)).await;
    call.abort();
    within(stand.broker.until(|figures| figures.requests_waiting == 0)).await;
    assert_eq!(stand.broker.figures().timeouts_total, 0);
}

#[tokio::test]
async fn a_caller_whose_own_deadline_passes_waits_no_longer() {
    let stand = Stand::new().await;
    let mut request = tonic::Request::new(command("nobody"));
    request.set_timeout(Duration::from_millis(100));
    let status = within(stand.client.clone().send_request(request)).await.expect_err("nobody answers");
    // tonic's word for its own deadline; grpc-go would say DEADLINE_EXCEEDED.
    assert_eq!(status.code(), Code::Cancelled);
    within(stand.broker.until(|figures| figures.requests_waiting == 0)).await;
}

#[tokio::test]
async fn a_ping_says_who_is_there() {
    let stand = Stand::new().await;
    let pong = stand.client.clone().ping(Empty {}).await.expect("a pong").into_inner();
    assert_eq!(pong.host, "embedded");
    assert_eq!(pong.version, "2.4.0-embedded");
    assert!(pong.server_start_time > 1_700_000_000 && pong.server_up_time_seconds >= 0);
}
