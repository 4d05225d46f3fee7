//! What is on the wire, to the letter: the contract's own calls, the protocol's errors, what plain clients see.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use crate::harness::agent::{Agent, Era, modern_meta};
use crate::harness::binary::Binary;
use crate::harness::connector::Connector;

/// The two calls of `contract/command-and-query-tools.txt`.
const COMMAND: &str = r#"{
    "jsonrpc": "2.0", "id": 9, "method": "tools/call",
    "params": { "name": "command_send", "arguments": {
        "channel": "example-commands", "body": "do-work", "timeout_seconds": 10,
        "metadata": "cmd-meta", "tags": { "action": "process" } } } }"#;
const QUERY: &str = r#"{
    "jsonrpc": "2.0", "id": 10, "method": "tools/call",
    "params": { "name": "query_send", "arguments": {
        "channel": "example-queries", "body": "get-data", "timeout_seconds": 30,
        "metadata": "qry-meta", "tags": { "action": "lookup" } } } }"#;

fn headers<const COUNT: usize>(pairs: [(&'static str, &'static str); COUNT]) -> HeaderMap {
    let pair = |(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value));
    HeaderMap::from_iter(pairs.map(pair))
}

fn message(method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}

#[test]
fn the_published_calls_get_the_published_answers() {
    let server = Binary::start(
        &["serve", "--demo", "--listen", "127.0.0.1:0", "--embedded-listen", "127.0.0.1:0"],
        &[("KUBEMQ_MCP__LOG__LEVEL", "warn")],
    );
    let agent = Agent::new(&server.word("http://"));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let json_only = || headers([("accept", "application/json")]);
    let command = runtime.block_on(agent.send(json_only(), COMMAND));
    assert_eq!(command.body["id"], 9);
    let text = "Command executed successfully on channel 'example-commands'";
    assert_eq!(command.result()["content"], json!([{ "type": "text", "text": text }]));
    assert_eq!(command.result()["isError"], false);
    let query = runtime.block_on(agent.send(json_only(), QUERY));
    assert_eq!(query.body["id"], 10);
    let text = r#"{"data":"query response payload from subscriber"}"#;
    assert_eq!(query.result()["content"], json!([{ "type": "text", "text": text }]));
    assert_eq!(query.result()["isError"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_client_needs_no_accept_no_handshake_and_no_session() {
    let connector = Connector::start().await;
    let agent = connector.agent();
    let call = message("tools/call", json!({ "name": "query_send", "arguments": {} }));
    for accept in [headers([]), headers([("accept", "*/*")]), headers([("accept", "application/json")])] {
        let answer = agent.send(accept, call.clone()).await;
        assert_eq!((answer.status, answer.is_error()), (200, true));
        assert_eq!(answer.headers["content-type"], "application/json");
    }
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_kubemqs_own_clients_are_used_to_is_there() {
    let connector = Connector::start().await;
    let agent = connector.agent();
    let info = json!({ "name": "x", "version": "1" });
    for (asked, agreed) in [
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2024-11-05", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
    ] {
        let params = json!({ "protocolVersion": asked, "capabilities": {}, "clientInfo": info });
        let answer = agent.send(headers([]), message("initialize", params)).await;
        assert_eq!(answer.result()["protocolVersion"], agreed, "{asked}");
        assert_eq!(answer.headers["mcp-protocol-version"], agreed, "{asked}");
        assert_eq!(answer.result()["serverInfo"]["name"], "kubemq");
        assert!(answer.result()["_meta"]["sessionId"].is_string());
        assert_eq!(answer.result()["capabilities"], json!({ "tools": {} }));
    }
    let session = || headers([("mcp-session-id", "abc")]);
    let answer = agent.send(session(), message("ping", json!({}))).await;
    assert_eq!(
        (&answer.headers["mcp-session-id"], answer.result()),
        (&HeaderValue::from_static("abc"), &json!({}))
    );
    let told = agent.send(headers([]), r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    assert_eq!((told.status, told.body), (202, Value::Null));
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_modern_request_never_echoes_a_session() {
    let connector = Connector::start().await;
    let mut all = headers([
        ("mcp-session-id", "abc"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "server/discover"),
    ]);
    all.insert("accept", HeaderValue::from_static("application/json, text/event-stream"));
    let answer =
        connector.agent().send(all, message("server/discover", json!({ "_meta": modern_meta() }))).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(!answer.headers.contains_key("mcp-session-id"));
    assert_eq!(answer.headers["mcp-protocol-version"], "2026-07-28");
    let result = answer.result();
    assert_eq!(result["supportedVersions"], json!(["2025-06-18", "2025-11-25", "2026-07-28"]));
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "kubemq");
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn protocol_errors_stay_protocol_errors() {
    let connector = Connector::start().await;
    let agent = connector.agent();
    for (body, code) in [
        (message("tools/call", json!({ "name": "nope", "arguments": {} })), -32602),
        (message("tools/call", json!({ "arguments": {} })), -32602),
        (message("tools/call", json!({ "name": "query_send", "arguments": [] })), -32602),
        (message("tools/call", json!({ "name": 5 })), -32602),
        (message("tools/call", json!([])), -32602),
        (message("tools/list", json!({ "cursor": "garbage" })), -32602),
        (message("foo/bar", json!({})), -32601),
        (message("prompts/list", json!({})), -32601),
        (message("resources/list", json!({})), -32601),
        (message("completion/complete", json!({})), -32601),
        ("{".into(), -32700),
        (String::new(), -32700),
        ("[]".into(), -32600),
        (format!("[{}]", message("ping", json!({}))), -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#.into(), -32600),
        (r#"{"id":1,"method":"ping"}"#.into(), -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#.into(), -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":""}"#.into(), -32600),
    ] {
        let answer = agent.send(headers([]), body.clone()).await;
        assert_eq!(answer.code(), code, "{body}: {answer:?}");
        assert!(answer.body["error"]["message"].as_str().is_some_and(|text| !text.is_empty()));
    }
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_a_json_post_is_told_what_would_be() {
    let connector = Connector::start().await;
    let agent = connector.agent();
    let text = agent.send(headers([("content-type", "text/plain")]), message("ping", json!({}))).await;
    assert_eq!((text.status, text.code()), (415, -32700));
    let version =
        agent.send(headers([("mcp-protocol-version", "1999-01-01")]), message("ping", json!({}))).await;
    assert_eq!((version.status, version.code(), &version.body["id"]), (400, -32022, &json!(1)));
    assert_eq!(version.body["error"]["data"]["requested"], "1999-01-01");
    let evil = agent.send(headers([("origin", "http://evil.example")]), message("ping", json!({}))).await;
    assert_eq!(evil.status, 403);
    let host = agent.send(headers([("host", "evil.example")]), message("ping", json!({}))).await;
    assert_eq!(host.status, 403);
    let large = agent.send(headers([]), "x".repeat(4_194_305)).await;
    assert_eq!((large.status, large.code()), (413, -32600));
    let client = reqwest::Client::new();
    for method in ["GET", "DELETE", "PUT", "OPTIONS"] {
        let method = method.parse().expect("a method");
        let response = client.request(method, connector.url()).send().await.expect("an answer");
        assert_eq!(response.status(), 405);
        assert_eq!(response.headers()["allow"], "POST");
        assert!(response.headers().contains_key("mcp-protocol-version"));
    }
    let elsewhere = client.get(connector.url().replace("/mcp", "/else")).send().await.expect("an answer");
    assert_eq!(elsewhere.status(), 404);
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_modern_rules_on_headers_and_meta_are_kept() {
    let connector = Connector::start().await;
    let agent = connector.agent();
    let meta = |version: &str| {
        let mut meta = modern_meta();
        meta["io.modelcontextprotocol/protocolVersion"] = version.into();
        json!({ "_meta": meta })
    };
    let all = |version, method| {
        headers([
            ("mcp-protocol-version", version),
            ("mcp-method", method),
            ("accept", "application/json, text/event-stream"),
        ])
    };
    let list = |version: &str| message("tools/list", meta(version));
    for (headers, body, status, code) in [
        (all("2026-07-28", "tools/list"), list("v999.0.0"), 400, -32020),
        (all("v999.0.0", "tools/list"), list("v999.0.0"), 400, -32022),
        (all("2026-07-28", "tools/list"), message("tools/list", json!({})), 400, -32602),
        (all("2026-07-28", "tools/call"), list("2026-07-28"), 400, -32020),
        (all("2026-07-28", "ping"), message("ping", meta("2026-07-28")), 404, -32601),
        (all("2026-07-28", "initialize"), message("initialize", meta("2026-07-28")), 404, -32601),
        (all("2026-07-28", "prompts/list"), message("prompts/list", meta("2026-07-28")), 404, -32601),
    ] {
        let answer = agent.send(headers, body.clone()).await;
        assert_eq!((answer.status, answer.code()), (status, code), "{body} {answer:?}");
    }
    let listed = agent.send(all("2026-07-28", "tools/list"), list("2026-07-28")).await;
    assert_eq!(
        (&listed.result()["cacheScope"], &listed.result()["resultType"]),
        (&json!("private"), &json!("complete"))
    );
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_of_tools_is_the_same_every_time_and_small() {
    let connector = Connector::start().await;
    let agent = connector.agent();
    let first = agent.send(headers([]), message("tools/list", json!({}))).await.result()["tools"].to_string();
    for _ in 0..100 {
        let again = agent.send(headers([]), message("tools/list", json!({}))).await;
        assert_eq!(again.result()["tools"].to_string(), first);
    }
    println!("tools/list: {} bytes, about {} tokens", first.len(), first.len() / 4);
    assert!(first.len() < 8_000, "{} bytes", first.len());
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn both_eras_answer_a_call_alike() {
    let connector = Connector::start().await;
    let echo = crate::harness::connector::echo;
    let _responder = connector.responder(kubemq_mcp::domain::Kind::Query, "orders", echo).await;
    let arguments = json!({ "channel": "orders", "body": "ä\u{0}\n\"" });
    let plain = connector.agent().call_in(Era::Plain, "query_send", arguments.clone()).await;
    let modern = connector.agent().call_in(Era::Modern, "query_send", arguments).await;
    assert_eq!(plain.result()["content"], modern.result()["content"]);
    assert_eq!(plain.text(0), "ä\u{0}\n\"");
    assert_eq!(
        (&modern.result()["resultType"], plain.result().get("resultType")),
        (&json!("complete"), None)
    );
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_told_only_to_who_asked_and_reads_a_stream() {
    let connector = Connector::start().await;
    let arguments = json!({ "channel": "nobody", "body": "b", "timeout_seconds": 3 });
    let params = json!({ "name": "query_send", "arguments": arguments, "_meta": { "progressToken": "t-7" } });
    let body = message("tools/call", params);
    let client = reqwest::Client::new();
    let request = |accept: &str| {
        client
            .post(connector.url())
            .header("content-type", "application/json")
            .header("accept", accept)
            .body(body.clone())
            .send()
    };
    let stream = request("application/json, text/event-stream").await.expect("an answer");
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    let text = stream.text().await.expect("a stream that ends");
    let events: Vec<Value> = text
        .lines()
        .filter_map(|line| line.strip_prefix("data:"))
        .filter_map(|data| serde_json::from_str(data.trim()).ok())
        .collect();
    let (result, told) = events.split_last().expect("events");
    assert!(result["result"]["isError"].as_bool().expect("a result"), "{result}");
    assert!(told.len() >= 2, "{text}");
    let mut last = 0.0;
    for event in told {
        assert_eq!(
            (&event["method"], &event["params"]["progressToken"]),
            (&json!("notifications/progress"), &json!("t-7"))
        );
        let progress = event["params"]["progress"].as_f64().expect("a number");
        assert!(progress > last && event["params"]["total"] == 3.0, "{event}");
        last = progress;
    }
    let json_only = request("application/json").await.expect("an answer");
    assert_eq!(json_only.headers()["content-type"], "application/json");
    connector.stop().await;
}
