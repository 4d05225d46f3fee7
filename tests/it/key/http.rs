//! What an agent sees of keys: through HTTP, with the published texts and schemas.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kubemq_mcp::broker::{Answer as Answered, Asked, Responder};
use kubemq_mcp::domain::Kind;
use kubemq_mcp::mcp::ChannelRule;
use serde_json::{Value, json};

use crate::harness::agent::{Agent, Answer};
use crate::harness::connector::{Connector, echo, rejection};

async fn send(agent: &Agent, key: &str) -> Answer {
    let arguments = json!({ "channel": "orders", "body": "b", "timeout_seconds": 5, "idempotency_key": key });
    agent.call("command_send", arguments).await
}

/// The answer of a tool, held against the schema that `tools/list` shows for it.
async fn checked(agent: &Agent, tool: &str, answer: Answer) -> Answer {
    let listed = agent.send(Default::default(), r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    let tools = listed.result()["tools"].as_array().expect("a list").clone();
    let schema = &tools.iter().find(|listed| listed["name"] == tool).expect("it is there")["outputSchema"];
    let validator = jsonschema::draft202012::new(schema).expect("a valid schema");
    let problems: Vec<String> =
        validator.iter_errors(answer.structured()).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{problems:?} in {}", answer.structured());
    answer
}

async fn status(agent: &Agent, key: &str) -> Answer {
    let answer = agent.call("command_status", json!({ "idempotency_key": key })).await;
    checked(agent, "command_status", answer).await
}

/// A connector whose responder on `orders` counts what it gets and answers as told.
async fn counted(answer: fn(Asked) -> Answered) -> (Connector, Responder, Arc<AtomicUsize>) {
    let connector = Connector::start().await;
    let count = Arc::new(AtomicUsize::new(0));
    let counter = count.clone();
    let counting = move |asked| {
        counter.fetch_add(1, Ordering::SeqCst);
        answer(asked)
    };
    let responder = connector.responder(Kind::Command, "orders", counting).await;
    (connector, responder, count)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_reads_as_the_first_answer_and_says_that_it_is_one() {
    let (connector, responder, count) = counted(echo).await;
    let agent = connector.agent();
    let first = send(&agent, "k").await;
    assert_eq!(first.text(0), "Command executed successfully on channel 'orders'");
    assert_eq!(first.structured()["replayed"], false);
    assert_eq!(first.structured()["recorded"], true);
    // The key travels to the responder, and comes back with its tags.
    assert_eq!(first.structured()["tags"]["x-idempotency-key"], "k");
    let again = checked(&agent, "command_send", send(&agent, "k").await).await;
    assert_eq!(again.text(0), first.text(0));
    assert!(again.text(1).starts_with("Replayed: sent at ") && again.text(1).contains("not sent again"));
    assert_eq!(again.structured()["replayed"], true);
    for name in
        ["outcome", "executed", "cause", "request_id", "tags", "responder", "first_sent_at", "expires_at"]
    {
        assert_eq!(again.structured()[name], first.structured()[name], "{name}");
    }
    assert_eq!(count.load(Ordering::SeqCst), 1);
    responder.stop().await;
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replayed_rejection_keeps_its_texts() {
    let (connector, responder, _) = counted(|_| rejection("no such order")).await;
    let agent = connector.agent();
    let first = send(&agent, "k").await;
    let again = send(&agent, "k").await;
    assert_eq!(first.text(0), "Command rejected on channel 'orders': no such order");
    assert_eq!((again.text(0), again.text(1)), (first.text(0), first.text(1)));
    assert!(again.text(2).starts_with("Replayed: "), "{again:?}");
    assert!(again.is_error());
    responder.stop().await;
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_and_a_doubt_are_told_with_their_texts() {
    let (connector, responder, _) = counted(echo).await;
    let agent = connector.agent();
    send(&agent, "k").await;
    let other = json!({ "channel": "orders", "body": "other", "idempotency_key": "k" });
    let conflict = checked(&agent, "command_send", agent.call("command_send", other).await).await;
    assert_eq!(conflict.structured()["cause"], "key_conflict");
    assert_eq!(conflict.structured()["retry"], "after_fix");
    let silent = json!({ "channel": "nobody", "body": "b", "timeout_seconds": 1, "idempotency_key": "d" });
    let first = agent.call("command_send", silent.clone()).await;
    assert_eq!(first.text(0), "Command timed out: no subscriber on channel 'nobody' within 1s");
    let doubt = checked(&agent, "command_send", agent.call("command_send", silent).await).await;
    assert_eq!(doubt.structured()["cause"], "in_doubt");
    assert_eq!(doubt.structured()["executed"], Value::Null);
    assert_eq!(doubt.structured()["request_id"], first.structured()["request_id"]);
    assert!(doubt.text(1).contains("timed_out"), "{doubt:?}");
    responder.stop().await;
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn command_status_tells_each_state_and_touches_nothing() {
    let (connector, responder, count) = counted(|asked| match asked.body.as_slice() {
        b"no" => rejection("no such order"),
        _ => echo(asked),
    })
    .await;
    let agent = connector.agent();
    let absent = status(&agent, "never").await;
    assert_eq!((absent.structured()["state"].as_str(), absent.is_error()), (Some("absent"), false));
    assert!(absent.text(0).starts_with("absent: "), "{absent:?}");
    let sent = send(&agent, "yes").await;
    let executed = status(&agent, "yes").await;
    assert_eq!(executed.structured()["state"], "executed");
    assert_eq!(executed.structured()["attempts"], 1);
    for name in ["request_id", "first_sent_at", "expires_at", "executed", "channel"] {
        assert_eq!(executed.structured()[name], sent.structured()[name], "{name}");
    }
    agent.call("command_send", json!({ "channel": "orders", "body": "no", "idempotency_key": "no" })).await;
    let rejected = status(&agent, "no").await;
    assert_eq!(
        (&rejected.structured()["state"], &rejected.structured()["executed"]),
        (&json!("rejected"), &json!(false))
    );
    assert_eq!(rejected.structured()["detail"], "no such order");
    let slow = json!({ "channel": "nobody", "body": "b", "timeout_seconds": 1, "idempotency_key": "slow" });
    let running = agent.call("command_send", slow);
    tokio::pin!(running);
    loop {
        // The command is driven on while its status is asked for.
        tokio::select! {
            biased;
            _ = &mut running => panic!("it was never seen in progress"),
            seen = status(&agent, "slow") => {
                if seen.structured()["state"] == "in_progress" {
                    assert_eq!(seen.structured()["expires_at"], Value::Null);
                    break;
                }
            }
        }
    }
    running.await;
    let doubt = status(&agent, "slow").await;
    assert_eq!(
        (&doubt.structured()["state"], &doubt.structured()["executed"]),
        (&json!("in_doubt"), &Value::Null)
    );
    assert_eq!(count.load(Ordering::SeqCst), 2);
    let wrong = agent.call("command_status", json!({ "key": "k" })).await;
    assert!(wrong.is_error() && wrong.text(0).contains("`idempotency_key` is required"), "{wrong:?}");
    responder.stop().await;
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_key_is_refused_where_it_is_mandatory_and_the_list_says_so() {
    let connector = Connector::with(|config| config.tool.require_key = true).await;
    let agent = connector.agent();
    let refused = agent.call("command_send", json!({ "channel": "orders", "body": "b" })).await;
    assert_eq!(refused.structured()["cause"], "invalid_arguments");
    assert!(refused.text(0).contains("`idempotency_key` is required"), "{refused:?}");
    let listed = agent.send(Default::default(), r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    let tool = &listed.result()["tools"][2];
    assert_eq!(tool["annotations"]["idempotentHint"], true);
    assert!(tool["inputSchema"]["required"].as_array().expect("a list").contains(&json!("idempotency_key")));
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_may_demand_keys_of_its_own() {
    let connector = Connector::with(|config| {
        config.channels = vec![ChannelRule {
            pattern: kubemq_mcp::domain::ChannelPattern::parse("orders.>").expect("a pattern"),
            tool_timeout_seconds: None,
            require_key: Some(true),
            resend_in_doubt: false,
        }];
    })
    .await;
    let agent = connector.agent();
    let refused = agent.call("command_send", json!({ "channel": "orders.eu", "body": "b" })).await;
    assert!(refused.text(0).contains("`idempotency_key` is required"), "{refused:?}");
    let free = json!({ "channel": "lamps", "body": "b", "timeout_seconds": 1 });
    assert_eq!(agent.call("command_send", free).await.structured()["cause"], "timed_out");
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_before_the_key_was_looked_up_says_so() {
    let connector = Connector::start().await;
    let agent = connector.agent();
    let unclear = json!({ "channel": "orders", "body": ["b"], "idempotency_key": "k" });
    let refused = checked(&agent, "command_send", agent.call("command_send", unclear).await).await;
    assert_eq!(refused.structured()["outcome"], "not_sent");
    assert_eq!(refused.structured()["executed"], Value::Null);
    assert!(refused.text(1).contains("was not looked up"), "{refused:?}");
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_is_told_under_limits_that_were_changed_since() {
    let store = tempfile::tempdir().expect("a temporary directory");
    let path = store.path().join("data");
    let first = Connector::with(|config| config.store.path = path.clone()).await;
    let responder = first.responder(Kind::Command, "orders", echo).await;
    let body = "x".repeat(2_000);
    let call = json!({ "channel": "orders", "body": body, "timeout_seconds": 250, "idempotency_key": "k" });
    let sent = first.agent().call("command_send", call.clone()).await;
    assert_eq!(sent.structured()["cause"], "completed");
    responder.stop().await;
    first.stop().await;
    let strict = Connector::with(|config| {
        config.store.path = path.clone();
        config.tool.body_bytes_max = 1_000;
        config.tool.tool_timeout_seconds = 5;
        config.tool.require_key = true;
    })
    .await;
    let mut late = call.clone();
    late["timeout_seconds"] = json!("never");
    for call in [call, late] {
        let replayed = strict.agent().call("command_send", call).await;
        assert_eq!(replayed.structured()["replayed"], true, "{replayed:?}");
        assert_eq!(replayed.structured()["request_id"], sent.structured()["request_id"]);
    }
    let new = json!({ "channel": "orders", "body": body, "idempotency_key": "new" });
    let refused = strict.agent().call("command_send", new).await;
    assert_eq!(refused.structured()["cause"], "invalid_arguments");
    assert_eq!(refused.structured()["executed"], false, "the key was looked up and is new");
    strict.stop().await;
}
