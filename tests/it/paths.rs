//! The two paths of a call, the direct one and rmcp's, answer with the same bytes.

use kubemq_mcp::domain::Kind;
use kubemq_mcp::mcp::{Announced, Direct, Reads};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use crate::harness::agent::modern_meta;
use crate::harness::connector::{Connector, echo, rejection};

/// What differs between any two calls: their ids and times.
const VOLATILE: [&str; 3] = ["request_id", "elapsed_ms", "first_sent_at"];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Path {
    Direct,
    /// A member that MCP does not know makes the direct path step aside, and rmcp does not look at it.
    Rmcp,
}

async fn answer(
    client: &reqwest::Client,
    url: &str,
    modern: bool,
    path: Path,
    params: &Value,
) -> (u16, HeaderMap, String) {
    let mut message = json!({ "jsonrpc": "2.0", "id": "a-1", "method": "tools/call", "params": params });
    let mut headers = HeaderMap::new();
    if modern {
        message["params"]["_meta"] = modern_meta();
        for (name, value) in [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", params["name"].as_str().unwrap_or_default()),
        ] {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_str(value).expect("plain"));
        }
    }
    if path == Path::Rmcp {
        message["unusual"] = true.into();
    }
    let body = message.to_string();
    // Nothing in an answer tells its path, so what decides is asked itself.
    let text = |name: &str| headers.get(name).map(|value| value.to_str().expect("plain"));
    let announced = Announced {
        version: text("mcp-protocol-version"),
        method: text("mcp-method"),
        name: text("mcp-name"),
    };
    let taken = Direct::read(announced, Reads::Stream, body.as_bytes()).is_some();
    assert_eq!(taken, path == Path::Direct, "{path:?}: {body}");
    let request = client
        .post(url)
        .headers(headers)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .body(body);
    let response = request.send().await.expect("an answer");
    let (status, mut headers) = (response.status().as_u16(), response.headers().clone());
    headers.remove("date");
    headers.remove("content-length");
    (status, headers, still(&response.text().await.expect("a text")))
}

/// The same bytes with the volatile values put out.
fn still(text: &str) -> String {
    let mut text = text.to_owned();
    for name in VOLATILE {
        let mark = format!("\"{name}\":");
        if let Some(start) = text.find(&mark).map(|start| start + mark.len()) {
            let end = text[start..].find([',', '}']).map_or(text.len(), |end| start + end);
            text.replace_range(start..end, "-");
        }
    }
    text
}

fn any_params() -> impl Strategy<Value = Value> {
    let tool = prop_oneof![Just("query_send"), Just("command_send")];
    let channel = prop_oneof![Just("orders"), Just("refused"), Just("_AGENTS_.x"), Just("a b"), Just("")];
    let body =
        prop_oneof![".{0,40}".prop_map(Value::from), any::<i64>().prop_map(Value::from), Just(Value::Null)];
    let odd = prop_oneof![
        Just(json!({})),
        Just(json!({ "timeout_seconds": "2" })),
        Just(json!({ "tags": { "ä": "ö" } })),
        Just(json!({ "metadata": 5 })),
        Just(json!({ "chanel": "x" })),
        Just(json!({ "timeout_seconds": 301 }))
    ];
    (tool, channel, body, odd).prop_map(|(tool, channel, body, odd)| {
        let mut arguments = json!({ "channel": channel, "body": body });
        for (name, value) in odd.as_object().expect("an object") {
            arguments[name] = value.clone();
        }
        json!({ "name": tool, "arguments": arguments })
    })
}

#[test]
fn both_paths_answer_every_call_with_the_same_bytes() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let (connector, responders) = runtime.block_on(async {
        let connector = Connector::start().await;
        let mut responders = Vec::new();
        for kind in [Kind::Command, Kind::Query] {
            responders.push(connector.responder(kind, "orders", echo).await);
            responders.push(connector.responder(kind, "refused", |_| rejection("no\u{7}")).await);
        }
        (connector, responders)
    });
    let (client, url) = (reqwest::Client::new(), connector.url());
    let cases = (any_params(), any::<bool>());
    let result = TestRunner::new(Config::with_cases(150)).run(&cases, |(params, modern)| {
        let (direct, slow) = runtime.block_on(async {
            let direct = answer(&client, &url, modern, Path::Direct, &params).await;
            (direct, answer(&client, &url, modern, Path::Rmcp, &params).await)
        });
        prop_assert_eq!(direct, slow);
        Ok(())
    });
    runtime.block_on(async {
        for responder in responders {
            responder.stop().await;
        }
        connector.stop().await;
    });
    result.expect("the paths are equal");
}
