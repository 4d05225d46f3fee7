//! What is committed is there, in order and under its own name, and the store in memory says the same.

use tempfile::TempDir;

use super::*;
use crate::domain::{Channel, Key, Principal, RequestId};
use crate::idempotency::{Owner, Settlement, State};

fn opened(directory: &TempDir) -> SledStore {
    let config = Config { path: directory.path().to_owned(), lock_wait_seconds: 2, ..Config::default() };
    SledStore::open(&config).expect("a store")
}

fn claimed(number: u64) -> Record {
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
    assert_eq!(store.expired(Timestamp::from_milliseconds(2_002), 9), Ok(vec![second.identity()]));
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
fn a_record_under_the_name_of_another_is_refused() {
    let directory = TempDir::new().unwrap();
    let mut store = opened(&directory);
    let head = store.head();
    let misplaced = Change { identity: claimed(2).identity(), before: None, after: Some(claimed(1)) };
    assert_eq!(store.commit(&[misplaced], &head), Err(StoreError::Misplaced));
    store.db.insert(layout::record_key(&claimed(2).identity()), claimed(1).encode()).unwrap();
    assert_eq!(store.get(&claimed(2).identity()), Err(StoreError::Misplaced));
    assert_eq!(store.walk(None, &mut |_| Walk::On), Err(StoreError::Misplaced));
}
