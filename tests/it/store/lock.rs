//! One process at a time, and whoever comes second learns whom to stop.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use kubemq_mcp::idempotency::{Config, OpenError, SledStore};
use tempfile::TempDir;

use super::{config, open, start};

/// Set for the process that shall hold a store until it is killed.
const HOLD: &str = "KUBEMQ_MCP_TEST_HOLDS_STORE";

#[test]
fn holding_a_store_in_another_process() {
    let Some(directory) = std::env::var_os(HOLD).map(PathBuf::from) else { return };
    let _store = start(&directory).unwrap();
    println!("holding");
    loop {
        std::thread::park();
    }
}

fn hold(directory: &TempDir) -> Child {
    let mut child = Command::new(std::env::current_exe().expect("the test program"))
        .args(["store::lock::holding_a_store_in_another_process", "--exact", "--nocapture"])
        .env(HOLD, directory.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a disk that works");
    let out = BufReader::new(child.stdout.take().expect("its output"));
    assert!(out.lines().map_while(Result::ok).any(|line| line.contains("holding")), "the store is held");
    child
}

#[test]
fn a_second_process_is_told_whom_to_stop() {
    let directory = TempDir::new().unwrap();
    let mut child = hold(&directory);
    let refused = open(directory.path()).err().expect("the store is in use");
    let text = refused.to_string();
    assert!(
        matches!(refused, OpenError::Locked { holder: Some(holder), .. } if holder == child.id()),
        "{text}"
    );
    for part in [&directory.path().display().to_string(), &child.id().to_string(), "stdio --connect URL"] {
        assert!(text.contains(part), "{text}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    drop(start(directory.path()).expect("a killed process holds nothing"));
}

#[test]
fn a_second_handle_of_one_process_waits_and_gets_the_store() {
    let directory = TempDir::new().unwrap();
    let first = open(directory.path()).unwrap();
    assert!(matches!(open(directory.path()), Err(OpenError::Locked { .. })));
    let patient = Config { lock_wait_seconds: 60, ..config(directory.path()) };
    let second = std::thread::spawn(move || SledStore::open(&patient));
    drop(first);
    second.join().unwrap().expect("the first has let go");
}

#[test]
fn opening_again_at_once_works_every_time() {
    let directory = TempDir::new().unwrap();
    for _ in 0..20 {
        drop(start(directory.path()).unwrap());
    }
}

#[test]
fn a_lock_of_sled_alone_is_told_as_one() {
    let directory = TempDir::new().unwrap();
    drop(open(directory.path()).unwrap());
    // As an older program without our own file would hold it.
    let db = std::fs::File::open(directory.path().join("db")).unwrap();
    db.try_lock().unwrap();
    assert!(matches!(open(directory.path()), Err(OpenError::Locked { .. })));
}
