//! What is not a store of ours, or is one no more, is refused with what to do, and left as it is.

use std::fs;
use std::path::Path;

use kubemq_mcp::idempotency::OpenError;
use tempfile::TempDir;

use super::{fill, open, start};

fn used() -> TempDir {
    let directory = TempDir::new().expect("a temporary directory");
    fill(&mut start(directory.path()).expect("a store"), 0..300);
    directory
}

/// The error, which must name the directory and advise.
fn refused(directory: &Path, advice: &str) -> OpenError {
    let error = open(directory).err().expect("a refusal");
    let text = error.to_string();
    assert!(text.contains(&directory.display().to_string()) && text.contains(advice), "{text}");
    error
}

const RESTORE: &str = "restore the whole directory from a backup, or move it away to begin anew";

#[test]
fn files_of_others_without_a_store_are_left_alone() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("holiday.jpg"), "").unwrap();
    let error = refused(directory.path(), "name a directory of its own");
    assert!(matches!(error, OpenError::Foreign { found, .. } if found == "holiday.jpg"));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "not even a lock is left");
}

#[test]
fn a_store_whose_name_is_gone_is_not_taken_for_a_new_one() {
    let directory = used();
    fs::remove_file(directory.path().join("STORE")).unwrap();
    assert!(matches!(refused(directory.path(), "restore the missing file"), OpenError::Foreign { .. }));
}

#[test]
fn a_fresh_disk_with_its_own_folder_becomes_a_store() {
    let directory = TempDir::new().unwrap();
    fs::create_dir(directory.path().join("lost+found")).unwrap();
    open(directory.path()).unwrap();
}

#[test]
fn a_file_in_place_of_the_directory_is_refused() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("file");
    fs::write(&path, "").unwrap();
    assert!(matches!(refused(&path, "make the directory"), OpenError::Unusable { .. }));
}

#[test]
fn a_used_store_without_its_log_is_not_taken_for_a_new_one() {
    for emptied in [true, false] {
        let directory = used();
        let db = directory.path().join("db");
        if emptied {
            fs::write(&db, "").unwrap()
        } else {
            fs::remove_file(&db).unwrap()
        }
        assert!(matches!(refused(directory.path(), RESTORE), OpenError::Emptied { .. }));
        assert!(emptied || !db.exists(), "nothing was made");
    }
}

#[test]
fn the_files_of_another_store_are_refused() {
    let (ours, other) = (used(), used());
    for entry in fs::read_dir(other.path()).unwrap().flatten().filter(|entry| entry.path().is_file()) {
        if entry.file_name() != "STORE" {
            fs::copy(entry.path(), ours.path().join(entry.file_name())).unwrap();
        }
    }
    // The snapshot of the one does not fit the log of the other.
    let theirs = |name: &std::ffi::OsStr| other.path().join(name).exists();
    for entry in fs::read_dir(ours.path()).unwrap().flatten() {
        if !theirs(&entry.file_name()) {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    assert!(matches!(refused(ours.path(), RESTORE), OpenError::Replaced { .. }));
}

#[test]
fn a_new_empty_log_in_a_used_store_is_refused() {
    let directory = used();
    let fresh = TempDir::new().unwrap();
    drop(open(fresh.path()).unwrap());
    for entry in fs::read_dir(directory.path()).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if name == "db" || name == "conf" || name.starts_with("snap.") {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    fs::copy(fresh.path().join("db"), directory.path().join("db")).unwrap();
    assert!(matches!(refused(directory.path(), RESTORE), OpenError::Replaced { .. }));
}

#[test]
fn a_garbled_name_is_refused() {
    let directory = used();
    fs::write(directory.path().join("STORE"), "kubemq-mcp store\nformat 1\n").unwrap();
    assert!(matches!(refused(directory.path(), RESTORE), OpenError::Nameplate { .. }));
}

#[test]
fn the_store_of_a_newer_program_is_refused() {
    let directory = used();
    fs::write(directory.path().join("STORE"), "kubemq-mcp store\nformat 2\nmore\n").unwrap();
    assert!(matches!(refused(directory.path(), "run that program"), OpenError::Newer { .. }));
}
