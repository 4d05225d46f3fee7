//! The audit through the real connector: an intent before a command leaves, a line when a call has ended, and no command
//! without its intent.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kubemq_mcp::domain::Kind;
use serde_json::{Value, json};

use crate::harness::agent::{Agent, Era};
use crate::harness::binary::Binary;
use crate::harness::connector::{Connector, echo, rejection};
use crate::harness::event::within;

/// The lines of a file, in their order.
fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    text.lines().filter(|line| !line.is_empty()).map(read).collect()
}

async fn until(path: &Path, count: usize) -> Vec<Value> {
    let there = async {
        loop {
            let lines = lines(path);
            if lines.len() >= count {
                return lines;
            }
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    };
    within(&format!("{count} lines of the audit"), there).await
}

struct Place {
    _directory: tempfile::TempDir,
    path: PathBuf,
    connector: Connector,
}

async fn place() -> Place {
    let directory = tempfile::tempdir().expect("room");
    let folder = directory.path().join("folder");
    std::fs::create_dir(&folder).expect("room");
    let path = folder.join("audit.jsonl");
    let text = path.to_str().expect("plain").to_owned();
    let connector = Connector::with(|config| {
        config.audit.path = text;
        // A file for each batch: a folder that is gone is noticed at once.
        config.audit.file_bytes_max = 4_096;
    })
    .await;
    Place { _directory: directory, path, connector }
}

fn command(channel: &str, key: Option<&str>) -> Value {
    let mut call = json!({ "channel": channel, "body": "s3cret-body", "metadata": "s3cret-meta", "timeout_seconds": 2,
        "tags": { "t": "s3cret-tag" } });
    if let Some(key) = key {
        call["idempotency_key"] = key.into();
    }
    call
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_has_an_intent_before_it_leaves_and_an_outcome_after() {
    let place = place().await;
    let (path, seen) = (place.path.clone(), Arc::new(std::sync::Mutex::new(Vec::new())));
    let noted = Arc::clone(&seen);
    let looking = move |asked| {
        // What the file has when the command arrives.
        noted.lock().expect("nobody panics").push(lines(&path));
        echo(asked)
    };
    let responder = place.connector.responder(Kind::Command, "orders", looking).await;
    let agent = place.connector.agent();
    for (era, key) in [(Era::Plain, None), (Era::Modern, Some("s3cret-key"))] {
        agent.call_in(era, "command_send", command("orders", key)).await;
    }
    agent.call("command_send", command("orders", Some("s3cret-key"))).await;
    let lines = until(&place.path, 5).await;
    let kinds: Vec<&str> = lines.iter().map(|line| line["kind"].as_str().expect("a kind")).collect();
    assert_eq!(kinds, ["intent", "outcome", "intent", "outcome", "outcome"], "{lines:?}");
    let seen = std::mem::take(&mut *seen.lock().expect("nobody panics"));
    for (index, before) in seen.iter().enumerate() {
        let last = before.last().expect("its intent");
        assert_eq!((&last["kind"], &last["request_id"]), (&json!("intent"), &lines[2 * index]["request_id"]));
    }
    let (intent, outcome, replay) = (&lines[2], &lines[3], &lines[4]);
    assert_eq!(intent["request_id"], outcome["request_id"]);
    assert_eq!(intent["key"], outcome["key"]);
    for (name, value) in [
        ("principal", json!("anonymous")),
        ("tool", json!("command_send")),
        ("channel", json!("orders")),
        ("cause", json!("completed")),
        ("outcome", json!("executed")),
        ("executed", json!(true)),
        ("replayed", json!(false)),
    ] {
        assert_eq!(outcome[name], value, "{name}: {outcome}");
    }
    assert!(outcome["elapsed_ms"].is_u64() && outcome["time"].is_string(), "{outcome}");
    assert_eq!(replay["replayed"], true, "what is told again has its line, and no intent: {replay}");
    let text = std::fs::read_to_string(&place.path).expect("it is there");
    assert!(!text.contains("s3cret"), "{text}");
    responder.stop().await;
    place.connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_has_one_line_and_what_is_refused_one_too() {
    let place = place().await;
    let queries = place.connector.responder(Kind::Query, "orders", echo).await;
    let commands = place.connector.responder(Kind::Command, "orders", |_| rejection("s3cret-reason")).await;
    let agent = place.connector.agent();
    agent.call("query_send", json!({ "channel": "orders", "body": "b" })).await;
    agent.call("query_send", json!({ "channel": "a b", "body": "b" })).await;
    agent.call("command_send", json!({ "channel": "orders" })).await;
    agent.call("command_status", json!({ "idempotency_key": "k" })).await;
    agent.call("command_send", command("orders", None)).await;
    let lines = until(&place.path, 6).await;
    let told: Vec<_> = lines
        .iter()
        .map(|line| (line["kind"].as_str().unwrap_or(""), line["cause"].as_str().unwrap_or("")))
        .collect();
    assert_eq!(
        told,
        [
            ("query", "completed"),
            ("refused", "invalid_arguments"),
            ("refused", "invalid_arguments"),
            ("query", "completed"),
            ("intent", ""),
            ("outcome", "rejected")
        ]
    );
    assert!(!std::fs::read_to_string(&place.path).expect("it is there").contains("s3cret"));
    queries.stop().await;
    commands.stop().await;
    place.connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_whose_intent_cannot_be_written_is_not_sent_and_its_key_stays_free() {
    let place = place().await;
    let responder = place.connector.responder(Kind::Command, "orders", echo).await;
    let queries = place.connector.responder(Kind::Query, "orders", echo).await;
    let agent = place.connector.agent();
    // The file is put aside with every batch once it has its size; without its folder that fails.
    let fill = async {
        while std::fs::metadata(&place.path).map_or(0, |file| file.len()) < 3_900 {
            agent.call("query_send", json!({ "channel": "orders", "body": "b" })).await;
        }
    };
    within("a file that is nearly full", fill).await;
    let folder = place.path.parent().expect("it stands in one").to_owned();
    let away = folder.with_extension("away");
    std::fs::rename(&folder, &away).expect("the directory is ours");
    let refused = async {
        loop {
            let answer = agent.call("command_send", command("orders", Some("k"))).await;
            if answer.structured()["cause"] == "audit_unavailable" {
                return answer;
            }
        }
    };
    let refused = within("a refusal", refused).await;
    let told = refused.structured();
    assert_eq!((&told["outcome"], &told["retry"]), (&json!("not_sent"), &json!("again")), "{told}");
    let fresh = agent.call("command_send", command("orders", Some("fresh"))).await;
    assert_eq!(fresh.structured()["cause"], "audit_unavailable");
    assert_eq!(fresh.structured()["executed"], false, "the key was looked up and is new: {fresh:?}");
    let status = agent.call("command_status", json!({ "idempotency_key": "fresh" })).await;
    assert_eq!(status.structured()["state"], "absent", "its claim was taken back");
    let (status, text) = agent.get("/readyz").await;
    assert!(status == 503 && text.contains("\"audit_up\":false"), "{text}");
    std::fs::rename(&away, &folder).expect("the directory is ours");
    let again = agent.call("command_send", command("orders", Some("fresh"))).await;
    assert_eq!(again.structured()["cause"], "completed", "it recovers by itself: {again:?}");
    assert_eq!(agent.get("/readyz").await.0, 200);
    responder.stop().await;
    queries.stop().await;
    place.connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_put_aside_under_load_loses_no_line() {
    let place = place().await;
    let responder = place.connector.responder(Kind::Command, "orders", echo).await;
    let agent = place.connector.agent();
    let calls = (0..200).map(|_| agent.call("command_send", json!({ "channel": "orders", "body": "b" })));
    futures_util::future::join_all(calls).await;
    responder.stop().await;
    place.connector.stop().await;
    let folder = place.path.parent().expect("it stands in one");
    let mut all = Vec::new();
    let mut files = 0;
    for entry in std::fs::read_dir(folder).expect("it is there").flatten() {
        files += 1;
        all.extend(lines(&entry.path()));
    }
    let count = |kind: &str| all.iter().filter(|line| line["kind"] == kind).count();
    assert_eq!((count("intent"), count("outcome")), (200, 200), "in {files} files");
    assert!(files > 5, "only {files} files");
}

#[test]
fn a_wrong_path_stops_the_start_and_check_tells_it() {
    let variables = [("KUBEMQ_MCP__AUDIT__PATH", "/nowhere/audit.jsonl")];
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--embedded-listen", "127.0.0.1:0"];
    let output = Binary::command(&arguments, &variables).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(1) && text.contains("`/nowhere/audit.jsonl` cannot be written"),
        "{text}"
    );
    let checked = Binary::command(&["check"], &variables).output().expect("it runs");
    let text = String::from_utf8_lossy(&checked.stdout);
    assert!(!checked.status.success() && text.contains("audit: the audit `/nowhere/audit.jsonl`"), "{text}");
}

#[test]
fn an_operators_word_has_its_line() {
    let directory = tempfile::tempdir().expect("room");
    let path = directory.path().join("audit.jsonl");
    let arguments = ["serve", "--demo", "--listen", "127.0.0.1:0", "--embedded-listen", "127.0.0.1:0"];
    let server = Binary::start(&arguments, &[("KUBEMQ_MCP__AUDIT__PATH", path.to_str().expect("plain"))]);
    let url = server.word("http://");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let agent = Agent::new(&url);
    let call =
        json!({ "channel": "nobody", "body": "b", "timeout_seconds": 1, "idempotency_key": "doubted" });
    runtime.block_on(agent.call("command_send", call));
    let base = url.trim_end_matches("/mcp");
    let resolve = [
        "key",
        "resolve",
        "doubted",
        "--rejected",
        "--why",
        "not in the ledger",
        "--by",
        "ann",
        "--url",
        base,
    ];
    assert!(Binary::command(&resolve, &[]).output().expect("it runs").status.success());
    let forget = ["key", "forget", "doubted", "--url", base];
    assert!(Binary::command(&forget, &[]).output().expect("it runs").status.success());
    let lines = runtime.block_on(until(&path, 4));
    let (resolved, forgotten) = (&lines[2], &lines[3]);
    assert_eq!(
        (&resolved["kind"], &resolved["action"]),
        (&json!("operator"), &json!("resolve")),
        "{lines:?}"
    );
    assert_eq!((&resolved["by"], &resolved["why"]), (&json!("ann"), &json!("not in the ledger")));
    assert_eq!((&forgotten["action"], &forgotten["may_run_again"]), (&json!("forget"), &json!(false)));
    assert_eq!(resolved["key"], lines[0]["key"], "the same digest as that of the command");
}
