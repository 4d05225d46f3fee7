//! Keys for operators: what the endpoint shows, what it changes, and whom it refuses.

mod command_line;
mod list;
mod refusal;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kubemq_mcp::broker::Responder;
use kubemq_mcp::domain::Kind;
use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName};
use serde_json::{Value, json};

use crate::harness::agent::{Agent, Answer};
use crate::harness::connector::{Connector, echo};
use crate::harness::event::within;

/// An operator who sends what the test says and nothing else.
pub struct Operator {
    client: reqwest::Client,
    base: String,
    headers: HeaderMap,
}

impl Operator {
    /// Of the endpoint of this connector.
    pub fn of(connector: &Connector) -> Self {
        kubemq_mcp::broker::install_crypto_provider();
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        let address = connector.app().admin_address().expect("it listens");
        Self { client, base: format!("http://{address}"), headers: HeaderMap::new() }
    }

    /// With one more header.
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.insert(HeaderName::from_static(name), value.parse().expect("a plain header"));
        self
    }

    /// Sends a request and reads its answer.
    pub async fn send(&self, method: Method, path: &str, body: Option<String>) -> (u16, HeaderMap, Value) {
        let request =
            self.client.request(method, format!("{}{path}", self.base)).headers(self.headers.clone());
        let request = request.body(body.unwrap_or_default());
        let response = within(path, request.send()).await.expect("an answer");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = within(path, response.text()).await.expect("a text");
        (status, headers, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    /// Asks.
    pub async fn get(&self, path: &str) -> (u16, Value) {
        let (status, _, body) = self.send(Method::GET, path, None).await;
        (status, body)
    }

    /// Tells.
    pub async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        let mut told =
            Self { headers: self.headers.clone(), client: self.client.clone(), base: self.base.clone() };
        told.headers.insert("content-type", "application/json".parse().expect("plain"));
        let (status, _, body) = told.send(Method::POST, path, Some(body.to_string())).await;
        (status, body)
    }
}

/// The sentence of a refusal.
pub fn message(body: &Value) -> &str {
    body["error"]["message"].as_str().unwrap_or_else(|| panic!("no refusal: {body}"))
}

async fn send(agent: &Agent, channel: &str, key: &str) -> Answer {
    let arguments = json!({ "channel": channel, "body": "b", "timeout_seconds": 1, "idempotency_key": key });
    agent.call("command_send", arguments).await
}

/// Puts a key in doubt: nobody listens yet on its channel.
async fn doubt(connector: &Connector, key: &str) {
    let answer = send(&connector.agent(), "late", key).await;
    assert_eq!(answer.structured()["cause"], "timed_out", "{answer:?}");
}

/// A responder on `late` that counts what it gets.
async fn counting(connector: &Connector) -> (Responder, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = count.clone();
    let answer = move |asked| {
        counter.fetch_add(1, Ordering::SeqCst);
        echo(asked)
    };
    (connector.responder(Kind::Command, "late", answer).await, count)
}

