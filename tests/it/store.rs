//! The store on a real disk: what it keeps, what it refuses, and what damage does to it.

mod check;
mod creation;
mod damage;
mod growth;
mod lock;
mod refusal;
mod seen;
mod torn;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use kubemq_mcp::domain::{Channel, Key, Principal, RequestId};
use kubemq_mcp::idempotency::{
    Change, Config, Ledger, OpenError, Owner, RECORD_BYTES_LIMIT, Record, Settlement, SledStore, State,
    Store, Timestamp, View, Walk,
};
use tempfile::TempDir;

const START: Timestamp = Timestamp::from_milliseconds(1_700_000_000_000);

fn config(directory: &Path) -> Config {
    Config { path: directory.to_owned(), lock_wait_seconds: 1, ..Config::default() }
}

fn open(directory: &Path) -> Result<SledStore, OpenError> {
    SledStore::open(&config(directory))
}

/// Opens as a start of the connector does, with the ledger's count of what is there.
fn start(directory: &Path) -> Result<SledStore, String> {
    let mut store = open(directory).map_err(|error| error.to_string())?;
    Ledger::recover(&mut store, &config(directory), START).map_err(|error| error.to_string())?;
    Ok(store)
}

fn claimed(number: u64) -> Record {
    let at = START.plus(Duration::from_millis(number));
    Record {
        principal: Principal::named("agents/support-desk"),
        key: Key::parse(&format!("order-{number}")).expect("a key"),
        fingerprint: [7; 32].into(),
        channel: Channel::parse("orders.eu").expect("a channel"),
        owner: Owner { instance: 1, boot: 1 },
        fence: number,
        attempt: 1,
        first_seen: at,
        settled_until: at.plus(Duration::from_secs(60)),
        in_doubt_until: at.plus(Duration::from_secs(600)),
        doubt: None,
        request_id: RequestId::from("0c2d9a4e-6f0b-4f6e-9a53-7c1f0e5d8b21"),
        state: State::InProgress,
    }
}

fn settled(number: u64, error: &str) -> Record {
    let record = claimed(number);
    let settlement = Settlement {
        executed: error.is_empty(),
        at: record.first_seen,
        elapsed_milliseconds: 12,
        error: error.to_owned(),
        responder: "orders-service".into(),
        tags: [("order".to_owned(), number.to_string())].into(),
        truncated: false,
        resolved: None,
    };
    Record { state: State::Settled(settlement), ..record }
}

fn change(before: Option<Record>, after: Option<Record>) -> Change {
    let identity = after.as_ref().or(before.as_ref()).expect("a record").identity();
    Change { identity, before, after }
}

/// Commits changes and counts as the ledger does.
fn commit(store: &mut SledStore, changes: &[Change]) {
    let mut head = store.head();
    for change in changes {
        head.records += u64::from(change.before.is_none());
        head.records -= u64::from(change.after.is_none());
    }
    store.commit(changes, &head).expect("a disk that works");
}

/// Claims and settles keys, a hundred at a time.
fn fill(store: &mut SledStore, numbers: std::ops::Range<u64>) {
    for some in numbers.collect::<Vec<_>>().chunks(100) {
        let claims: Vec<_> = some.iter().map(|number| change(None, Some(claimed(*number)))).collect();
        commit(store, &claims);
        let settle = |number: &u64| change(Some(claimed(*number)), Some(settled(*number, "")));
        commit(store, &some.iter().map(settle).collect::<Vec<_>>());
    }
}

fn all(store: &SledStore) -> Vec<Record> {
    let mut records = Vec::new();
    store
        .walk(None, &mut |record| {
            records.push(record);
            Walk::On
        })
        .expect("a whole store");
    records
}

fn blobs(directory: &Path) -> usize {
    std::fs::read_dir(directory.join("blobs")).expect("sled's directory").count()
}

#[test]
fn what_was_committed_is_there_after_every_start() {
    let directory = TempDir::new().unwrap();
    for boot in 0..4 {
        let mut store = start(directory.path()).unwrap();
        assert_eq!((store.head().boot, store.head().records), (boot + 1, u64::from(boot) * 300));
        fill(&mut store, u64::from(boot) * 300..u64::from(boot + 1) * 300);
    }
    let store = start(directory.path()).unwrap();
    assert_eq!(all(&store).len(), 1_200);
    assert_eq!(store.get(&claimed(777).identity()), Ok(Some(settled(777, ""))));
}

#[test]
fn records_of_the_largest_size_stay_in_the_log() {
    let directory = TempDir::new().unwrap();
    let mut store = start(directory.path()).unwrap();
    let room = RECORD_BYTES_LIMIT - settled(0, "").encoded_len();
    // Neighbours in one page, and written over and over.
    for round in 0..3u8 {
        for some in (0..600u64).collect::<Vec<_>>().chunks(128) {
            let text = char::from(b'a' + round).to_string().repeat(room - 8);
            let before = |number: u64| {
                let text = char::from(b'a' + round.checked_sub(1)?).to_string().repeat(room - 8);
                Some(settled(number, &text))
            };
            let changes: Vec<_> =
                some.iter().map(|number| change(before(*number), Some(settled(*number, &text)))).collect();
            commit(&mut store, &changes);
        }
        assert_eq!(blobs(directory.path()), 0);
    }
    drop(store);
    let store = start(directory.path()).unwrap();
    assert!(all(&store).iter().all(|record| record.encoded_len() > RECORD_BYTES_LIMIT - 16));
    assert_eq!((all(&store).len(), blobs(directory.path())), (600, 0));
}

#[test]
fn a_batch_of_many_segments_is_committed_at_once() {
    let directory = TempDir::new().unwrap();
    let mut store = start(directory.path()).unwrap();
    let text = "x".repeat(13 << 10);
    let changes: Vec<_> = (0..1_024).map(|number| change(None, Some(settled(number, &text)))).collect();
    commit(&mut store, &changes);
    drop(store);
    assert_eq!(all(&start(directory.path()).unwrap()).len(), 1_024);
}

#[test]
fn the_directory_is_made_for_our_eyes_only() {
    let parent = TempDir::new().unwrap();
    let directory = parent.path().join("var").join("keys");
    let store = open(&directory).unwrap();
    let mode = std::fs::metadata(&directory).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert!(store.disk_bytes() > 0 && store.free_bytes() > 0);
}

#[test]
fn a_directory_that_is_open_to_others_is_used_as_it_is() {
    let directory = TempDir::new().unwrap();
    std::fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
    drop(open(directory.path()).unwrap());
    let mode = std::fs::metadata(directory.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
}
