//! `store check`: says what is in a store and what is wrong with it, and changes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use kubemq_mcp::idempotency::{Doubt, OpenError, Problem, Record, SledStore, State, Store, Timestamp, View};
use tempfile::TempDir;

use super::{change, claimed, commit, fill, open, settled, start};

fn program(directory: &Path) -> Output {
    let program = std::env::var_os("KUBEMQ_MCP_TEST_PROGRAM")
        .unwrap_or_else(|| env!("CARGO_BIN_EXE_kubemq-mcp").into());
    Command::new(program).args(["store", "check"]).arg(directory).output().expect("the program")
}

fn bytes(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let files =
        fs::read_dir(directory).expect("a directory").flatten().filter(|entry| entry.path().is_file());
    // The lock names whoever has looked last.
    let files = files.filter(|entry| entry.file_name() != "LOCK");
    files
        .map(|entry| {
            (entry.file_name().into_string().expect("a name"), fs::read(entry.path()).expect("a name"))
        })
        .collect()
}

fn doubted(number: u64) -> Record {
    let since = Timestamp::from_milliseconds(1_700_000_000_000);
    Record { state: State::InDoubt, doubt: Some((since, Doubt::Interrupted)), ..claimed(number) }
}

#[test]
fn a_sound_store_is_counted_and_left_as_it_is() {
    let directory = TempDir::new().unwrap();
    let mut store = start(directory.path()).unwrap();
    fill(&mut store, 0..50);
    let more = [claimed(50), doubted(51), settled(52, "no stock")];
    commit(&mut store, &more.map(|record| change(None, Some(record))));
    drop(store);
    let before = bytes(directory.path());
    let report = SledStore::check(directory.path()).unwrap();
    assert!(report.is_sound(), "{report:?}");
    assert_eq!((report.records, report.in_progress, report.in_doubt), (53, 1, 1));
    assert_eq!((report.executed, report.rejected), (50, 1));
    assert_eq!(report.oldest_in_doubt, doubted(51).doubt.map(|(since, _)| since));

    let output = program(directory.path());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    for part in ["records: 53 (1 in progress", "oldest in doubt: since 2023-11-14T22:13:20.000Z", "\nsound\n"]
    {
        assert!(text.contains(part), "{text}");
    }
    assert!(bytes(directory.path()) == before, "the store was not changed");
}

#[test]
fn a_store_in_use_is_not_checked() {
    let directory = TempDir::new().unwrap();
    let store = open(directory.path()).unwrap();
    assert!(matches!(SledStore::check(directory.path()), Err(OpenError::Locked { .. })));
    let output = program(directory.path());
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&output.stderr)
            .contains(&format!("in use by process {}", std::process::id()))
    );
    drop(store);
}

#[test]
fn a_wrong_count_is_told() {
    let directory = TempDir::new().unwrap();
    let mut store = start(directory.path()).unwrap();
    fill(&mut store, 0..10);
    let head = store.head();
    store.commit(&[change(None, Some(settled(99, "")))], &head).unwrap();
    drop(store);
    let report = SledStore::check(directory.path()).unwrap();
    assert!(!report.is_sound());
    assert_eq!(report.problems, [Problem::Count { counted: 10, found: 11 }]);

    let output = program(directory.path());
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("damaged: the store has counted 10 records and holds 11\n"), "{text}");
    assert!(text.contains("not sound"), "{text}");
}

#[test]
fn a_store_that_cannot_be_opened_is_told_under_its_own_name() {
    let directory = TempDir::new().unwrap();
    drop(start(directory.path()).unwrap());
    fs::write(directory.path().join("conf"), "segment_size: what").unwrap();
    let error = SledStore::check(directory.path()).expect_err("a refusal").to_string();
    assert!(error.contains(&directory.path().display().to_string()), "{error}");
    assert_eq!(program(directory.path()).status.code(), Some(1));
}

#[test]
fn no_store_is_no_store() {
    let directory = TempDir::new().unwrap();
    assert!(matches!(SledStore::check(directory.path()), Err(OpenError::Foreign { .. })));
    assert!(matches!(SledStore::check(&directory.path().join("none")), Err(OpenError::Unusable { .. })));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_copy_without_a_lock_is_checked_and_gets_none() {
    let directory = TempDir::new().unwrap();
    drop(start(directory.path()).unwrap());
    fs::remove_file(directory.path().join("LOCK")).unwrap();
    assert!(SledStore::check(directory.path()).unwrap().is_sound());
    assert!(!directory.path().join("LOCK").exists());
}
