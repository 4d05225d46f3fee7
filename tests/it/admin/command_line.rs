//! `kubemq-mcp key` with the real program, against the real program.

use std::process::Command;

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::harness::agent::Agent;
use crate::harness::binary::Binary;
use crate::harness::nowhere::Nowhere;

const SERVE: [&str; 6] = ["serve", "--demo", "--listen", "127.0.0.1:0", "--embedded-listen", "127.0.0.1:0"];

/// A connector, and an operator at a terminal beside it.
struct Desk {
    server: Binary,
    runtime: tokio::runtime::Runtime,
}

/// What a command of the operator left.
#[derive(Debug)]
struct Left {
    status: Option<i32>,
    output: String,
    errors: String,
}

impl Desk {
    fn new(variables: &[(&str, &str)]) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        Self { server: Binary::start(&SERVE, variables), runtime: runtime.expect("a runtime") }
    }

    fn url(&self) -> String {
        self.server.word("http://").trim_end_matches("/mcp").to_owned()
    }

    fn key(&self, arguments: &[&str]) -> Left {
        key(&[arguments, &["--url", &self.url()]].concat())
    }

    /// Sends commands with these keys; on `nobody` they end in doubt.
    fn send(&self, channel: &str, keys: &[String]) -> Vec<Value> {
        let agent = Agent::new(&self.server.word("http://"));
        let send = |key: &String| {
            let call =
                json!({ "channel": channel, "body": "b", "timeout_seconds": 1, "idempotency_key": key });
            let agent = agent.clone();
            async move { agent.call("command_send", call).await.structured().clone() }
        };
        self.runtime.block_on(join_all(keys.iter().map(send)))
    }
}

fn key(arguments: &[&str]) -> Left {
    let output = Binary::command(&[&["key"], arguments].concat(), &[]).output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("a text");
    Left { status: output.status.code(), output: text(output.stdout), errors: text(output.stderr) }
}

#[test]
fn a_key_in_doubt_is_found_settled_and_forgotten_and_the_log_has_who_and_why_and_not_the_key() {
    let desk = Desk::new(&[]);
    let (secret, other) = ("order 4711/ä".to_owned(), "order-4712".to_owned());
    desk.send("nobody", &[secret.clone(), other.clone()]);
    desk.send("example-commands", &["done".to_owned()]);

    let listed = desk.key(&["list", "--state", "in_doubt"]);
    assert_eq!(listed.status, Some(0), "{listed:?}");
    let lines: Vec<&str> = listed.output.lines().collect();
    assert_eq!(lines.len(), 3, "{listed:?}");
    assert!(lines[0].starts_with("state     first_sent_at") && lines[0].ends_with("  key"), "{listed:?}");
    assert!(lines.iter().any(|line| line.starts_with("in_doubt  ") && line.ends_with(&secret)), "{listed:?}");
    let shown = desk.key(&["show", &secret]);
    assert!(shown.output.contains("\nstate           in_doubt\n"), "{shown:?}");
    assert!(shown.output.contains("\nin doubt why    timed_out\n"), "{shown:?}");

    let resolved = desk.key(&["resolve", &secret, "--executed", "--why", "seen in the ledger"]);
    assert_eq!(resolved.status, Some(0), "{resolved:?}");
    assert!(resolved.output.starts_with("resolved: from here on a retry is told `executed`"), "{resolved:?}");
    let user = Command::new("id").arg("-un").output().expect("it runs").stdout;
    let user = String::from_utf8(user).expect("a text").trim().to_owned();
    assert!(resolved.output.contains(&format!("\nresolved by     {user}\n")), "{resolved:?}");
    let told = &desk.send("nobody", std::slice::from_ref(&secret))[0];
    assert_eq!((&told["outcome"], &told["resolved_by"]), (&json!("executed"), &json!(user)));

    let refused = desk.key(&["forget", &other]);
    assert!(refused.status == Some(1) && refused.errors.contains("say --may-run-again"), "{refused:?}");
    let forgotten = desk.key(&["forget", &other, "--may-run-again"]);
    assert_eq!(forgotten.status, Some(0), "{forgotten:?}");
    let absent = desk.key(&["show", &other]);
    assert!(absent.status == Some(1) && absent.errors.contains("anonymous has no such key"), "{absent:?}");
    assert_eq!(
        desk.send("nobody", std::slice::from_ref(&other))[0]["cause"],
        "timed_out",
        "it is sent again"
    );

    let log = desk.server.logged("an operator has made a key forgotten", 1);
    let line = |message: &str| log.lines().find(|line| line.contains(message)).expect(message).to_owned();
    let resolve = line("an operator has resolved a key in doubt");
    for part in ["WARN", "principal=\"anonymous\"", "channel=\"nobody\"", "why=\"seen in the ledger\""] {
        assert!(resolve.contains(part), "{resolve}");
    }
    assert!(resolve.contains(&format!("by=\"{user}\"")) && resolve.contains("request_id=\""), "{resolve}");
    let forget = line("an operator has made a key forgotten");
    assert!(forget.contains("WARN") && forget.contains("may_run_again=true"), "{forget}");
    assert!(!log.contains("4711") && !log.contains("4712"), "{log}");
    let digest =
        shown.output.lines().find_map(|line| line.strip_prefix("key in the log")).expect("a line").trim();
    assert!(resolve.contains(&format!("key=\"{digest}\"")), "{resolve}");
}

