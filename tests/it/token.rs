//! Who calls: tokens over HTTP, in both protocols and on both paths, while their file changes.

mod command_line;
mod principal;

use std::path::PathBuf;

use kubemq_mcp::access::{Grant, Minted, Mode, append};
use kubemq_mcp::domain::Principal;
use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::json;

use crate::harness::agent::{Agent, Answer, Era};
use crate::harness::connector::Connector;
use crate::harness::event::within;

/// A tokens file in a directory of its own.
pub struct File {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

impl File {
    /// An empty one.
    pub fn new() -> Self {
        let directory = tempfile::tempdir().expect("the system has room for a directory");
        let path = directory.path().join("tokens");
        std::fs::write(&path, "").expect("the directory is ours");
        Self { _directory: directory, path }
    }

    /// Makes a token, writes its line, and gives the token.
    fn add(&self, name: &str) -> String {
        let minted = Minted::fresh().expect("the system has randomness");
        append(&self.path, &minted.line(&Principal::named(name))).expect("the file is right");
        minted.expose().to_owned()
    }

    /// Makes a token of which more is said.
    pub fn add_with(&self, name: &str, change: impl FnOnce(&mut Grant)) -> String {
        let minted = Minted::fresh().expect("the system has randomness");
        let mut grant = Grant::to(Principal::named(name));
        change(&mut grant);
        append(&self.path, &minted.line_of(&grant)).expect("the file is right");
        minted.expose().to_owned()
    }

    /// Where it is.
    pub fn path(&self) -> &str {
        self.path.to_str().expect("plain")
    }

    fn write(&self, text: &str) {
        std::fs::write(&self.path, text).expect("the directory is ours");
    }

    fn text(&self) -> String {
        std::fs::read_to_string(&self.path).expect("it is there")
    }

    async fn connector(&self, token_required: bool) -> Connector {
        Connector::with(|config| {
            config.auth.mode = Mode::Tokens;
            config.auth.tokens_file = self.path.to_str().expect("plain").into();
            config.auth.token_required = token_required;
        })
        .await
    }
}

/// A call that ends before it reaches a broker; it needs nothing but to be let in.
async fn knock(agent: &Agent, era: Era) -> Answer {
    agent.call_in(era, "query_send", json!({ "channel": "a b", "body": "b" })).await
}

fn assert_refused(answer: &Answer, challenge: &str, part: &str) {
    assert_eq!((answer.status, answer.code()), (401, -32600), "{answer:?}");
    assert_eq!(answer.headers["www-authenticate"], challenge);
    assert_eq!(answer.headers["content-type"], "application/json");
    assert!(answer.headers.contains_key("mcp-protocol-version"));
    assert!(answer.body["error"]["message"].as_str().is_some_and(|text| text.contains(part)), "{answer:?}");
}

const INVALID: &str = "Bearer error=\"invalid_token\"";

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_token_is_refused_whether_one_is_required_or_not() {
    let file = File::new();
    let right = file.add("alice");
    for token_required in [false, true] {
        let connector = file.connector(token_required).await;
        for era in [Era::Plain, Era::Modern] {
            let answer = knock(&Agent::with_token(&connector.url(), &right), era).await;
            assert_eq!(answer.status, 200, "{answer:?}");
            let wrong = Agent::with_token(&connector.url(), "kmcp_wrong");
            assert_refused(&knock(&wrong, era).await, INVALID, "this token is not valid here");
            let malformed = Agent::with_token(&connector.url(), "two words");
            assert_refused(&knock(&malformed, era).await, INVALID, "must be `Bearer` and one token");
        }
        connector.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_token_is_refused_only_where_one_is_required() {
    let file = File::new();
    let right = file.add("alice");
    let open = file.connector(false).await;
    let closed = file.connector(true).await;
    for era in [Era::Plain, Era::Modern] {
        assert_eq!(knock(&open.agent(), era).await.status, 200);
        assert_refused(&knock(&closed.agent(), era).await, "Bearer", "a token is needed");
    }
    // Not only calls: whoever may not call is told nothing else either.
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    assert_refused(&closed.agent().send(HeaderMap::new(), list.clone()).await, "Bearer", "a token is needed");
    let known = Agent::with_token(&closed.url(), &right);
    assert!(known.send(HeaderMap::new(), list).await.result()["tools"].is_array());
    open.stop().await;
    closed.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_heard_by_a_client_with_a_large_body() {
    let file = File::new();
    let connector = file.connector(true).await;
    let body = format!("\"{}\"", "x".repeat(3 << 20));
    for agent in [connector.agent(), Agent::multiplexed(&connector.url())] {
        for _ in 0..10 {
            let answer = agent.send(HeaderMap::new(), body.clone()).await;
            assert_refused(&answer, "Bearer", "a token is needed");
        }
    }
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_tokens_file_a_header_that_was_meant_for_somebody_else_is_ignored() {
    let connector = Connector::start().await;
    for value in ["Bearer any", "Basic YTpi", ""] {
        let headers = HeaderMap::from_iter([(
            reqwest::header::AUTHORIZATION,
            HeaderValue::from_str(value).expect("plain"),
        )]);
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string();
        assert_eq!(connector.agent().send(headers, ping).await.status, 200, "{value}");
    }
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn health_and_metrics_need_no_token_and_the_metrics_count_refusals() {
    let file = File::new();
    let connector = file.connector(true).await;
    let agent = connector.agent();
    assert_eq!(knock(&agent, Era::Plain).await.status, 401);
    assert_eq!(agent.get("/healthz").await.0, 200);
    let (status, metrics) = agent.get("/metrics").await;
    assert_eq!(status, 200);
    for reason in ["unknown", "malformed", "missing"] {
        assert!(metrics.contains(&format!("kubemq_mcp_tokens_refused_total{{reason=\"{reason}\"}}")));
    }
    assert!(!metrics.contains("kubemq_mcp_tokens_refused_total{reason=\"missing\"} 0"), "it was counted");
    assert!(metrics.contains("kubemq_mcp_tokens_files_refused_total"));
    connector.stop().await;
}

/// Waits until the agent gets this status: a changed file is taken within a second or so.
async fn until(agent: &Agent, status: u16) {
    let wanted = async {
        while knock(agent, Era::Plain).await.status != status {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    within(&format!("status {status}"), wanted).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_replaced_by_editing_the_file() {
    let file = File::new();
    let old = file.add("alice");
    let connector = file.connector(true).await;
    let agent = |token: &str| Agent::with_token(&connector.url(), token);
    let new = file.add("alice");
    until(&agent(&new), 200).await;
    assert_eq!(knock(&agent(&old), Era::Plain).await.status, 200, "both work meanwhile");
    let (_, rest) = file.text().split_once('\n').map(|(a, b)| (a.to_owned(), b.to_owned())).expect("lines");
    file.write(&rest);
    until(&agent(&old), 401).await;
    assert_eq!(knock(&agent(&new), Era::Plain).await.status, 200);
    // The last token is taken back by an empty file.
    file.write("");
    until(&agent(&new), 401).await;
    connector.stop().await;
}
