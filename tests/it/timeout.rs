//! `timeout_seconds` as an agent may write it, on a channel without a responder.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::harness::connector::Connector;

#[tokio::test(flavor = "multi_thread")]
async fn one_second_is_one_second_and_the_text_says_so() {
    let connector = Connector::start().await;
    for (tool, word) in [("command_send", "Command"), ("query_send", "Query")] {
        let started = Instant::now();
        let answer = connector
            .agent()
            .call(tool, json!({ "channel": "nobody", "body": "b", "timeout_seconds": 1 }))
            .await;
        let elapsed = started.elapsed();
        assert_eq!(answer.text(0), format!("{word} timed out: no subscriber on channel 'nobody' within 1s"));
        assert!(answer.is_error());
        assert!(elapsed >= Duration::from_secs(1) && elapsed < Duration::from_millis(1_400), "{elapsed:?}");
    }
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_timeout_is_named_and_nothing_is_sent() {
    let connector = Connector::start().await;
    for wrong in [json!(0), json!(-1), json!("x"), json!(1.5), json!([1]), json!(true)] {
        for tool in ["command_send", "query_send"] {
            let arguments = json!({ "channel": "nobody", "body": "b", "timeout_seconds": wrong });
            let answer = connector.agent().call(tool, arguments).await;
            assert!(answer.is_error());
            let text = answer.text(0);
            assert!(text.contains("`timeout_seconds` must be an integer of at least 1"), "{wrong}: {text}");
            assert!(text.contains("nothing was sent"));
        }
    }
    assert_eq!(connector.app().embedded().expect("embedded").figures().requests_total, 0);
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_integer_in_another_dress_is_that_integer() {
    let connector = Connector::start().await;
    let _responder = connector
        .responder(kubemq_mcp::domain::Kind::Command, "orders", crate::harness::connector::echo)
        .await;
    for (written, effective, capped) in [
        (json!("5"), 5, false),
        (json!(5.0), 5, false),
        (json!(300), 300, false),
        (json!(301), 300, true),
        (json!(u64::MAX), 300, true),
        (json!(1e30), 300, true),
        (Value::Null, 10, false),
    ] {
        let arguments = json!({ "channel": "orders", "body": "b", "timeout_seconds": written });
        let answer = connector.agent().call("command_send", arguments).await;
        assert!(!answer.is_error(), "{written}");
        assert_eq!(answer.structured()["timeout_seconds"], effective, "{written}");
        assert_eq!(answer.structured()["timeout_capped"], capped, "{written}");
    }
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_says_in_its_meta_that_it_was_capped() {
    let connector = Connector::with(|config| config.tool.tool_timeout_seconds = 1).await;
    let answer = connector
        .agent()
        .call("query_send", json!({ "channel": "nobody", "body": "b", "timeout_seconds": 40 }))
        .await;
    assert_eq!(answer.text(0), "Query timed out: no subscriber on channel 'nobody' within 1s");
    let meta = &answer.result()["_meta"]["dev.kubemq-mcp/query"];
    assert_eq!((&meta["timeout_seconds"], &meta["timeout_capped"]), (&json!(1), &json!(true)));
    connector.stop().await;
}
