//! Thousands of calls at once over one connection, which h2 takes for an attack unless the server is set up for it.

use futures_util::future::join_all;
use kubemq::proto::kubemq::{Empty, Request};
use kubemq_mcp::embedded::Config;

use super::stand::{Stand, command, done, next, query, within};

async fn all_answered(calls: usize) {
    // The connection is on trial, not the inbox: on a busy machine the responder may well not read for 2 s.
    let stand = Stand::with(Config { subscription_buffer: calls, ..Config::default() }).await;
    stand.serve(stand.commands("orders", "").await, done);
    let ask = |number: usize| {
        let mut client = stand.client.clone();
        // A timeout that a machine with better things to do does not reach.
        let request =
            Request { request_id: number.to_string(), body: vec![], timeout: 150_000, ..command("orders") };
        tokio::spawn(async move { client.send_request(request).await })
    };
    let calls: Vec<_> = (0..calls).map(ask).collect();
    for (number, call) in within(join_all(calls)).await.into_iter().enumerate() {
        let response =
            call.expect("no panic").unwrap_or_else(|status| panic!("{status}, {:?}", stand.broker.figures()));
        let response = response.into_inner();
        assert_eq!(response.request_id, number.to_string());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn five_thousand_requests_at_once_on_one_connection_are_all_answered() {
    all_answered(5_000).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_requests_at_once_on_one_connection_are_all_answered() {
    all_answered(10_000).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_requests_wait_together_on_one_connection() {
    let stand = Stand::new().await;
    let calls: Vec<_> = (0..10_000)
        .map(|_| {
            let mut client = stand.client.clone();
            tokio::spawn(async move { client.send_request(command("nobody")).await })
        })
        .collect();
    within(stand.broker.until(|figures| figures.requests_waiting == 10_000)).await;
    calls.iter().for_each(tokio::task::JoinHandle::abort);
    within(stand.broker.until(|figures| figures.requests_waiting == 0)).await;
    stand.client.clone().ping(Empty {}).await.expect("the connection lives");
    assert_eq!(stand.broker.figures().connections, 1);
}

#[tokio::test]
async fn thousands_of_calls_given_up_at_once_do_not_end_the_connection() {
    let stand = Stand::new().await;
    // A client that lost its connection dials again by itself, but a stream of the lost one ends.
    let mut witness = stand.queries("witness", "").await;
    // How far a call has come when it is given up depends on how often the others ran, so every depth gets its turn.
    for depth in 0..64 {
        let calls: Vec<_> = (0..200)
            .map(|_| {
                let mut client = stand.client.clone();
                tokio::spawn(async move { client.send_request(command("nobody")).await })
            })
            .collect();
        for _ in 0..depth {
            tokio::task::yield_now().await;
        }
        calls.iter().for_each(tokio::task::JoinHandle::abort);
    }
    let client = stand.client.clone();
    let call = tokio::spawn(async move { client.clone().send_request(query("witness")).await });
    next(&mut witness).await;
    call.abort();
    within(stand.broker.until(|figures| figures.requests_waiting == 0)).await;
}
