//! What is committed is there, in order and under its own name, and the store in memory says the same.

mod twins;

use tempfile::TempDir;

use super::*;
use crate::domain::{Channel, Key, Principal, RequestId};
use crate::idempotency::{Owner, RecordError, Settlement, State, Timestamp};

fn opened(directory: &TempDir) -> SledStore {
    let config = Config { path: directory.path().to_owned(), lock_wait_seconds: 2, ..Config::default() };
    SledStore::open(&config).expect("a store")
}

pub fn claimed(number: u64) -> Record {
    Record {
        principal: Principal::anonymous(),
        key: Key::parse(&format!("key-{number}")).unwrap(),
        fingerprint: [7; 32].into(),
        channel: Channel::parse("orders.eu").unwrap(),
        owner: Owner { instance: 1, boot: 1 },
        fence: number,
        attempt: 1,
        first_seen: Timestamp::from_milliseconds(1_000),
        settled_until: Timestamp::from_milliseconds(2_000 + number),
        in_doubt_until: Timestamp::from_milliseconds(9_000 + number),
        doubt: None,
        request_id: RequestId::from("request-1"),
        state: State::InProgress,
    }
}

fn settled(record: Record, error: String) -> Record {
    let settlement = Settlement {
        executed: true,
        at: Timestamp::from_milliseconds(1_500),
        elapsed_milliseconds: 500,
        error,
        responder: "orders-service".into(),
        tags: Default::default(),
        truncated: false,
        resolved: None,
    };
    Record { state: State::Settled(settlement), ..record }
}

fn change(before: Option<Record>, after: Option<Record>) -> Change {
    let identity = before.as_ref().or(after.as_ref()).expect("a record").identity();
    Change { identity, before, after }
}

fn all(view: &dyn View) -> Vec<Record> {
    let mut records = Vec::new();
    view.walk(None, &mut |record| {
        records.push(record);
        Walk::On
    })
    .expect("a whole store");
    records
}

#[test]
fn what_was_committed_is_there_after_the_next_open() {
    let directory = TempDir::new().unwrap();
    let mut store = opened(&directory);
    let (first, second) = (claimed(1), settled(claimed(2), String::new()));
    let head = Head { boot: 3, records: 2, fence: 9, ..store.head() };
    store.commit(&[change(None, Some(first.clone())), change(None, Some(second.clone()))], &head).unwrap();
    drop(store);
    let store = opened(&directory);
    assert_eq!(store.head(), head);
    assert_eq!(store.get(&first.identity()), Ok(Some(first.clone())));
    assert_eq!(store.get(&claimed(3).identity()), Ok(None));
    assert_eq!(all(&store).len(), 2);
}

#[test]
fn a_record_larger_than_the_store_takes_is_refused_and_nothing_is_written() {
    let directory = TempDir::new().unwrap();
    let mut store = opened(&directory);
    let large = settled(claimed(1), "x".repeat(RECORD_BYTES_LIMIT));
    let head = Head { records: 1, ..store.head() };
    let refused = store.commit(&[change(None, Some(claimed(2))), change(None, Some(large))], &head);
    assert!(matches!(refused, Err(StoreError::TooLarge { .. })), "{refused:?}");
    assert_eq!((all(&store), store.head().records), (vec![], 0));
}

#[test]
fn a_failed_sync_closes_the_store_for_good_and_the_mark_stays_behind() {
    let directory = TempDir::new().unwrap();
    let mut store = opened(&directory);
    let head = Head { records: 1, ..store.head() };
    store.commit(&[change(None, Some(claimed(1)))], &head).unwrap();
    // No device to sync: the system refuses, as a disk would that has failed.
    let file = std::mem::replace(&mut store.file, File::open("/dev/null").unwrap());
    let failed = store.commit(&[change(None, Some(claimed(2)))], &Head { records: 2, ..head });
    assert!(matches!(failed, Err(StoreError::Broken(_))), "{failed:?}");
    // A second sync would succeed, and prove nothing.
    store.file = file;
    assert_eq!(store.commit(&[], &head), failed);
    assert_eq!(store.get(&claimed(2).identity()).map(drop), failed);
    assert_eq!(store.walk(None, &mut |_| Walk::On), failed);
    assert_eq!((store.head(), store.kept.commits), (head, 1));
    drop(store);
    // Whether the second is there is for the ledger to find out; the first must be.
    assert_eq!(opened(&directory).get(&claimed(1).identity()), Ok(Some(claimed(1))));
}