fn resolving(key: &str, outcome: &str) -> Value {
    json!({ "principal": "anonymous", "key": key, "outcome": outcome, "by": "ann", "why": "seen in the ledger" })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_shown_with_all_that_is_known_of_it() {
    let connector = Connector::start().await;
    let operator = Operator::of(&connector);
    let (absent, body) = operator.get("/admin/key?principal=anonymous&key=k").await;
    assert_eq!((absent, &body["error"]["data"]["reason"]), (404, &json!("absent")));
    let responder = connector.responder(Kind::Command, "orders", echo).await;
    let sent = send(&connector.agent(), "orders", "a key/ä").await;
    let (status, shown) = operator.get("/admin/key?principal=anonymous&key=a+key%2F%C3%A4").await;
    assert_eq!(
        (status, &shown["state"], &shown["attempts"]),
        (200, &json!("executed"), &json!(1)),
        "{shown}"
    );
    for name in ["request_id", "first_sent_at", "expires_at", "responder", "channel"] {
        assert_eq!(shown[name], sent.structured()[name], "{name}");
    }
    for name in ["in_doubt_since", "in_doubt_why", "error", "resolved_by", "resolved_why"] {
        assert_eq!(shown.get(name), Some(&Value::Null), "{name}");
    }
    assert_eq!((&shown["key"], &shown["principal"]), (&json!("a key/ä"), &json!("anonymous")));
    assert!(shown["ended_at"].is_string() && shown["key_digest"].is_string());
    let (other, _) = operator.get("/admin/key?principal=alice&key=a+key%2F%C3%A4").await;
    assert_eq!(other, 404, "another principal has another record");
    responder.stop().await;
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resolved_key_is_told_to_its_agent_with_who_and_why() {
    let connector = Connector::start().await;
    let operator = Operator::of(&connector);
    doubt(&connector, "yes").await;
    doubt(&connector, "no").await;
    let (_, shown) = operator.get("/admin/key?principal=anonymous&key=yes").await;
    assert_eq!((&shown["state"], &shown["in_doubt_why"]), (&json!("in_doubt"), &json!("timed_out")));
    let (responder, count) = counting(&connector).await;
    for (key, outcome) in [("yes", "executed"), ("no", "rejected")] {
        let (status, resolved) = operator.post("/admin/key/resolve", resolving(key, outcome)).await;
        assert_eq!((status, &resolved["state"]), (200, &json!(outcome)), "{resolved}");
        assert_eq!(
            (&resolved["resolved_by"], &resolved["resolved_why"]),
            (&json!("ann"), &json!("seen in the ledger"))
        );
        assert!(resolved["in_doubt_since"].is_string(), "that it was in doubt stays known");
        let told = send(&connector.agent(), "late", key).await;
        let structured = told.structured();
        assert_eq!(
            (&structured["outcome"], &structured["replayed"]),
            (&json!(outcome), &json!(true)),
            "{told:?}"
        );
        assert_eq!(structured["resolved_by"], "ann");
        assert_eq!(structured["resolved_why"], "seen in the ledger");
        assert!(structured["responder"].is_null(), "nobody has answered: {structured}");
        let status = connector.agent().call("command_status", json!({ "idempotency_key": key })).await;
        let known = status.structured();
        assert_eq!((&known["resolved_by"], &known["responder"]), (&json!("ann"), &Value::Null), "{known}");
        assert_eq!(known["resolved_why"], "seen in the ledger");
        assert!(
            status.text(0).contains("as the operator ann has found out: seen in the ledger"),
            "{status:?}"
        );
        let (again, refused) = operator.post("/admin/key/resolve", resolving(key, "executed")).await;
        assert_eq!((again, &refused["error"]["data"]["reason"]), (409, &json!("not_in_doubt")), "{refused}");
    }
    assert_eq!(count.load(Ordering::SeqCst), 0, "nothing was sent");
    let (absent, _) = operator.post("/admin/key/resolve", resolving("never", "executed")).await;
    assert_eq!(absent, 404);
    responder.stop().await;
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_in_doubt_is_forgotten_with_consent_only_and_then_runs_again() {
    let connector = Connector::start().await;
    let operator = Operator::of(&connector);
    doubt(&connector, "k").await;
    let (responder, count) = counting(&connector).await;
    let forgetting =
        |consent: Value| json!({ "principal": "anonymous", "key": "k", "may_run_again": consent });
    for consent in [json!(false), Value::Null] {
        let (status, refused) = operator.post("/admin/key/forget", forgetting(consent)).await;
        assert_eq!(
            (status, &refused["error"]["data"]["reason"]),
            (409, &json!("needs_consent")),
            "{refused}"
        );
        assert!(message(&refused).contains("`may_run_again`"), "{refused}");
    }
    assert_eq!(send(&connector.agent(), "late", "k").await.structured()["cause"], "in_doubt");
    let (status, gone) = operator.post("/admin/key/forget", forgetting(json!(true))).await;
    assert_eq!((status, &gone["forgotten"]["state"]), (200, &json!("in_doubt")), "{gone}");
    assert_eq!(operator.get("/admin/key?principal=anonymous&key=k").await.0, 404);
    assert_eq!(send(&connector.agent(), "late", "k").await.structured()["replayed"], false);
    assert_eq!(count.load(Ordering::SeqCst), 1);
    let settled = json!({ "principal": "anonymous", "key": "k" });
    assert_eq!(
        operator.post("/admin/key/forget", settled.clone()).await.0,
        200,
        "what is settled needs none"
    );
    assert_eq!(operator.post("/admin/key/forget", settled).await.0, 404);
    responder.stop().await;
    connector.stop().await;
}
