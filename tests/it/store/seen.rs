//! What an operator sees of the store: figures, readiness and the log of the real program.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::agent::Agent;
use crate::harness::binary::{Binary, STORE_PATH};
use crate::harness::event::within;

const SERVE: [&str; 6] = ["serve", "--demo", "--listen", "127.0.0.1:0", "--embedded-listen", "127.0.0.1:0"];

/// More than any disk that runs the tests has left.
const ALL_OF_THE_DISK: &str = "1099511627776";

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

/// The value of one series.
async fn figure(agent: &Agent, series: &str) -> f64 {
    let (_, text) = agent.get("/metrics").await;
    let line = text.lines().find_map(|line| line.strip_prefix(series)).unwrap_or_else(|| panic!("{text}"));
    line.trim().parse().expect("a number")
}

async fn send(agent: &Agent, channel: &str, key: &str) -> Value {
    let call = json!({ "channel": channel, "body": "b", "timeout_seconds": 1, "idempotency_key": key });
    agent.call("command_send", call).await.structured().clone()
}

#[test]
fn a_key_in_doubt_grows_older_without_anybody_calling() {
    let server = Binary::start(&SERVE, &[]);
    let agent = Agent::new(&server.word("http://"));
    runtime().block_on(async {
        assert_eq!(send(&agent, "nobody", "doubted").await["cause"], "timed_out");
        let age = async || figure(&agent, "kubemq_mcp_keys_oldest_in_doubt_seconds ").await;
        let first = age().await;
        let older = async { while age().await < first + 1.0 {} };
        within("an age that grows", older).await;
    });
}

#[test]
fn a_disk_with_too_little_room_is_told_to_operators_with_the_option_that_says_so() {
    let variables = [("KUBEMQ_MCP__STORE__FREE_BYTES_MIN", ALL_OF_THE_DISK)];
    let server = Binary::start(&SERVE, &variables);
    let agent = Agent::new(&server.word("http://"));
    runtime().block_on(async {
        assert_eq!(send(&agent, "example-commands", "new").await["cause"], "store_full");
        let full = async || figure(&agent, "kubemq_mcp_store_full{limit=\"disk\"} ").await;
        within("the figure", async { while full().await < 1.0 {} }).await;
        let (status, text) = agent.get("/readyz").await;
        let readiness: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!((status, &readiness["store_up"]), (200, &json!(true)), "old keys are told: {text}");
        let detail = readiness["store_detail"].as_str().unwrap_or_default();
        assert!(detail.contains("new keys are refused") && detail.contains("store.free_bytes_min"), "{text}");
    });
    let log = server.logged("the store takes no new keys", 1);
    let line = log.lines().find(|line| line.contains("takes no new keys")).expect("a line");
    assert!(line.contains("WARN") && line.contains("store.free_bytes_min"), "{line}");
    let log = server.logged("cause=\"store_full\"", 1);
    let line = log.lines().find(|line| line.contains("call ended")).expect("a line");
    assert!(line.contains("reason=\"the disk of the store has"), "{line}");
}

#[test]
fn the_line_of_a_status_names_the_state_of_its_key() {
    let server = Binary::start(&SERVE, &[]);
    let agent = Agent::new(&server.word("http://"));
    runtime().block_on(async {
        send(&agent, "nobody", "doubted").await;
        for key in ["doubted", "never"] {
            agent.call("command_status", json!({ "idempotency_key": key })).await;
        }
    });
    let log = server.logged("tool=\"command_status\"", 2);
    assert!(log.contains("state=\"in_doubt\"") && log.contains("state=\"absent\""), "{log}");
}

/// What `check` says of the store of this directory, and whether all is well.
fn check(directory: &Path) -> (String, bool) {
    let listen =
        [("KUBEMQ_MCP__SERVER__LISTEN", "127.0.0.1:0"), ("KUBEMQ_MCP__EMBEDDED__LISTEN", "127.0.0.1:0")];
    let output = Binary::command(&["check"], &listen).env(STORE_PATH, directory).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let line =
        text.lines().find(|line| line.starts_with("keys (store.path)")).unwrap_or_else(|| panic!("{text}"));
    (line.to_owned(), output.status.success())
}

#[test]
fn check_says_what_a_start_would_find_and_changes_nothing() {
    let directory = TempDir::new().unwrap();
    let new = directory.path().join("above/new");
    let (line, well) = check(&new);
    assert!(well && line.contains("would be made"), "{line}");
    assert!(!directory.path().join("above").exists(), "nothing is made");

    let used = directory.path().join("used");
    drop(super::start(&used).unwrap());
    let (line, well) = check(&used);
    assert!(well && line.contains("is there and free") && line.contains("store check"), "{line}");

    let held = super::open(&used).unwrap();
    let (line, well) = check(&used);
    assert!(!well && line.contains(&format!("process {}", std::process::id())), "{line}");
    drop(held);

    std::fs::remove_file(used.join("db")).unwrap();
    let (line, well) = check(&used);
    assert!(!well && line.contains("was emptied"), "{line}");

    let foreign = directory.path().join("foreign");
    std::fs::create_dir(&foreign).unwrap();
    std::fs::write(foreign.join("notes.txt"), "mine").unwrap();
    let (line, well) = check(&foreign);
    assert!(!well && line.contains("`notes.txt`"), "{line}");

    let (line, well) = check(&foreign.join("notes.txt"));
    assert!(!well && line.contains("make the directory: not a directory"), "{line}");
}

#[test]
fn a_start_that_waits_for_another_process_says_so_at_once() {
    let first = Binary::start(&SERVE, &[]);
    let directory = first.store().to_str().expect("plain").to_owned();
    let variables = [("KUBEMQ_MCP__STORE__PATH", &*directory), ("KUBEMQ_MCP__STORE__LOCK_WAIT_SECONDS", "1")];
    let second = Binary::launch(&SERVE, &variables);
    let log = second.logged("another process uses the store", 1);
    let line = log.lines().find(|line| line.contains("another process")).expect("a line");
    for part in ["WARN", &directory, &format!("holder=\"{}\"", first.id()), "seconds=1"] {
        assert!(line.contains(part), "{part} in {line}");
    }
}
