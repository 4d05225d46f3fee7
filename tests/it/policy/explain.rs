//! `kubemq-mcp explain` says what a call would hear, and which line decides.

use crate::harness::binary::Binary;

const POLICY: &str = "\
[auth]
mode = 'tokens'
tokens_file = 'tokens'

[[policy]]
who = 'alice'
tools = ['queries', 'command_send']
channels = ['orders.*']
tool_timeout_seconds = 30

[[policy]]
who = 'group:interns'
deny_channels = ['orders.secret']
";

fn explain(text: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let directory = tempfile::tempdir().expect("room");
    let file = directory.path().join("config.toml");
    std::fs::write(&file, text).expect("room");
    let file = file.to_str().expect("plain");
    let all = [&["explain", "--config", file], arguments].concat();
    let output = Binary::command(&all, &[]).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).replace(file, "config.toml");
    (output.status.code(), text + &String::from_utf8_lossy(&output.stderr))
}

fn asked(caller: &[&str], tool: &str, channel: &str) -> (Option<i32>, String) {
    explain(POLICY, &[&["--principal"], caller, &["--tool", tool, "--channel", channel]].concat())
}

#[test]
fn what_decides_is_named_with_its_line() {
    let allowed = "allowed: command_send on channel 'orders.eu' for alice\n\
                   decided by: config.toml:6, the entry of [[policy]] for `alice`\n\
                   bound: a timeout of at most 30 s\n";
    assert_eq!(asked(&["alice"], "command_send", "orders.eu"), (Some(0), allowed.into()));
    let denied = "denied: query_send on channel 'orders.secret' for alice: the policy of this connector does not allow it\n\
                  decided by: config.toml:12, the entry of [[policy]] for `group:interns`\n";
    let intern = ["alice", "--group", "interns"];
    assert_eq!(asked(&intern, "query_send", "orders.secret"), (Some(1), denied.into()));
    let (status, text) = asked(&["bob"], "query_send", "orders.eu");
    assert!(status == Some(1) && text.contains("decided by: no entry of [[policy]] allows it"), "{text}");
    let (status, text) = asked(&["alice", "--read-only"], "command_send", "orders.eu");
    assert!(status == Some(1) && text.contains("decided by: the token, which is for queries only"), "{text}");
}

#[test]
fn without_a_policy_everybody_may_and_a_read_only_connector_has_queries_only() {
    let call = ["--principal", "anonymous", "--tool", "command_send", "--channel", "orders"];
    let (status, text) = explain("", &call);
    assert!(status == Some(0) && text.contains("there is no entry of [[policy]]"), "{text}");
    let (status, text) = explain("[server]\nread_only = true", &call);
    assert!(status == Some(1) && text.contains("decided by: server.read_only"), "{text}");
}

#[test]
fn a_name_that_nobody_can_have_is_noted_and_a_wrong_word_is_refused() {
    let (_, text) = explain("", &["--principal", "alice", "--tool", "query_send"]);
    assert!(text.contains("note: auth.mode is `none`, so every caller is `anonymous`"), "{text}");
    let (status, text) = explain("", &["--principal", "alice", "--tool", "query"]);
    assert!(status == Some(2) && text.contains("there are query_send"), "{text}");
}
