//! Who may do what: principal × tool × channel × mode, over HTTP on both paths and over stdio. What is denied reaches no
//! responder, and an answer tells denied, absent and read-only apart.

mod explain;
mod stdio;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use kubemq_mcp::access::{Entry, Mode};
use kubemq_mcp::domain::Kind;
use serde_json::{Value, json};

use crate::harness::agent::{Agent, Answer, Era};
use crate::harness::connector::{Connector, echo};
use crate::token::File;

/// The entries of a test, as the file has them.
pub fn entries(value: Value) -> Vec<Entry> {
    serde_json::from_value(value).expect("the entries are right")
}

/// A connector with two callers, responders on two channels, and a note of what reached them.
struct Place {
    connector: Connector,
    _file: File,
    callers: Vec<(&'static str, Agent)>,
    seen: Arc<Mutex<Vec<(Kind, String)>>>,
    responders: Vec<kubemq_mcp::broker::Responder>,
}

const CHANNELS: [&str; 3] = ["orders.eu", "orders.secret", "billing"];

impl Place {
    async fn new(policy: Value, read_only: bool) -> Self {
        let file = File::new();
        let tokens = [
            ("alice", file.add_with("alice", |_| {})),
            ("bob", file.add_with("bob", |grant| grant.subject.groups = vec!["ops".to_owned()].into())),
            ("preview", file.add_with("preview", |grant| grant.subject.read_only = true)),
        ];
        let path = file.path().to_owned();
        let connector = Connector::with(|config| {
            config.auth.mode = Mode::Tokens;
            config.auth.tokens_file = path;
            config.auth.token_required = false;
            config.policy = entries(policy);
            config.server.read_only = read_only;
        })
        .await;
        let seen: Arc<Mutex<Vec<(Kind, String)>>> = Arc::default();
        let mut responders = Vec::new();
        for channel in CHANNELS {
            for kind in [Kind::Query, Kind::Command] {
                let seen = Arc::clone(&seen);
                let noted = move |asked| {
                    seen.lock().unwrap_or_else(PoisonError::into_inner).push((kind, channel.to_owned()));
                    echo(asked)
                };
                responders.push(connector.responder(kind, channel, noted).await);
            }
        }
        let url = connector.agent().url().to_owned();
        let mut callers = vec![("anonymous", connector.agent())];
        callers.extend(tokens.map(|(name, token)| (name, Agent::with_token(&url, &token))));
        Self { connector, _file: file, callers, seen, responders }
    }

    fn agent(&self, name: &str) -> &Agent {
        &self.callers.iter().find(|(caller, _)| *caller == name).expect("a caller of ours").1
    }

