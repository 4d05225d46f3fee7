//! How much one caller may do, over HTTP: what is refused says when to come again, and what one caller has used up the
//! others still have.

use std::sync::Arc;

use futures_util::FutureExt;
use kubemq_mcp::access::Mode;
use kubemq_mcp::broker::Handler;
use kubemq_mcp::domain::Kind;
use serde_json::{Value, json};

use crate::harness::agent::{Agent, Era};
use crate::harness::connector::{Connector, echo};
use crate::harness::event::within;
use crate::token::File;

async fn connector(file: &File, change: impl FnOnce(&mut kubemq_mcp::access::LimitConfig)) -> Connector {
    let path = file.path().to_owned();
    Connector::with(|config| {
        config.auth.mode = Mode::Tokens;
        config.auth.tokens_file = path;
        config.auth.token_required = false;
        change(&mut config.limits);
    })
    .await
}

fn command(channel: &str, key: Option<&str>) -> Value {
    let mut call = json!({ "channel": channel, "body": "b", "timeout_seconds": 20 });
    if let Some(key) = key {
        call["idempotency_key"] = key.into();
    }
    call
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_beyond_its_rate_is_told_when_to_come_again_and_others_are_served() {
    let file = File::new();
    let token = file.add_with("alice", |_| {});
    let connector = connector(&file, |limits| {
        limits.calls_per_second = 1;
        limits.calls_burst = 3;
    })
    .await;
    let responder = connector.responder(Kind::Command, "orders", echo).await;
    let alice = Agent::with_token(connector.agent().url(), &token);
    for _ in 0..3 {
        let answer = alice.call("command_send", command("orders", None)).await;
        assert_eq!(answer.structured()["cause"], "completed", "{answer:?}");
    }
    for (era, key) in [(Era::Plain, None), (Era::Modern, Some("k"))] {
        let answer = alice.call_in(era, "command_send", command("orders", key)).await;
        let told = answer.structured();
        assert_eq!(
            (&told["cause"], &told["outcome"]),
            (&json!("rate_limited"), &json!("not_sent")),
            "{told}"
        );
        assert_eq!((&told["retry"], &told["retry_after_seconds"]), (&json!("again"), &json!(1)), "{told}");
        let executed = if key.is_some() { Value::Null } else { json!(false) };
        assert_eq!(told["executed"], executed, "what an earlier call with a key did was not looked up");
        assert!(answer.text(0).contains("limits.calls_per_second"), "{answer:?}");
    }
    let query = alice.call("query_send", json!({ "channel": "orders", "body": "b" })).await;
    let meta = &query.body["result"]["_meta"]["dev.kubemq-mcp/query"];
    assert_eq!((&meta["cause"], &meta["retry_after_seconds"]), (&json!("rate_limited"), &json!(1)), "{meta}");
    let other = connector.agent().call("command_send", command("orders", None)).await;
    assert_eq!(other.structured()["cause"], "completed", "anonymous has used nothing: {other:?}");
    let again = async {
        while alice.call("command_send", command("orders", None)).await.structured()["cause"] != "completed" {
        }
    };
    within("the rate lets the caller in again", again).await;
    responder.stop().await;
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_caller_cannot_take_all_the_room_not_even_by_leaving() {
    let file = File::new();
    let token = file.add_with("flood", |_| {});
    let connector = connector(&file, |limits| limits.calls_pending_per_principal_max = 2).await;
    let responder = connector.responder(Kind::Command, "orders", echo).await;
    let (release, held) = tokio::sync::watch::channel(false);
    let (arrived, arrivals) = tokio::sync::watch::channel(0);
    let holding: Handler = Arc::new(move |asked| {
        let mut held = held.clone();
        arrived.send_modify(|count| *count += 1);
        async move {
            let _ = held.wait_for(|released| *released).await;
            Ok(echo(asked))
        }
        .boxed()
    });
    let holder = connector.handler(Kind::Command, "held", holding).await;
    let flood = Agent::with_token(connector.agent().url(), &token);
    for pending in [1, 2] {
        let agent = flood.clone();
        let call = tokio::spawn(async move {
            agent.try_call(Era::Modern, "command_send", command("held", None)).await.map(drop)
        });
        // Only what has left goes on without its agent.
        let mut arrivals = arrivals.clone();
        within("the command", arrivals.wait_for(|count| *count == pending)).await.expect("it is held");
        call.abort();
    }
    for tool in ["command_send", "query_send"] {
        let answer = flood.call(tool, json!({ "channel": "orders", "body": "b" })).await;
        assert!(
            answer.is_error() && answer.text(0).contains("calls_pending_per_principal_max"),
            "{answer:?}"
        );
    }
    let other = connector.agent().call("command_send", command("orders", None)).await;
    assert_eq!(other.structured()["cause"], "completed", "{other:?}");
    let (_, metrics) = connector.agent().get("/metrics").await;
    let refused =
        metrics.lines().find(|line| line.starts_with("kubemq_mcp_calls_limited_total{limit=\"pending\"}"));
    assert!(refused.is_some_and(|line| !line.ends_with(" 0")), "{metrics}");
    release.send(true).expect("it is held");
    connector.until_pending(0).await;
    let again = flood.call("command_send", command("orders", None)).await;
    assert_eq!(again.structured()["cause"], "completed", "what has ended counts no more: {again:?}");
    holder.stop().await;
    responder.stop().await;
    connector.stop().await;
}
