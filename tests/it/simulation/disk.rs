//! The real store in memory, with writes and reads that fail, and with what a power cut leaves of them.

use std::cell::Cell;
use std::collections::BTreeMap;

use kubemq_mcp::domain::RequestId;
use kubemq_mcp::idempotency::{
    Change, Head, Identity, MemoryStore, Record, State, Store, StoreError, View, Walk,
};

/// What becomes of one write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is there, and says so.
    Durable,
    /// It says that it failed, and nothing of it is there.
    FailsAndIsNotThere,
    /// It says that it failed, and all of it is there.
    FailsAndIsThere,
}

pub struct Disk {
    store: MemoryStore,
    fates: Vec<Fate>,
    reads_fail: Cell<bool>,
    written: u64,
    settled: BTreeMap<RequestId, bool>,
}

impl Disk {
    pub fn new(instance: u128) -> Self {
        Self {
            store: MemoryStore::new(instance),
            fates: Vec::new(),
            reads_fail: Cell::new(false),
            written: 0,
            settled: BTreeMap::new(),
        }
    }

    /// Decides over the writes to come, the last of these first.
    pub fn decide(&mut self, fates: Vec<Fate>) {
        self.fates = fates;
    }

    /// Fails the next read, or none.
    pub fn fail_reads(&self, fails: bool) {
        self.reads_fail.set(fails);
    }

    /// Counts the writes that are there.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Whether that outcome of that request was ever durable.
    pub fn has_said(&self, request: &RequestId, executed: bool) -> bool {
        self.settled.get(request) == Some(&executed)
    }

    fn write(&mut self, changes: &[Change], head: &Head) {
        let before = self.store.head();
        assert!(head.latest >= before.latest, "the store's time falls");
        assert!(head.fence >= before.fence, "a fence comes twice");
        assert!(head.boot >= before.boot, "an owner comes twice");
        for change in changes {
            assert_eq!(self.store.get(&change.identity).as_ref(), Ok(&change.before), "not what was there");
            if let Some(Record { state: State::Settled(settlement), request_id, .. }) = &change.after {
                self.settled.insert(request_id.clone(), settlement.executed);
            }
        }
        self.store.commit(changes, head).expect("a store in memory can be written");
        let mut records = 0;
        self.store.walk(None, &mut |_| (records += 1, Walk::On).1).expect("what was written can be read");
        assert_eq!(head.records, records, "the records are counted wrong");
        self.written += 1;
    }
}

impl View for Disk {
    fn get(&self, identity: &Identity) -> Result<Option<Record>, StoreError> {
        if self.reads_fail.get() {
            return Err(StoreError::Broken("a read fails on purpose".into()));
        }
        self.store.get(identity)
    }

    fn walk(&self, after: Option<u64>, visit: &mut dyn FnMut(Record) -> Walk) -> Result<(), StoreError> {
        self.store.walk(after, visit)
    }

    fn head(&self) -> Head {
        self.store.head()
    }

    fn disk_bytes(&self) -> u64 {
        self.store.disk_bytes()
    }

    fn free_bytes(&self) -> u64 {
        self.store.free_bytes()
    }
}

impl Store for Disk {
    fn commit(&mut self, changes: &[Change], head: &Head) -> Result<(), StoreError> {
        let fate = self.fates.pop().unwrap_or(Fate::Durable);
        if fate != Fate::FailsAndIsNotThere {
            self.write(changes, head);
        }
        if fate == Fate::Durable {
            Ok(())
        } else {
            Err(StoreError::Broken("a write fails on purpose".into()))
        }
    }
}
