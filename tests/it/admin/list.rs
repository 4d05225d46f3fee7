//! Many keys, piece by piece.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::join_all;
use kubemq_mcp::broker::Answer;
use kubemq_mcp::domain::Kind;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{Operator, message};
use crate::harness::connector::{Connector, echo, rejection};

/// How many keys are made in each state; 251 in all.
const COUNTS: [(&str, usize); 4] =
    [("executed", 150), ("rejected", 60), ("in_doubt", 40), ("in_progress", 1)];

async fn pieces(operator: &Operator, query: &str) -> (usize, Vec<Value>) {
    let (mut count, mut keys, mut after) = (0, Vec::new(), String::new());
    loop {
        let (status, piece) = operator.get(&format!("/admin/keys?{query}&after={after}")).await;
        assert_eq!(status, 200, "{piece}");
        count += 1;
        keys.extend(piece["keys"].as_array().expect("a list").iter().cloned());
        match piece["next"].as_str() {
            Some(next) => after = next.to_owned(),
            None => return (count, keys),
        }
    }
}

fn states(keys: &[Value]) -> BTreeMap<&str, usize> {
    let mut states = BTreeMap::new();
    for key in keys {
        *states.entry(key["state"].as_str().expect("a word")).or_default() += 1;
    }
    states
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_every_state_are_listed_once_each_whatever_the_size_of_a_piece() {
    let connector = Connector::start().await;
    let gate = Arc::new(Semaphore::new(0));
    let held = gate.clone();
    let slow = move |asked| {
        let held = held.clone();
        async move { Ok(held.acquire().await.map_or_else(|_| Answer::default(), |_| echo(asked))) }.boxed()
    };
    let responders = [
        connector.responder(Kind::Command, "executed", echo).await,
        connector.responder(Kind::Command, "rejected", |_| rejection("no")).await,
        connector.handler(Kind::Command, "in_progress", Arc::new(slow)).await,
    ];
    let agent = connector.agent();
    let send = |channel: &'static str, index: usize| {
        let (agent, seconds) = (agent.clone(), if channel == "in_doubt" { 1 } else { 60 });
        let key = format!("{channel}-{index}");
        let call =
            json!({ "channel": channel, "body": "b", "timeout_seconds": seconds, "idempotency_key": key });
        async move { agent.call("command_send", call).await }
    };
    let running = tokio::spawn(send("in_progress", 0));
    for (channel, count) in &COUNTS[..3] {
        join_all((0..*count).map(|index| send(channel, index))).await;
    }
    connector.until_pending(1).await;

    let operator = Operator::of(&connector);
    for limit in [7, 100, 1000] {
        let (count, keys) = pieces(&operator, &format!("limit={limit}")).await;
        assert_eq!(states(&keys), BTreeMap::from(COUNTS), "limit {limit}");
        assert_eq!(count, 251 / limit + 1, "limit {limit}");
        let names: std::collections::HashSet<&str> =
            keys.iter().filter_map(|key| key["key"].as_str()).collect();
        assert_eq!(names.len(), 251, "each once");
    }
    for (state, count) in COUNTS {
        let (_, keys) = pieces(&operator, &format!("state={state}&limit=20&principal=anonymous")).await;
        assert_eq!(states(&keys), BTreeMap::from([(state, count)]));
    }
    let (_, usual) = operator.get("/admin/keys").await;
    assert_eq!(usual["keys"].as_array().map(Vec::len), Some(100));
    assert_eq!(pieces(&operator, "principal=alice").await.1.len(), 0);

    gate.add_permits(1);
    let _ = running.await.expect("no panic");
    for responder in responders {
        responder.stop().await;
    }
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_parameter_is_named_with_what_would_be_right() {
    let connector = Connector::start().await;
    let operator = Operator::of(&connector);
    for (query, part) in [
        ("limit=0", "`limit` must be a number from 1 to 1000"),
        ("state=doubt", "unknown state `doubt`"),
        ("sate=in_doubt", "unknown parameter `sate`, the nearest is `state`"),
        ("after=xyz", "`after` must be the `next` of an earlier list"),
        ("limit=1&limit=2", "the parameter `limit` comes twice"),
    ] {
        let (status, refused) = operator.get(&format!("/admin/keys?{query}")).await;
        assert!(status == 400 && message(&refused).contains(part), "{refused}");
    }
    connector.stop().await;
}