    fn take_seen(&self) -> Vec<(Kind, String)> {
        std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn stop(self) {
        for responder in self.responders {
            responder.stop().await;
        }
        self.connector.stop().await;
    }
}

fn cause(answer: &Answer) -> &str {
    let result = &answer.body["result"];
    let query = &result["_meta"]["dev.kubemq-mcp/query"]["cause"];
    query.as_str().or(result["structuredContent"]["cause"].as_str()).unwrap_or_else(|| panic!("{answer:?}"))
}

/// What a caller may do, as the table of the test has it.
type Row = (&'static str, &'static str, &'static [&'static str]);

/// Calls every tool on every channel as everybody, and compares with the rows; whatever is not in one is denied.
async fn holds(place: &Place, allowed: &[Row], denial: &str) {
    for (name, agent) in &place.callers {
        for tool in ["query_send", "command_send"] {
            for channel in CHANNELS {
                for era in [Era::Plain, Era::Modern] {
                    let call = json!({ "channel": channel, "body": "b", "timeout_seconds": 5 });
                    let answer = agent.call_in(era, tool, call).await;
                    let may = allowed
                        .iter()
                        .any(|(who, what, on)| who == name && *what == tool && on.contains(&channel));
                    let expected = if may { "completed" } else { "forbidden" };
                    assert_eq!(cause(&answer), expected, "{name} {tool} {channel}: {answer:?}");
                    assert_eq!(place.take_seen().len(), usize::from(may), "{name} {tool} {channel}");
                    if !may && !denial.is_empty() {
                        assert!(answer.text(0).contains(denial), "{name} {tool}: {answer:?}");
                        assert!(answer.is_error());
                    }
                }
            }
        }
    }
}

async fn listed(agent: &Agent, era: Era) -> (BTreeSet<String>, Value) {
    let answer = agent.list(era).await;
    let tools = answer.body["result"]["tools"].as_array().expect("a list").clone();
    let names = tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect();
    (names, answer.body["result"]["cacheScope"].clone())
}

const ALL: &[&str] = &CHANNELS;

#[tokio::test(flavor = "multi_thread")]
async fn without_a_policy_everybody_but_a_read_only_token_may_do_everything() {
    let place = Place::new(json!([]), false).await;
    let rows = ["anonymous", "alice", "bob"].map(|name| (name, "command_send", ALL));
    let mut rows = rows.to_vec();
    rows.extend(["anonymous", "alice", "bob", "preview"].map(|name| (name, "query_send", ALL)));
    holds(&place, &rows, "the token of this call is read-only").await;
    let (names, scope) = listed(place.agent("preview"), Era::Modern).await;
    assert_eq!(names, BTreeSet::from(["command_status".into(), "query_send".into()]));
    assert_eq!(scope, "private");
    place.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_allows_what_it_says_and_nothing_else() {
    let policy = json!([
        { "who": "alice", "tools": ["queries", "command_send"], "channels": ["orders.*"],
          "deny_channels": ["orders.secret"] },
        { "who": "group:ops", "tools": ["command_send", "command_status"], "channels": [">"] },
        { "who": "*", "tools": ["query_send"], "channels": ["billing"] },
    ]);
    let place = Place::new(policy, false).await;
    let rows: [Row; 7] = [
        ("alice", "query_send", &["orders.eu", "billing"]),
        ("alice", "command_send", &["orders.eu"]),
        ("bob", "command_send", ALL),
        ("bob", "query_send", &["billing"]),
        ("anonymous", "query_send", &["billing"]),
        ("preview", "query_send", &["billing"]),
        ("preview", "command_send", &[]),
    ];
    holds(&place, &rows, "").await;
    for era in [Era::Plain, Era::Modern] {
        let names = async |name: &str| listed(place.agent(name), era).await.0.into_iter().collect::<Vec<_>>();
        assert_eq!(names("alice").await, ["command_send", "command_status", "query_send"]);
        assert_eq!(names("bob").await, ["command_send", "command_status", "query_send"]);
        assert_eq!(names("anonymous").await, ["query_send"]);
    }
    let denied =
        place.agent("alice").call("command_send", json!({ "channel": "billing", "body": "b" })).await;
    assert!(denied.text(0).contains("the policy of this connector does not allow it"), "{denied:?}");
    let denied =
        place.agent("preview").call("command_send", json!({ "channel": "billing", "body": "b" })).await;
    assert!(denied.text(0).contains("the token of this call is read-only"), "{denied:?}");
    let absent = place.agent("alice").call("queue_purge", json!({})).await;
    assert_eq!(absent.body["error"]["code"], -32602, "what does not exist is no denial: {absent:?}");
    let status = json!({ "idempotency_key": "k" });
    let denied = place.agent("anonymous").call("command_status", status.clone()).await;
    assert!(denied.is_error() && denied.text(0).contains("the policy of this connector"), "{denied:?}");
    assert_eq!(place.agent("alice").call("command_status", status).await.structured()["state"], "absent");
    place.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_connector_serves_queries_whoever_asks() {
    let place = Place::new(json!([]), true).await;
    let rows = ["anonymous", "alice", "bob", "preview"].map(|name| (name, "query_send", ALL));
    holds(&place, &rows, "this connector is read-only").await;
    for name in ["alice", "anonymous"] {
        let (names, _) = listed(place.agent(name), Era::Plain).await;
        assert_eq!(names, BTreeSet::from(["command_status".into(), "query_send".into()]), "{name}");
    }
    place.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_gives_a_caller_queries_only() {
    let policy = json!([
        { "who": "*", "tools": ["*"], "channels": [">"] },
        { "who": "group:ops", "read_only": true },
    ]);
    let place = Place::new(policy, false).await;
    let mut rows = ["anonymous", "alice"].map(|name| (name, "command_send", ALL)).to_vec();
    rows.extend(["anonymous", "alice", "bob", "preview"].map(|name| (name, "query_send", ALL)));
    holds(&place, &rows, "").await;
    let denied = place.agent("bob").call("command_send", json!({ "channel": "billing", "body": "b" })).await;
    assert!(denied.text(0).contains("allows this caller queries only"), "{denied:?}");
    place.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_key_of_two_callers_is_two_commands_each_under_its_own_policy() {
    let policy = json!([
        { "who": "alice", "tools": ["command_send"], "channels": ["orders.*"] },
        { "who": "group:ops", "tools": ["command_send"], "channels": ["orders.*"], "require_key": true,
          "tool_timeout_seconds": 7, "body_bytes_max": 3 },
    ]);
    let place = Place::new(policy, false).await;
    let call =
        json!({ "channel": "orders.eu", "body": "b", "idempotency_key": "shared", "timeout_seconds": 60 });
    for (name, timeout) in [("alice", 60), ("bob", 7)] {
        let first = place.agent(name).call("command_send", call.clone()).await;
        let told = first.structured();
        assert_eq!((&told["cause"], &told["replayed"]), (&json!("completed"), &json!(false)), "{told}");
        assert_eq!(told["timeout_seconds"], timeout);
        assert_eq!(place.take_seen().len(), 1);
        let again = place.agent(name).call("command_send", call.clone()).await;
        assert_eq!(again.structured()["replayed"], true);
    }
    assert!(place.take_seen().is_empty(), "a replay sends nothing");
    let anonymous = place.agent("anonymous").call("command_send", call.clone()).await;
    let told = anonymous.structured();
    assert_eq!((&told["cause"], &told["executed"]), (&json!("forbidden"), &Value::Null), "{told}");
    let long = json!({ "channel": "orders.eu", "body": "long", "idempotency_key": "k" });
    let refused = place.agent("bob").call("command_send", long).await;
    assert!(refused.text(0).contains("`body` must be at most 3 bytes long"), "{refused:?}");
    let keyless =
        place.agent("bob").call("command_send", json!({ "channel": "orders.eu", "body": "b" })).await;
    assert!(keyless.text(0).contains("`idempotency_key` is required here"), "{keyless:?}");
    place.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_is_told_under_a_policy_that_was_narrowed_since_and_not_under_one_that_denies() {
    let directory = tempfile::tempdir().expect("room");
    let life = async |policy: Value| {
        let store = directory.path().join("store");
        Connector::with(|config| {
            config.store.path = store;
            config.policy = entries(policy);
        })
        .await
    };
    let open = json!([{ "who": "*", "tools": ["*"], "channels": [">"] }]);
    let call = json!({ "channel": "orders", "body": "body", "timeout_seconds": 60, "idempotency_key": "k" });
    let first = life(open.clone()).await;
    let responder = first.responder(Kind::Command, "orders", echo).await;
    let sent = first.agent().call("command_send", call.clone()).await;
    let request_id = sent.structured()["request_id"].clone();
    responder.stop().await;
    first.stop().await;

    // Nobody answers here: whatever is told comes from the store.
    let narrow = json!([{ "who": "*", "tools": ["*"], "channels": [">"], "body_bytes_max": 1, "tool_timeout_seconds": 1 }]);
    let second = life(narrow).await;
    let replayed = second.agent().call("command_send", call.clone()).await;
    let told = replayed.structured();
    assert_eq!((&told["outcome"], &told["replayed"]), (&json!("executed"), &json!(true)), "{told}");
    assert_eq!(told["request_id"], request_id);
    second.stop().await;

    let denying = json!([open[0].clone(), { "who": "*", "deny_channels": ["orders"] }]);
    let third = life(denying).await;
    let denied = third.agent().call("command_send", call).await;
    let told = denied.structured();
    assert_eq!((&told["cause"], &told["executed"]), (&json!("forbidden"), &Value::Null), "{told}");
    third.stop().await;
}
