//! A store in memory, for tests of everything above the disk.
//!
//! It keeps bytes and not records, so that what it gives back has gone through the codec. It can be told to fail.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use super::{Change, Head, Store, StoreError, View, Walk};
use crate::idempotency::{Identity, Record};

/// A store in memory. A clone is a copy, as a backup would be.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    records: BTreeMap<u64, Vec<u8>>,
    fences: HashMap<Identity, u64>,
    head: Head,
    fails: Option<StoreError>,
    free_bytes: Option<u64>,
}

impl MemoryStore {
    /// An empty store of this name.
    pub fn new(instance: u128) -> Self {
        Self { head: Head { instance, ..Head::default() }, ..Self::default() }
    }

    /// Fails every commit from here on, or none.
    pub fn fail_with(&mut self, error: Option<StoreError>) {
        self.fails = error;
    }

    /// Says that so much room is left.
    pub fn leave_free(&mut self, bytes: u64) {
        self.free_bytes = Some(bytes);
    }
}

impl View for MemoryStore {
    fn get(&self, identity: &Identity) -> Result<Option<Record>, StoreError> {
        let bytes = self.fences.get(identity).and_then(|fence| self.records.get(fence));
        bytes.map(|bytes| Record::decode(bytes).map_err(StoreError::from)).transpose()
    }

    fn walk(&self, after: Option<u64>, visit: &mut dyn FnMut(Record) -> Walk) -> Result<(), StoreError> {
        let first = after.map_or(Bound::Unbounded, Bound::Excluded);
        for bytes in self.records.range((first, Bound::Unbounded)).map(|(_, bytes)| bytes) {
            if visit(Record::decode(bytes)?) == Walk::End {
                break;
            }
        }
        Ok(())
    }

    fn head(&self) -> Head {
        self.head
    }

    fn disk_bytes(&self) -> u64 {
        self.records.values().map(|bytes| bytes.len() as u64).sum()
    }

    fn free_bytes(&self) -> u64 {
        self.free_bytes.unwrap_or(u64::MAX)
    }
}

impl Store for MemoryStore {
    fn commit(&mut self, changes: &[Change], head: &Head) -> Result<(), StoreError> {
        if let Some(error) = &self.fails {
            return Err(error.clone());
        }
        for Change { identity, after, .. } in changes {
            if let Some(fence) = self.fences.remove(identity) {
                self.records.remove(&fence);
            }
            if let Some(record) = after {
                self.fences.insert(*identity, record.fence);
                self.records.insert(record.fence, record.encode());
            }
        }
        self.head = *head;
        Ok(())
    }
}
