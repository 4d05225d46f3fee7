//! The directory grows with the keys that are, not with those that were.

use kubemq_mcp::idempotency::{Change, View};
use tempfile::TempDir;

use super::{blobs, change, commit, fill, settled, start};

const KEYS: u64 = 40_000;
const LIVE: u64 = 2_000;

#[test]
fn keys_that_come_and_go_leave_no_trace() {
    let directory = TempDir::new().unwrap();
    let mut store = start(directory.path()).unwrap();
    let mut most = 0;
    for first in (0..KEYS).step_by(500) {
        fill(&mut store, first..first + 500);
        if first >= LIVE {
            let ended = first - LIVE..first - LIVE + 500;
            let forget = |number| change(Some(settled(number, "")), None);
            let changes: Vec<Change> = ended.map(forget).collect();
            commit(&mut store, &changes);
        }
        most = most.max(store.disk_bytes());
    }
    assert_eq!((store.head().records, blobs(directory.path())), (LIVE, 0));
    // Two thousand live records are 0.8 MB; the log is reused in segments of 1 MiB.
    println!("at most {most} bytes");
    assert!(most < 40 << 20, "{most}");
}
