//! Records as a busy connector has them, of about 350 bytes.

use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, UNIX_EPOCH};

use kubemq_mcp::clock;
use kubemq_mcp::domain::{Channel, Key, Principal, RequestId};
use kubemq_mcp::idempotency::{
    Change, Config, Head, Owner, Record, Settlement, SledStore, State, Store, Timestamp, View,
};

/// Opens a store in a directory.
pub fn open(directory: &Path) -> SledStore {
    SledStore::open(&Config { path: directory.to_owned(), ..Config::default() }).expect("a store")
}

/// A record that was claimed at a time.
pub fn claimed(number: u64, at: Timestamp) -> Record {
    // Keys of agents are random; these only look so, which makes runs comparable.
    let random = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Record {
        principal: Principal::named("agents/support-desk"),
        key: Key::parse(&format!("order-{random:016x}-{number:012}")).expect("a key"),
        fingerprint: [7; 32].into(),
        channel: Channel::parse("orders.eu.create").expect("a channel"),
        owner: Owner { instance: 1, boot: 1 },
        fence: number,
        attempt: 1,
        first_seen: at,
        settled_until: at.plus(Duration::from_secs(86_400)),
        in_doubt_until: at.plus(Duration::from_secs(30 * 86_400)),
        doubt: None,
        request_id: RequestId::from("0c2d9a4e-6f0b-4f6e-9a53-7c1f0e5d8b21"),
        state: State::InProgress,
    }
}

/// The same, settled a little later.
pub fn settled(record: &Record) -> Record {
    let settlement = Settlement {
        executed: true,
        at: record.first_seen.plus(Duration::from_millis(12)),
        elapsed_milliseconds: 12,
        error: String::new(),
        responder: "orders-service-7f9c".into(),
        tags: [
            ("order".to_owned(), format!("2026-{:08}", record.fence)),
            ("region".into(), "eu-central".into()),
        ]
        .into(),
        truncated: false,
        resolved: None,
    };
    Record { state: State::Settled(settlement), ..record.clone() }
}

/// A change of one record.
pub fn change(before: Option<&Record>, after: Option<&Record>) -> Change {
    let identity = after.or(before).expect("a record").identity();
    Change { identity, before: before.cloned(), after: after.cloned() }
}

/// Claims and settles so many new keys, from `first` on, in batches.
pub fn fill(store: &mut SledStore, numbers: std::ops::Range<u64>, batch: usize) {
    let numbers: Vec<u64> = numbers.collect();
    for some in numbers.chunks(batch) {
        let open: Vec<Record> = some.iter().map(|number| claimed(*number, time(*number))).collect();
        commit(store, &open.iter().map(|record| change(None, Some(record))).collect::<Vec<_>>());
        let done: Vec<Record> = open.iter().map(settled).collect();
        let changes: Vec<Change> =
            open.iter().zip(&done).map(|(open, done)| change(Some(open), Some(done))).collect();
        commit(store, &changes);
    }
}

/// When the key of a number is claimed: a thousand keys a second from now on.
pub fn time(number: u64) -> Timestamp {
    static BEGIN: LazyLock<Timestamp> = LazyLock::new(|| {
        let now = clock::now().duration_since(UNIX_EPOCH).expect("a clock that is right");
        Timestamp::from_milliseconds(u64::try_from(now.as_millis()).expect("a year before 500 million"))
    });
    BEGIN.plus(Duration::from_millis(number))
}

/// Commits changes, and keeps the count as the ledger does.
pub fn commit(store: &mut SledStore, changes: &[Change]) {
    let mut head: Head = store.head();
    for change in changes {
        head.records += u64::from(change.before.is_none());
        head.records -= u64::from(change.after.is_none());
    }
    store.commit(changes, &head).expect("a disk that works");
}

/// What a process has in memory, and the most it ever had, in MiB.
pub fn resident(process: &str) -> (u64, u64) {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("Linux");
    let figure = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a line of that name");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") / 1_024
    };
    (figure("VmRSS:"), figure("VmHWM:"))
}
