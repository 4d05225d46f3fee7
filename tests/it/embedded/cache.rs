//! Cached query replies, from outside.

use kubemq::proto::kubemq::{Request, Response};

use super::stand::{Stand, command, done, query};

fn cached(channel: &str, request_id: &str) -> Request {
    Request { request_id: request_id.into(), cache_key: "key".into(), cache_ttl: 600, ..query(channel) }
}

#[tokio::test]
async fn a_second_query_with_the_key_is_answered_without_a_responder() {
    let stand = Stand::new().await;
    stand.serve(stand.queries("orders", "").await, done);
    let first = stand.ask(cached("orders", "1")).await.expect("a reply");
    assert!(!first.cache_hit);
    let second =
        stand.ask(Request { body: b"other".to_vec(), ..cached("orders", "2") }).await.expect("a reply");
    assert_eq!(second, Response { request_id: "2".into(), cache_hit: true, ..first });
    let figures = stand.broker.figures();
    assert_eq!((figures.deliveries_total, figures.cache_hits_total, figures.cache_entries), (1, 1, 1));
}

#[tokio::test]
async fn a_key_counts_for_its_channel_only() {
    let stand = Stand::new().await;
    stand.serve(stand.queries("orders", "").await, done);
    stand.serve(stand.queries("stock", "").await, done);
    assert!(!stand.ask(cached("orders", "1")).await.expect("a reply").cache_hit);
    assert!(!stand.ask(cached("stock", "2")).await.expect("a reply").cache_hit);
    assert!(stand.ask(cached("stock", "3")).await.expect("a reply").cache_hit);
}

#[tokio::test]
async fn a_query_that_was_not_executed_is_asked_again() {
    let stand = Stand::new().await;
    let refused = |request: &Request| Response { executed: false, error: "no".into(), ..done(request) };
    stand.serve(stand.queries("orders", "").await, refused);
    for request_id in ["1", "2"] {
        assert!(!stand.ask(cached("orders", request_id)).await.expect("a reply").cache_hit);
    }
    assert_eq!(stand.broker.figures().deliveries_total, 2);
}

#[tokio::test]
async fn a_command_is_never_cached() {
    let stand = Stand::new().await;
    stand.serve(stand.commands("orders", "").await, done);
    for _ in 0..2 {
        let request = Request { cache_key: "key".into(), cache_ttl: 600, ..command("orders") };
        assert!(!stand.ask(request).await.expect("a reply").cache_hit);
    }
    let figures = stand.broker.figures();
    assert_eq!((figures.deliveries_total, figures.cache_entries), (2, 0));
}