#[test]
fn a_list_follows_its_pieces_up_to_the_limit() {
    let desk = Desk::new(&[]);
    let keys: Vec<String> = (0..510).map(|index| format!("key-{index}")).collect();
    desk.send("example-commands", &keys);
    let listed = |limit: &str| {
        let listed = desk.key(&["list", "--json", "--limit", limit, "--principal", "anonymous"]);
        assert_eq!(listed.status, Some(0), "{listed:?}");
        (serde_json::from_str::<Vec<Value>>(&listed.output).expect("a list").len(), listed.errors)
    };
    assert_eq!(listed("10000"), (510, String::new()));
    let (count, note) = listed("505");
    assert!(count == 505 && note.contains("there may be more than 505"), "{count} {note}");
    let none = desk.key(&["list", "--principal", "alice"]);
    assert_eq!((none.status, none.output.as_str()), (Some(0), "no keys\n"));
}

#[test]
fn json_has_everything_as_it_is_and_lines_have_nothing_that_steers_a_terminal() {
    let desk = Desk::new(&[]);
    // A key has no control characters; this one makes a terminal write backwards.
    let evil = "a\u{202e}b".to_owned();
    desk.send("nobody", std::slice::from_ref(&evil));
    let shown = desk.key(&["show", &evil]);
    assert!(shown.output.contains("a\\u{202e}b") && !shown.output.contains('\u{202e}'), "{shown:?}");
    let json = desk.key(&["show", &evil, "--json"]);
    let record: Value = serde_json::from_str(&json.output).expect("JSON");
    assert_eq!((&record["key"], &record["resolved_by"]), (&json!(evil), &Value::Null));
    let resolved = desk.key(&["resolve", &evil, "--rejected", "--why", "not there", "--by", "ann", "--json"]);
    let record: Value = serde_json::from_str(&resolved.output).expect("JSON");
    assert_eq!((&record["state"], &record["resolved_by"]), (&json!("rejected"), &json!("ann")));
    let forgotten = desk.key(&["forget", &evil, "--json"]);
    let record: Value = serde_json::from_str(&forgotten.output).expect("JSON");
    assert_eq!(record["forgotten"]["resolved_why"], "not there");
}

#[test]
fn what_was_wrong_is_told_with_what_would_be_right() {
    let nowhere = Nowhere::new();
    let silent = key(&["list", "--url", &format!("http://{}", nowhere.address)]);
    assert!(
        silent.status == Some(1) && silent.errors.contains("is `kubemq-mcp serve` running?"),
        "{silent:?}"
    );
    assert!(silent.errors.contains(&nowhere.address.to_string()), "{silent:?}");

    let desk = Desk::new(&[("KUBEMQ_MCP__HTTP__ALLOWED_HOSTS", "keys.example")]);
    let refused = desk.key(&["list"]);
    assert!(refused.status == Some(1) && refused.errors.contains("http.allowed_hosts"), "{refused:?}");
    assert!(refused.errors.contains("--token-file"), "{refused:?}");

    let desk = Desk::new(&[]);
    let path = key(&["list", "--url", &format!("{}/mcp", desk.url())]);
    assert!(path.status == Some(1) && path.errors.contains("without a path"), "{path:?}");
    desk.send("example-commands", &["done".to_owned()]);
    let settled = desk.key(&["resolve", "done", "--executed", "--why", "x"]);
    assert!(
        settled.status == Some(1) && settled.errors.contains("is executed and not in doubt"),
        "{settled:?}"
    );
    let empty = desk.key(&["resolve", "done", "--executed", "--why", ""]);
    assert!(empty.status == Some(1) && empty.errors.contains("`why` must not be empty"), "{empty:?}");
    for wrong in [
        &["resolve", "k", "--why", "x"][..],
        &["resolve", "k", "--executed", "--rejected", "--why", "x"],
        &["show", ""],
        &["list", "--state", "doubt"],
    ] {
        assert_eq!(desk.key(wrong).status, Some(2), "{wrong:?}");
    }
}

#[test]
fn with_a_token_of_operators_it_is_shown_from_a_file_and_never_printed() {
    let directory = tempfile::tempdir().expect("room");
    let [right, wrong] = ["right", "wrong"].map(|name| directory.path().join(name));
    std::fs::write(&right, "0123456789abcdef-hunter2\n").expect("the directory is ours");
    std::fs::write(&wrong, "0123456789abcdef-hunter3\n").expect("the directory is ours");
    let path = |file: &std::path::PathBuf| file.to_str().expect("plain").to_owned();
    let desk = Desk::new(&[("KUBEMQ_MCP__ADMIN__TOKEN_FILE", &path(&right))]);
    let none = desk.key(&["list"]);
    assert!(none.status == Some(1) && none.errors.contains("with --token-file"), "{none:?}");
    let other = desk.key(&["list", "--token-file", &path(&wrong)]);
    assert!(other.status == Some(1) && other.errors.contains("does not know the token"), "{other:?}");
    let listed = desk.key(&["list", "--token-file", &path(&right)]);
    assert_eq!((listed.status, listed.output.as_str()), (Some(0), "no keys\n"), "{listed:?}");
    let missing = desk.key(&["list", "--token-file", "/nowhere/token"]);
    assert!(missing.status == Some(1) && missing.errors.contains("cannot be read"), "{missing:?}");
    for text in [desk.server.log(), none.errors, other.errors, listed.errors] {
        assert!(!text.contains("hunter"), "{text}");
    }
}

#[test]
fn a_wrong_token_of_operators_stops_the_start_and_check_tells_it() {
    let file = tempfile::NamedTempFile::new().expect("room");
    std::fs::write(file.path(), "hunter2\n").expect("it is ours");
    let variables = [("KUBEMQ_MCP__ADMIN__TOKEN_FILE", file.path().to_str().expect("plain"))];
    for arguments in [&SERVE[..], &["check"]] {
        let output = Binary::command(arguments, &variables).output().expect("it runs");
        let told = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains("shorter than 16 characters") && !told.contains("hunter2"), "{told}");
    }
}
