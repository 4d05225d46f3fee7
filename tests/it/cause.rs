//! Every cause that can be reached, provoked for real and read through HTTP: text, `isError`, `structuredContent`.

use futures_util::FutureExt;
use kubemq_mcp::broker::{Answer as Reply, Unfinished};
use kubemq_mcp::domain::Kind;
use serde_json::{Value, json};

use crate::harness::agent::{Agent, Answer};
use crate::harness::connector::{Connector, echo, rejection};
use crate::harness::event::{wait_for, within};
use crate::harness::nowhere::Nowhere;
use crate::harness::raw;
use crate::harness::scripted::Scripted;

/// What a command's answer must say.
struct Expected<'a> {
    cause: &'a str,
    outcome: &'a str,
    executed: Value,
    retry: &'a str,
    text: &'a str,
}

async fn command(agent: &Agent, channel: &str) -> Answer {
    agent.call("command_send", json!({ "channel": channel, "body": "b", "timeout_seconds": 2 })).await
}

/// Holds an answer against what it must say, and against the schema that `tools/list` shows for it.
async fn expect(agent: &Agent, answer: &Answer, expected: Expected<'_>) {
    let structured = answer.structured();
    assert_eq!(answer.status, 200);
    assert!(answer.text(0).contains(expected.text), "{} is not in {}", expected.text, answer.text(0));
    assert_eq!(answer.is_error(), expected.outcome != "executed", "{structured}");
    assert_eq!(structured["cause"], expected.cause, "{structured}");
    assert_eq!(structured["outcome"], expected.outcome, "{structured}");
    assert_eq!(structured["executed"], expected.executed, "{structured}");
    assert_eq!(structured["retry"], expected.retry, "{structured}");
    let listed = agent.send(Default::default(), r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    let tools = listed.result()["tools"].as_array().expect("a list");
    let schema =
        &tools.iter().find(|tool| tool["name"] == "command_send").expect("it is there")["outputSchema"];
    let validator = jsonschema::draft202012::new(schema).expect("a valid schema");
    let problems: Vec<String> = validator.iter_errors(structured).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{problems:?} in {structured}");
    if answer.is_error() {
        assert!(
            answer.text(1).contains("effect"),
            "the second text speaks of the effect: {}",
            answer.text(1)
        );
    }
}

fn unknown<'a>(cause: &'a str, text: &'a str) -> Expected<'a> {
    Expected { cause, outcome: "unknown", executed: Value::Null, retry: "verify", text }
}

fn not_sent<'a>(cause: &'a str, retry: &'a str, text: &'a str) -> Expected<'a> {
    Expected { cause, outcome: "not_sent", executed: json!(false), retry, text }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_responder_that_does_it_is_completed_and_its_tags_come_back() {
    let connector = Connector::start().await;
    let _responder = connector.responder(Kind::Command, "orders", echo).await;
    let agent = connector.agent();
    let arguments = json!({ "channel": "orders", "body": "b", "tags": { "order": "7" } });
    let answer = agent.call("command_send", arguments).await;
    let expected = Expected {
        cause: "completed",
        outcome: "executed",
        executed: json!(true),
        retry: "none",
        text: "Command executed successfully on channel 'orders'",
    };
    expect(&agent, &answer, expected).await;
    assert_eq!(answer.structured()["tags"], json!({ "order": "7" }));
    assert_eq!(answer.result()["content"].as_array().map(Vec::len), Some(1));
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_text_beside_executed_is_passed_on() {
    let connector = Connector::start().await;
    let answered = |_| Reply { executed: true, error: "low stock".into(), ..Reply::default() };
    let _responder = connector.responder(Kind::Command, "orders", answered).await;
    let answer = command(&connector.agent(), "orders").await;
    assert!(!answer.is_error());
    assert!(answer.text(1).contains("low stock"));
    assert_eq!(answer.structured()["detail"], "low stock");
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_responder_that_refuses_is_rejected_with_its_reason() {
    let connector = Connector::start().await;
    let _responder = connector.responder(Kind::Command, "orders", |_| rejection("out of stock")).await;
    let _query = connector.responder(Kind::Query, "orders", |_| rejection("no such order")).await;
    let agent = connector.agent();
    let expected = Expected {
        cause: "rejected",
        outcome: "rejected",
        executed: json!(false),
        retry: "new_key",
        text: "Command rejected on channel 'orders': out of stock",
    };
    expect(&agent, &command(&agent, "orders").await, expected).await;
    let query = agent.call("query_send", json!({ "channel": "orders", "body": "b" })).await;
    assert_eq!(query.text(0), "Query rejected on channel 'orders': no such order");
    assert!(query.is_error());
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_stays_silent_is_timed_out_by_our_own_deadline() {
    let broker = Scripted::start();
    let connector = Connector::with(|config| {
        config.broker.address = broker.address.to_string();
        config.tool.gateway_buffer_seconds = 1;
    })
    .await;
    let agent = connector.agent();
    let answer = command(&agent, "silent").await;
    let text = "Command timed out: no subscriber on channel 'silent' within 2s";
    expect(&agent, &answer, unknown("timed_out", text)).await;
    let elapsed = answer.structured()["elapsed_ms"].as_u64().expect("a number");
    assert!((3_000..4_500).contains(&elapsed), "{elapsed} ms");
    assert!(answer.text(1).contains("a slow responder looks the same as none"));
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_dies_with_the_call_is_connection_lost() {
    let broker = Scripted::start();
    let connector = Connector::in_front_of(broker.address).await;
    let agent = connector.agent();
    let mut arrived = broker.state.arrived.subscribe();
    let asking = {
        let agent = agent.clone();
        tokio::spawn(async move { command(&agent, "hold").await })
    };
    wait_for(&mut arrived, "the command is at the broker", |count| *count == 1).await;
    // The second connector keeps the schema reachable for the check; the first call is lost with its broker.
    broker.kill();
    let answer = within("an answer", asking).await.expect("no panic");
    expect(&agent, &answer, unknown("connection_lost", "was sent, then its answer was lost")).await;
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_error_after_dispatch_is_broker_failed() {
    let broker = Scripted::start();
    let connector = Connector::in_front_of(broker.address).await;
    let agent = connector.agent();
    let failed = command(&agent, "code.2").await;
    expect(&agent, &failed, unknown("broker_failed", "scripted")).await;
    let early = command(&agent, "error.301").await;
    expect(&agent, &early, unknown("broker_failed", "Error 301: timeout for request message")).await;
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_is_too_large_names_both_sizes() {
    let broker = Scripted::start();
    let connector = Connector::in_front_of(broker.address).await;
    let agent = connector.agent();
    // The broker strips a command's body, so only a message beyond the transport's own limit can be too large.
    let answer = command(&agent, "bytes.4000000").await;
    expect(&agent, &answer, unknown("reply_too_large", "1048576")).await;
    let detail = answer.structured()["detail"].as_str().expect("a detail");
    assert!(detail.contains("4000"), "the size is that of the whole message: {detail}");
    let query = agent.call("query_send", json!({ "channel": "bytes.1048577", "body": "b" })).await;
    assert!(query.is_error());
    assert!(query.text(0).contains("1048577") && query.text(0).contains("1048576"), "{}", query.text(0));
    let fits = agent.call("query_send", json!({ "channel": "bytes.1048576", "body": "b" })).await;
    assert_eq!(fits.text(0).len(), 1_048_576);
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_cannot_be_read_is_reply_invalid() {
    // A message that says it has five bytes of a field that never comes.
    let address = raw::answer_with(&[0, 0, 0, 0, 2, 0x0a, 0x05]).await;
    let connector = Connector::in_front_of(address).await;
    let agent = connector.agent();
    let answer = command(&agent, "orders").await;
    expect(&agent, &answer, unknown("reply_invalid", "the answer cannot be read")).await;
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_not_there_means_nothing_was_sent() {
    let nowhere = Nowhere::new();
    let connector = Connector::in_front_of(nowhere.address).await;
    let agent = connector.agent();
    let answer = command(&agent, "orders").await;
    expect(&agent, &answer, not_sent("broker_unavailable", "again", "the broker is not reachable")).await;
    let (status, ready) = agent.get("/readyz").await;
    assert_eq!(status, 503, "{ready}");
    assert_eq!(agent.get("/healthz").await.0, 200, "alive, though not ready");
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_says_no_is_broker_refused() {
    let broker = Scripted::start();
    let connector = Connector::in_front_of(broker.address).await;
    let agent = connector.agent();
    for (channel, text) in [
        ("error.412", "access denied to resource"),
        ("error.421", "token is expired"),
        ("error.101", "Error 101"),
    ] {
        let answer = command(&agent, channel).await;
        expect(&agent, &answer, not_sent("broker_refused", "after_fix", text)).await;
    }
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_arguments_and_reserved_channels_go_nowhere() {
    let broker = Scripted::start();
    let connector = Connector::in_front_of(broker.address).await;
    let agent = connector.agent();
    let wrong = agent.call("command_send", json!({ "chanel": "orders", "body": "b" })).await;
    let text = "unknown argument `chanel`, did you mean `channel`?";
    expect(&agent, &wrong, not_sent("invalid_arguments", "after_fix", text)).await;
    let reserved = command(&agent, "_AGENTS_.x").await;
    let text = "Channel '_AGENTS_.x' uses a reserved prefix";
    expect(&agent, &reserved, not_sent("reserved_channel", "after_fix", text)).await;
    assert_eq!(*broker.state.arrived.borrow(), 0);
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_limit_on_what_is_in_flight_answers_overloaded() {
    let broker = Scripted::start();
    let connector = Connector::with(|config| {
        config.broker.address = broker.address.to_string();
        config.channel.requests_pending_per_channel_max = 2;
        config.channel.requests_pending_max = 3;
        config.channel.channels_alive_max = 2;
    })
    .await;
    let agent = connector.agent();
    let mut held = Vec::new();
    for channel in ["hold", "hold", "hold.other"] {
        let agent = agent.clone();
        held.push(tokio::spawn(async move { command(&agent, channel).await }));
    }
    connector.until_pending(3).await;
    let limits = [
        ("hold", "channel.requests_pending_per_channel_max"),
        ("hold.other", "channel.requests_pending_max"),
        // Both channels are at work, so neither leaves for a third.
        ("echo.third", "channel.channels_alive_max"),
    ];
    for (channel, limit) in limits {
        let answer = command(&agent, channel).await;
        expect(&agent, &answer, not_sent("overloaded", "again", limit)).await;
        assert_eq!(answer.structured()["retry_after_seconds"], 1);
    }
    broker.release();
    for answer in futures_util::future::join_all(held).await {
        assert!(!answer.expect("no panic").is_error());
    }
    assert!(!command(&agent, "hold").await.is_error(), "room comes back");
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_agent_ever_sent_is_not_promised_by_a_query_either() {
    let broker = Scripted::start();
    let connector = Connector::in_front_of(broker.address).await;
    let answer = connector.agent().call("query_send", json!({ "channel": "code.2", "body": "b" })).await;
    assert!(answer.is_error());
    let meta = &answer.result()["_meta"]["dev.kubemq-mcp/query"];
    assert_eq!((&meta["cause"], &meta["retry"]), (&json!("broker_failed"), &json!("verify")));
    assert!(answer.result().get("structuredContent").is_none());
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_tells_what_is_known_beside_its_body() {
    let connector = Connector::start().await;
    let answered = |_| Reply {
        executed: true,
        body: "ä{".into(),
        metadata: "m".into(),
        tags: [("a".to_owned(), "b".to_owned())].into(),
        ..Reply::default()
    };
    let _responder = connector.responder(Kind::Query, "orders", answered).await;
    let answer = connector.agent().call("query_send", json!({ "channel": "orders", "body": "b" })).await;
    assert_eq!(answer.text(0), "ä{");
    let meta = &answer.result()["_meta"]["dev.kubemq-mcp/query"];
    assert_eq!(
        (&meta["metadata"], &meta["tags"], &meta["cache_hit"]),
        (&json!("m"), &json!({"a": "b"}), &json!(false))
    );
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_with_another_request_id_counts_all_the_same() {
    let broker = Scripted::start();
    let connector = Connector::in_front_of(broker.address).await;
    let agent = connector.agent();
    let mismatched = async || {
        let (_, metrics) = agent.get("/metrics").await;
        let line = metrics.lines().find(|line| line.starts_with("kubemq_mcp_replies_mismatched_total"));
        line.and_then(|line| line.split(' ').next_back())
            .expect("it is there")
            .parse::<u64>()
            .expect("a number")
    };
    let before = mismatched().await;
    // `bytes` answers with an empty id, `echo` with ours, `other-id` with neither; all are taken.
    for channel in ["bytes.3", "echo", "other-id"] {
        let answer = agent.call("query_send", json!({ "channel": channel, "body": "b" })).await;
        assert!(!answer.is_error());
    }
    assert!(mismatched().await > before, "it is counted");
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_responder_that_dies_over_a_command_leaves_its_outcome_unknown() {
    let connector = Connector::start().await;
    let panics = std::sync::Arc::new(|_| async { panic!("on purpose") }.boxed());
    let gives_up = std::sync::Arc::new(|_| async { Err(Unfinished("on purpose".into())) }.boxed());
    let _responders = [
        connector.handler(Kind::Command, "panics", panics).await,
        connector.handler(Kind::Command, "gives-up", gives_up).await,
    ];
    let agent = connector.agent();
    for channel in ["panics", "gives-up"] {
        let answer = command(&agent, channel).await;
        expect(&agent, &answer, unknown("timed_out", "Command timed out")).await;
    }
    connector.stop().await;
}
