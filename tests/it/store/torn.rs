//! However much of its end a log has lost, what is left is whole commits.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::path::Path;

use kubemq_mcp::idempotency::{Head, Record, SledStore, Store, View};
use tempfile::TempDir;

use super::{all, change, claimed, open, settled, start};

const COMMITS: u64 = 60;
/// Bytes from one cut to the next; odd, so that cuts fall anywhere in a commit.
const STEP: u64 = 20_011;

/// What is there after each commit. Each claims ten keys, settles those before, and forgets some older ones.
fn states(store: &mut SledStore) -> Vec<BTreeMap<u64, Record>> {
    let mut states = vec![BTreeMap::new()];
    for commit in 0..COMMITS {
        let mut records = states.last().cloned().unwrap_or_default();
        let mut changes = Vec::new();
        for number in commit * 10..(commit + 1) * 10 {
            changes.push(change(None, Some(claimed(number))));
            if let Some(before) = number.checked_sub(10) {
                changes.push(change(Some(claimed(before)), Some(settled(before, ""))));
            }
            if let Some(before) = number.checked_sub(200) {
                changes.push(change(Some(settled(before, "")), None));
            }
        }
        for change in &changes {
            let number = change.after.as_ref().or(change.before.as_ref()).expect("a record").fence;
            match &change.after {
                Some(record) => records.insert(number, record.clone()),
                None => records.remove(&number),
            };
        }
        let head = Head { fence: commit + 1, records: records.len() as u64, ..store.head() };
        store.commit(&changes, &head).expect("a disk that works");
        states.push(records);
    }
    states
}

fn copy(from: &Path) -> TempDir {
    let copy = TempDir::new().expect("a temporary directory");
    for entry in fs::read_dir(from).expect("a directory").flatten().filter(|entry| entry.path().is_file()) {
        fs::copy(entry.path(), copy.path().join(entry.file_name())).expect("a name");
    }
    copy
}

#[test]
fn a_log_cut_anywhere_holds_whole_commits_and_says_that_some_are_missing() {
    let directory = TempDir::new().unwrap();
    let mut store = start(directory.path()).unwrap();
    let states = states(&mut store);
    drop(store);
    let length = fs::metadata(directory.path().join("db")).unwrap().len();
    let mut seen = Vec::new();
    for missing in (STEP..length).step_by(usize::try_from(STEP).unwrap()) {
        let copy = copy(directory.path());
        let db = OpenOptions::new().write(true).open(copy.path().join("db")).unwrap();
        db.set_len(length - missing).unwrap();
        assert!(open(copy.path()).is_err(), "without {missing} bytes nothing is taken for whole");
        fs::remove_file(copy.path().join("MARK")).unwrap();
        // A cut before the last snapshot is refused for good.
        let Ok(store) = open(copy.path()) else { continue };
        let commit = usize::try_from(store.head().fence).unwrap();
        let left: BTreeMap<u64, Record> =
            all(&store).into_iter().map(|record| (record.fence, record)).collect();
        assert!(left == states[commit], "after {commit} commits");
        assert_eq!(store.head().records, left.len() as u64);
        drop(store);
        assert!(SledStore::check(copy.path()).unwrap().is_sound());
        seen.push(commit);
    }
    println!("commits left: {seen:?}");
    assert!(seen.len() > 10 && seen.is_sorted_by(|more, less| more >= less), "{seen:?}");
}
