//! The same policy over standard input and output, where the caller is `anonymous`.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::harness::binary::Binary;

/// What `stdio --demo` with this configuration answers to these messages, in their order.
fn answers(text: &str, messages: &[Value]) -> Vec<Value> {
    let directory = tempfile::tempdir().expect("room");
    let file = directory.path().join("config.toml");
    std::fs::write(&file, text).expect("room");
    let mut child = Binary::command(&["stdio", "--demo", "--config", file.to_str().expect("plain")], &[])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it runs");
    let mut reader = BufReader::new(child.stdout.take().expect("it is piped"));
    let input = child.stdin.as_mut().expect("it is piped");
    let answers = messages
        .iter()
        .map(|message| {
            writeln!(input, "{message}").expect("it reads");
            let mut line = String::new();
            reader.read_line(&mut line).expect("a text");
            serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"))
        })
        .collect();
    drop(child.stdin.take());
    assert!(child.wait().expect("ours").success());
    answers
}

fn call(tool: &str, channel: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": tool, "arguments": { "channel": channel, "body": "b" } } })
}

#[test]
fn a_policy_holds_on_stdio_for_anonymous() {
    let text = "[[policy]]\nwho = 'anonymous'\ntools = ['*']\nchannels = ['example-queries']\n\
                [[policy]]\nwho = 'alice'\ntools = ['*']\nchannels = ['>']";
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let told = answers(
        text,
        &[
            call("query_send", "example-queries"),
            call("command_send", "example-commands"),
            call("purge", "x"),
            list,
        ],
    );
    assert_eq!(told[0]["result"]["isError"], false, "{told:?}");
    assert_eq!(told[1]["result"]["structuredContent"]["cause"], "forbidden", "{told:?}");
    assert_eq!(told[2]["error"]["code"], -32602, "{told:?}");
    assert_eq!(told[3]["result"]["tools"].as_array().map(Vec::len), Some(3), "{told:?}");
}

#[test]
fn a_read_only_connector_is_read_only_on_stdio() {
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let calls = [call("command_send", "example-commands"), call("query_send", "example-queries"), list];
    let told = answers("[server]\nread_only = true", &calls);
    let text = told[0]["result"]["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("this connector is read-only"), "{told:?}");
    assert_eq!(told[1]["result"]["isError"], false, "{told:?}");
    assert_eq!(told[2]["result"]["tools"].as_array().map(Vec::len), Some(2), "{told:?}");
}
