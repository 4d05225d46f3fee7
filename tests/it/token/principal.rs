//! What the log of the real program says of its callers, and what it never says.

use serde_json::{Value, json};

use super::{File, until};
use crate::harness::agent::{Agent, Era, modern_meta};
use crate::harness::binary::Binary;
use crate::harness::event::within;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

fn serve(file: &File) -> Binary {
    let path = file.path.to_str().expect("plain");
    let arguments =
        ["serve", "--demo", "--listen", "127.0.0.1:0", "--embedded-listen", "127.0.0.1:0", "--log-format"];
    let variables = [
        ("KUBEMQ_MCP__AUTH__MODE", "tokens"),
        ("KUBEMQ_MCP__AUTH__TOKENS_FILE", path),
        ("KUBEMQ_MCP__AUTH__TOKEN_REQUIRED", "false"),
        ("KUBEMQ_MCP__LOG__LEVEL", "trace"),
    ];
    Binary::start(&[&arguments[..], &["json"]].concat(), &variables)
}

/// The lines of the log with this message, once there are so many.
async fn lines(server: &Binary, message: &str, count: usize) -> Vec<Value> {
    let read = async {
        loop {
            let log = server.log();
            let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let lines: Vec<Value> = lines.filter(|line| line["message"] == message).collect();
            if lines.len() >= count {
                return lines;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    within(&format!("{count} lines `{message}`"), read).await
}

/// Calls on the path through rmcp: a member that MCP does not know makes the direct path step aside.
async fn call_by_rmcp(agent: &Agent, era: Era, arguments: &Value) -> u16 {
    let mut message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "unusual": true,
        "params": { "name": "query_send", "arguments": arguments } });
    let mut headers = reqwest::header::HeaderMap::new();
    if era == Era::Modern {
        message["params"]["_meta"] = modern_meta();
        for (name, value) in
            [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "query_send")]
        {
            headers.insert(name, value.parse().expect("plain"));
        }
    }
    agent.send(headers, message.to_string()).await.status
}

#[test]
fn every_call_is_logged_under_the_name_of_its_token_and_no_token_is() {
    let file = File::new();
    let (alice, bob) = (file.add("alice"), file.add("bob@example"));
    let server = serve(&file);
    let url = server.word("http://");
    let callers = [
        ("alice", Agent::with_token(&url, &alice)),
        ("bob@example", Agent::with_token(&url, &bob)),
        ("anonymous", Agent::new(&url)),
    ];
    let (log, expected) = runtime().block_on(async {
        let mut expected = Vec::new();
        for (name, agent) in &callers {
            for era in [Era::Plain, Era::Modern] {
                for channel in ["example-queries", "not a channel"] {
                    let arguments = json!({ "channel": channel, "body": "b" });
                    agent.call_in(era, "query_send", arguments.clone()).await.result();
                    assert_eq!(call_by_rmcp(agent, era, &arguments).await, 200);
                    expected.extend([(channel, *name); 2]);
                }
            }
        }
        let wrong = Agent::with_token(&url, "kmcp_hunter2");
        assert_eq!(super::knock(&wrong, Era::Plain).await.status, 401);
        let refused = lines(&server, "request refused for its token", 1).await;
        assert_eq!(refused[0]["reason"], "unknown");
        (lines(&server, "call ended", expected.len()).await, expected)
    });
    let told: Vec<(&str, &str)> = log
        .iter()
        .map(|line| {
            (line["channel"].as_str().unwrap_or_default(), line["principal"].as_str().unwrap_or_default())
        })
        .collect();
    assert_eq!(told, expected);
    let log = server.log();
    for secret in [&alice, &bob, "hunter2"] {
        assert!(!log.contains(secret), "{log}");
    }
}

#[test]
fn a_broken_file_leaves_the_old_tokens_and_is_told_and_counted_once() {
    let file = File::new();
    let token = file.add("alice");
    let (text, server) = (file.text(), serve(&file));
    let url = server.word("http://");
    let agent = Agent::with_token(&url, &token);
    runtime().block_on(async {
        for (count, broken) in [(1, format!("{text}bob kmcp_hunter2\n")), (2, "\u{0}".to_owned())] {
            file.write(&broken);
            let told = lines(&server, "tokens file not taken, the old tokens stay", count).await;
            assert_eq!(told.len(), count, "{told:?}");
            assert_eq!(super::knock(&agent, Era::Plain).await.status, 200);
            let (_, metrics) = agent.get("/metrics").await;
            assert!(metrics.contains(&format!("kubemq_mcp_tokens_files_refused_total {count}")), "{metrics}");
        }
        let new = file_with(&file, &text);
        until(&Agent::with_token(&url, &new), 200).await;
        assert_eq!(lines(&server, "tokens file not taken, the old tokens stay", 2).await.len(), 2);
    });
    let log = server.log();
    assert!(log.contains("tokens:2: the second word is not a hash") && !log.contains("hunter2"), "{log}");
}

/// Mends the file and adds a token to it.
fn file_with(file: &File, text: &str) -> String {
    file.write(text);
    file.add("alice")
}

#[test]
fn a_wrong_file_stops_the_start_with_its_place_and_what_would_be_right() {
    let file = File::new();
    file.write("# who\nalice kmcp_hunter2\n");
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--embedded-listen", "127.0.0.1:0"];
    let path = file.path.to_str().expect("plain");
    let variables = [("KUBEMQ_MCP__AUTH__MODE", "tokens"), ("KUBEMQ_MCP__AUTH__TOKENS_FILE", path)];
    let output = Binary::command(&arguments, &variables).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains(&format!("{path}:2: the second word is not a hash; write `sha256:`")), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
}