#[test]
fn a_record_under_the_name_of_another_is_refused() {
    let directory = TempDir::new().unwrap();
    let mut store = opened(&directory);
    let head = store.head();
    let misplaced = Change { identity: claimed(2).identity(), before: None, after: Some(claimed(1)) };
    assert_eq!(store.commit(&[misplaced], &head), Err(StoreError::Misplaced));
    store.db.insert(layout::record_key(2), claimed(1).encode()).unwrap();
    assert_eq!(store.walk(Some(1), &mut |_| Walk::On), Err(StoreError::Misplaced));
    drop(store);
    let store = opened(&directory);
    assert_eq!(store.walk(None, &mut |_| Walk::On), Err(StoreError::Misplaced));
    assert_eq!(store.get(&claimed(2).identity()), Err(StoreError::Misplaced));
}

#[test]
fn a_key_with_two_records_is_refused() {
    let directory = TempDir::new().unwrap();
    let store = opened(&directory);
    for fence in [1, 2] {
        store.db.insert(layout::record_key(fence), Record { fence, ..claimed(1) }.encode()).unwrap();
    }
    assert_eq!(store.get(&claimed(1).identity()), Err(StoreError::Misplaced));
    drop(store);
    let report = SledStore::check(directory.path()).unwrap();
    assert_eq!(report.problems, [Problem::Second(2), Problem::Count { counted: 0, found: 2 }]);
}

#[test]
fn a_record_moves_with_the_claim_that_it_is_of() {
    let directory = TempDir::new().unwrap();
    let mut store = opened(&directory);
    let (first, second) = (claimed(1), Record { fence: 9, attempt: 2, ..claimed(1) });
    let head = Head { records: 1, ..store.head() };
    store.commit(&[change(None, Some(first.clone()))], &head).unwrap();
    for (before, after) in [(&first, &second), (&second, &first)] {
        store.commit(&[change(Some(before.clone()), Some(after.clone()))], &head).unwrap();
        assert_eq!(
            (all(&store), store.get(&first.identity())),
            (vec![after.clone()], Ok(Some(after.clone())))
        );
    }
}

#[test]
fn a_record_of_a_newer_program_is_refused_by_its_number() {
    let directory = TempDir::new().unwrap();
    let store = opened(&directory);
    store.db.insert(layout::record_key(1), vec![2, 0, 0]).unwrap();
    let newer = StoreError::Damaged(RecordError::Newer { found: 2 });
    assert_eq!(store.get(&claimed(1).identity()), Err(newer.clone()));
    assert_eq!(store.walk(None, &mut |_| Walk::On), Err(newer));
    drop(store);
    let report = SledStore::check(directory.path()).unwrap();
    let expected = Problem::NoRecord(1, RecordError::Newer { found: 2 });
    assert_eq!(report.problems, [expected]);
}

#[test]
fn a_head_that_is_newer_or_garbled_or_gone_is_refused() {
    let garbled = |bytes: Option<&[u8]>| {
        let directory = TempDir::new().unwrap();
        let store = opened(&directory);
        match bytes {
            Some(bytes) => store.db.insert(layout::HEAD, bytes).unwrap(),
            None => store.db.remove(layout::HEAD).unwrap(),
        };
        drop(store);
        let config = Config { path: directory.path().to_owned(), ..Config::default() };
        SledStore::open(&config).err().expect("a refusal")
    };
    assert!(matches!(garbled(Some(&[2, 1, 1])), OpenError::Newer { .. }));
    assert!(matches!(garbled(Some(&[1, 1, 1])), OpenError::Damaged { .. }));
    assert!(matches!(garbled(None), OpenError::Emptied { .. }));
}

#[test]
fn what_is_never_written_is_told_by_a_check() {
    let directory = TempDir::new().unwrap();
    let store = opened(&directory);
    store.db.insert(b"surprise", b"").unwrap();
    store.db.insert(layout::record_key(2), claimed(1).encode()).unwrap();
    drop(store);
    std::fs::write(directory.path().join("blobs").join("1"), "").unwrap();
    let report = SledStore::check(directory.path()).unwrap();
    let expected = [
        Problem::Misplaced(2),
        Problem::Unknown(b"surprise".to_vec()),
        Problem::Count { counted: 0, found: 1 },
        Problem::Blobs(1),
    ];
    assert_eq!((report.problems, report.problems_total), (expected.to_vec(), 4));
}
