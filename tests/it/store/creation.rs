//! A crash at any step of making a store leaves something that the next start makes a store of.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::{all, blobs, fill, open, start};

const CREATING: &str =
    "kubemq-mcp store\nformat 1\ninstance 000000000000000000000000000000aa\nstate creating\n";

fn becomes_a_store(directory: &Path) {
    let mut store = start(directory).expect("a store");
    assert_eq!((all(&store).len(), blobs(directory)), (0, 0));
    fill(&mut store, 0..100);
    drop(store);
    assert_eq!(all(&start(directory).expect("a store")).len(), 100);
    assert!(
        fs::read_to_string(directory.join("STORE")).expect("a disk that works").ends_with("state ready\n")
    );
    assert!(!directory.join("STORE.new").exists());
}

/// As it is when the process dies after the head and before `ready`.
fn unfinished() -> TempDir {
    let directory = TempDir::new().expect("a temporary directory");
    drop(open(directory.path()).expect("a store"));
    let name = fs::read_to_string(directory.path().join("STORE")).expect("a disk that works");
    fs::write(directory.path().join("STORE"), name.replace("ready", "creating")).expect("a disk that works");
    directory
}

#[test]
fn after_the_directory() {
    let directory = TempDir::new().unwrap();
    becomes_a_store(directory.path());
}

#[test]
fn after_the_lock() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("LOCK"), "1\n").unwrap();
    becomes_a_store(directory.path());
}

#[test]
fn while_the_name_is_written() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("LOCK"), "").unwrap();
    fs::write(directory.path().join("STORE.new"), &CREATING[..20]).unwrap();
    becomes_a_store(directory.path());
}

#[test]
fn after_the_name() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("STORE"), CREATING).unwrap();
    becomes_a_store(directory.path());
}

#[test]
fn while_sled_makes_its_files() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("STORE"), CREATING).unwrap();
    fs::create_dir(directory.path().join("blobs")).unwrap();
    fs::write(directory.path().join("conf"), "segment_s").unwrap();
    fs::write(directory.path().join("db"), "").unwrap();
    fs::write(directory.path().join("snap.0000000000000000.generating"), "torn").unwrap();
    becomes_a_store(directory.path());
}

#[test]
fn while_the_head_is_written() {
    let directory = unfinished();
    let db = fs::OpenOptions::new().write(true).open(directory.path().join("db")).unwrap();
    db.set_len(db.metadata().unwrap().len() / 2).unwrap();
    becomes_a_store(directory.path());
}

#[test]
fn before_the_store_is_called_ready() {
    becomes_a_store(unfinished().path());
}

#[test]
fn while_it_is_called_ready() {
    let directory = unfinished();
    fs::write(directory.path().join("STORE.new"), "kubemq-mcp store\nfor").unwrap();
    becomes_a_store(directory.path());
}

#[test]
fn files_beside_an_unfinished_store_are_left_alone() {
    let directory = unfinished();
    fs::write(directory.path().join("notes.txt"), "mine").unwrap();
    becomes_a_store(directory.path());
    assert_eq!(fs::read_to_string(directory.path().join("notes.txt")).unwrap(), "mine");
}
