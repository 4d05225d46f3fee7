//! Damaged files: refused with a reason or read to the last record; never a panic, a hang, or a store that has forgotten.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::mpsc;
use std::time::Duration;

use tempfile::TempDir;

use super::{all, fill, settled, start};

const RECORDS: u64 = 4_000;
const PATIENCE: Duration = Duration::from_secs(60);

/// Copies a store that was opened several times, so that it has a snapshot and a log behind it.
fn store() -> TempDir {
    static USED: OnceLock<TempDir> = OnceLock::new();
    let used = USED.get_or_init(|| {
        let directory = TempDir::new().expect("a temporary directory");
        for part in 0..4 {
            fill(
                &mut start(directory.path()).expect("a store"),
                part * RECORDS / 4..(part + 1) * RECORDS / 4,
            );
        }
        // sled ends on threads of its own and keeps its lock until it has: a copy made before would be none.
        let db = File::open(directory.path().join("db")).expect("sled's file");
        db.lock().expect("a file system with locks");
        directory
    });
    let copy = TempDir::new().expect("a temporary directory");
    for entry in
        fs::read_dir(used.path()).expect("a directory").flatten().filter(|entry| entry.path().is_file())
    {
        fs::copy(entry.path(), copy.path().join(entry.file_name())).expect("a name");
    }
    copy
}

fn snapshots(directory: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(directory).expect("a directory").flatten().map(|entry| entry.path());
    paths.filter(|path| path.file_name().expect("a name").to_string_lossy().starts_with("snap.")).collect()
}

fn cut(path: &Path, length: impl FnOnce(u64) -> u64) {
    let file = OpenOptions::new().write(true).open(path).expect("a store");
    file.set_len(length(file.metadata().expect("a disk that works").len())).expect("a disk that works");
}

fn without_snapshot(directory: &TempDir) {
    snapshots(directory.path()).iter().for_each(|path| fs::remove_file(path).expect("a disk that works"));
}

/// Starts on what was damaged, in time, and says why that was refused; a start that works must have every record.
fn outcome(damage: impl FnOnce(&TempDir)) -> Option<String> {
    let directory = store();
    assert_eq!(snapshots(directory.path()).len(), 1);
    damage(&directory);
    let path = directory.path().to_owned();
    let (answer, outcome) = mpsc::channel();
    std::thread::spawn(move || answer.send(start(&path).map(|store| all(&store))));
    match outcome.recv_timeout(PATIENCE).expect("an answer in time, and no panic") {
        Err(refusal) => Some(refusal),
        Ok(records) => {
            assert_eq!(records.len() as u64, RECORDS);
            assert!(records.iter().all(|record| *record == settled(record.fence, "")));
            None
        }
    }
}

fn refused(damage: impl FnOnce(&TempDir)) {
    let refusal = outcome(damage).expect("a refusal");
    assert!(refusal.contains("damaged") || refusal.contains("emptied"), "{refusal}");
}

#[test]
fn an_undamaged_copy_opens() {
    assert_eq!(outcome(|_| {}), None);
}

#[test]
fn a_log_without_its_last_bytes_is_refused() {
    refused(|store| cut(&store.path().join("db"), |length| length - 1_000));
}

#[test]
fn an_operator_may_try_to_go_on_without_the_last_commits() {
    let directory = store();
    cut(&directory.path().join("db"), |length| length - 1_000);
    let refusal = start(directory.path()).err().expect("a refusal");
    assert!(
        refusal.contains("commits are missing") && refusal.contains("remove its file `MARK`"),
        "{refusal}"
    );
    fs::remove_file(directory.path().join("MARK")).unwrap();
    // Where the cut falls decides whether sled can make sense of what is left; it never takes it for a whole or an empty store.
    match start(directory.path()) {
        Ok(store) => {
            let left = all(&store).len() as u64;
            assert!((1..=RECORDS).contains(&left), "{left}");
            drop(store);
            drop(start(directory.path()).expect("it is a whole store again"));
        }
        Err(refusal) => assert!(refusal.contains("damaged"), "{refusal}"),
    }
}

#[test]
fn half_a_log_is_refused() {
    refused(|store| cut(&store.path().join("db"), |length| length / 2));
}

#[test]
fn half_a_log_without_a_snapshot_is_refused() {
    refused(|store| {
        without_snapshot(store);
        cut(&store.path().join("db"), |length| length / 2);
    });
}

#[test]
fn an_emptied_log_is_refused() {
    refused(|store| cut(&store.path().join("db"), |_| 0));
}

#[test]
fn a_deleted_log_is_refused() {
    refused(|store| fs::remove_file(store.path().join("db")).unwrap());
}

fn garbage(store: &TempDir, length: usize, at: impl FnOnce(u64) -> u64) {
    let file = OpenOptions::new().write(true).open(store.path().join("db")).expect("a store");
    let noise: Vec<u8> = (0..=250).cycle().step_by(31).take(length).collect();
    file.write_all_at(&noise, at(file.metadata().expect("a disk that works").len()))
        .expect("a disk that works");
}

#[test]
fn garbage_in_the_middle_opens_whole_or_not_at_all() {
    for place in 1..8 {
        outcome(|store| garbage(store, 16 << 10, |length| length * place / 8));
    }
}

#[test]
fn garbage_in_the_middle_without_a_snapshot_opens_whole_or_not_at_all() {
    for place in 1..8 {
        outcome(|store| {
            without_snapshot(store);
            garbage(store, 16 << 10, |length| length * place / 8);
        });
    }
}

#[test]
fn a_log_of_garbage_is_refused() {
    refused(|store| {
        without_snapshot(store);
        let length = fs::metadata(store.path().join("db")).unwrap().len();
        garbage(store, usize::try_from(length).unwrap(), |_| 0);
    });
}

#[test]
fn a_log_of_zeros_is_refused() {
    for snapshot in [true, false] {
        refused(|store| {
            if !snapshot {
                without_snapshot(store);
            }
            let db = store.path().join("db");
            let length = fs::metadata(&db).unwrap().len();
            cut(&db, |_| 0);
            cut(&db, |_| length);
        });
    }
}

#[test]
fn a_cut_snapshot_is_refused() {
    refused(|store| cut(&snapshots(store.path())[0], |length| length / 2));
}

#[test]
fn a_snapshot_that_sled_never_finished_is_cleared_away() {
    let opened = outcome(|store| {
        fs::write(store.path().join("snap.FFFFFFFFFFFFFFFF.generating"), "torn").unwrap();
    });
    assert_eq!(opened, None);
}

#[test]
fn a_missing_snapshot_is_made_anew() {
    assert_eq!(outcome(without_snapshot), None);
}

#[test]
fn a_cut_configuration_of_sled_is_refused() {
    refused(|store| cut(&store.path().join("conf"), |length| length / 2));
}

#[test]
fn a_missing_or_empty_configuration_of_sled_is_made_anew() {
    assert_eq!(outcome(|store| fs::remove_file(store.path().join("conf")).unwrap()), None);
    assert_eq!(outcome(|store| cut(&store.path().join("conf"), |_| 0)), None);
}
