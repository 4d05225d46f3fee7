//! `kubemq-mcp token new`, and what is made with it, with the real program.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use kubemq_mcp::access::Tokens;
use serde_json::{Value, json};

use crate::harness::binary::Binary;

fn run(arguments: &[&str]) -> Output {
    Binary::command(arguments, &[]).output().expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("a text")
}

/// Makes a token of `name` in the file and gives what standard output and standard error have.
fn new_token(name: &str, file: &Path) -> (String, String) {
    let output = run(&["token", "new", name, "--file", file.to_str().expect("plain")]);
    assert!(output.status.success(), "{output:?}");
    (text(&output.stdout), text(&output.stderr))
}

fn owner(content: &[u8], token: &str) -> Option<String> {
    Tokens::parse(content)
        .expect("a right file")
        .grant(token)
        .map(|grant| grant.subject.principal.to_string())
}

#[test]
fn a_new_token_is_printed_with_the_line_for_the_file() {
    let output = run(&["token", "new", "ci@build"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let printed = text(&output.stdout);
    let [token, line] = printed.lines().collect::<Vec<_>>()[..] else { panic!("two lines: {printed}") };
    assert!(token.starts_with("kmcp_") && token.len() == 48, "{token}");
    assert_eq!(owner(line.as_bytes(), token), Some("ci@build".into()));
}

#[test]
fn a_token_is_given_an_end_scopes_groups_and_read_only() {
    let told = [
        "--expires-in",
        "30d",
        "--scope",
        "r",
        "--scope",
        "w",
        "--scope",
        "r",
        "--group",
        "ops",
        "--read-only",
    ];
    let output = run(&[&["token", "new", "ci"][..], &told].concat());
    let printed = text(&output.stdout);
    let [token, line] = printed.lines().collect::<Vec<_>>()[..] else { panic!("two lines: {output:?}") };
    assert!(line.ends_with("Z scope=r scope=w group=ops read-only"), "{line}");
    let tokens = Tokens::parse(line.as_bytes()).expect("a right line");
    let grant = tokens.grant(token).expect("the token of the line");
    let month = Duration::from_secs(30 * 24 * 3600);
    let (now, end) = (kubemq_mcp::clock::now(), grant.expires.expect("an end"));
    assert!(end <= now + month && end > now + month - Duration::from_secs(60), "{line}");
    let subject = grant.judge(now).expect("it is fresh");
    assert!(subject.read_only && grant.judge(end).is_err());
    for (wrong, part) in [
        (["--expires-in", "soon"], "expected number"),
        (["--expires-in", "0s"], "a second to ten years"),
        (["--expires-in", "11y"], "a second to ten years"),
        (["--scope", "a b"], "visible ASCII"),
        (["--group", ""], "1 to 256"),
    ] {
        let output = run(&[&["token", "new", "ci"][..], &wrong].concat());
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{wrong:?}");
        assert!(text(&output.stderr).contains(part), "{output:?}");
    }
}

#[test]
fn the_line_goes_to_a_file_of_its_owner_alone_and_the_token_to_standard_output() {
    let directory = tempfile::tempdir().expect("room");
    let file = directory.path().join("tokens");
    let (alice, place) = new_token("alice", &file);
    assert_eq!(place, format!("the line of alice is {}:1\n", file.display()));
    let (bob, place) = new_token("bob", &file);
    assert_eq!(place, format!("the line of bob is {}:2\n", file.display()));
    let content = std::fs::read(&file).expect("it was made");
    assert_eq!(owner(&content, alice.trim()), Some("alice".into()));
    assert_eq!(owner(&content, bob.trim()), Some("bob".into()));
    assert!(!text(&content).contains(alice.trim()), "the file has only hashes");
    assert_eq!(std::fs::metadata(&file).expect("it is there").permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_wrong_name_or_a_wrong_file_makes_no_token() {
    for (name, part) in [("anonymous", "choose another"), ("a b", "has only"), ("", "1 to 64 characters")] {
        let output = run(&["token", "new", name]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{name}");
        assert!(text(&output.stderr).contains(part), "{output:?}");
    }
    let directory = tempfile::tempdir().expect("room");
    let file = directory.path().join("tokens");
    std::fs::write(&file, "nonsense\n").expect("the directory is ours");
    for (path, part) in [
        (file.as_path(), ":1: a line has at least two words, this one has 1"),
        (directory.path(), "cannot be written"),
    ] {
        let output = run(&["token", "new", "alice", "--file", path.to_str().expect("plain")]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{output:?}");
        assert!(text(&output.stderr).contains(part), "{output:?}");
    }
}

#[test]
fn check_looks_at_the_tokens_file_too() {
    let directory = tempfile::tempdir().expect("room");
    let file = directory.path().join("tokens");
    new_token("alice", &file);
    for (content, status, part) in [
        (None, 0, "tokens file: well"),
        (Some("nonsense"), 1, ":1: a line has at least two words, this one has 1"),
    ] {
        if let Some(content) = content {
            std::fs::write(&file, content).expect("the directory is ours");
        }
        let free = [
            ("KUBEMQ_MCP__SERVER__LISTEN", "127.0.0.1:0"),
            ("KUBEMQ_MCP__EMBEDDED__LISTEN", "127.0.0.1:0"),
            ("KUBEMQ_MCP__AUTH__MODE", "tokens"),
            ("KUBEMQ_MCP__AUTH__TOKENS_FILE", file.to_str().expect("plain")),
        ];
        let output = Binary::command(&["check"], &free).output().expect("it runs");
        let found = text(&output.stdout);
        assert!(output.status.code() == Some(status) && found.contains(part), "{output:?}");
    }
}

/// Asks a connector behind tokens, and gives the exit status, standard output and standard error.
fn call(url: &str, arguments: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let fixed = ["call", "query_send", "--channel", "example-queries", "--body", "b", "--url", url];
    let output = Binary::command(&[&fixed, arguments].concat(), variables).output().expect("it runs");
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// Sends one ping over `stdio --connect` and gives the answer.
fn ping(url: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Value {
    let mut child = Binary::command(&[&["stdio", "--connect", url], arguments].concat(), variables)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it runs");
    let ping = json!({ "jsonrpc": "2.0", "id": 7, "method": "ping" });
    writeln!(child.stdin.as_mut().expect("it is piped"), "{ping}").expect("it reads");
    let mut line = String::new();
    let output = child.stdout.take().expect("it is piped");
    BufReader::new(output).read_line(&mut line).expect("a text");
    drop(child.stdin.take());
    assert_eq!(child.wait().expect("ours").code(), Some(0));
    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

#[test]
fn clients_show_the_token_of_a_file_or_of_the_environment() {
    let directory = tempfile::tempdir().expect("room");
    let [tokens, own] = ["tokens", "own"].map(|name| directory.path().join(name));
    let (token, _) = new_token("alice", &tokens);
    std::fs::write(&own, &token).expect("the directory is ours");
    let options = [
        ("KUBEMQ_MCP__AUTH__MODE", "tokens"),
        ("KUBEMQ_MCP__AUTH__TOKENS_FILE", tokens.to_str().expect("plain")),
    ];
    let serve = ["serve", "--demo", "--listen", "127.0.0.1:0", "--embedded-listen", "127.0.0.1:0"];
    let server = Binary::start(&serve, &options);
    let url = server.word("http://");

    let from_file = ["--token-file", own.to_str().expect("plain")];
    let from_environment = [("KUBEMQ_MCP_TOKEN", token.trim())];
    let wrong = [("KUBEMQ_MCP_TOKEN", "kmcp_hunter2")];
    for (arguments, variables) in [(&from_file[..], &wrong[..]), (&[], &from_environment)] {
        let (status, answer, error) = call(&url, arguments, variables);
        assert!(status == Some(0) && answer.contains("query response payload"), "{answer} {error}");
        assert!(ping(&url, arguments, variables)["result"].is_object());
    }
    server.logged("principal=\"alice\"", 1);
    for variables in [&[][..], &wrong] {
        let (status, _, error) = call(&url, &[], variables);
        assert_eq!(status, Some(2), "{error}");
        assert!(error.contains("give one with --token-file") && !error.contains("hunter2"), "{error}");
        let refused = ping(&url, &[], variables);
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(7), &json!(-32603)));
        let message = refused["error"]["message"].as_str().expect("a text");
        assert!(message.contains("give one with --token-file") && !message.contains("hunter2"), "{message}");
    }
    let alone = run(&["stdio", "--token-file", "any"]);
    assert!(alone.status.code() == Some(2) && text(&alone.stderr).contains("--connect"), "{alone:?}");
    for subcommand in ["call", "stdio"] {
        let help = text(&run(&[subcommand, "--help"]).stdout);
        assert!(help.contains("--token-file") && help.contains("KUBEMQ_MCP_TOKEN"), "{help}");
    }
}
