//! Where the record of each key stands: by the number of its claim.
//!
//! Records stand in the order of their claims, so what is written and swept together stands together. By the name of its
//! key, which is random, each would stand on a page of its own, and a large store would read one for each write.

use std::collections::HashMap;

use super::StoreError;
use crate::idempotency::{Identity, Record};

/// Half of an identity. Nobody finds two keys that share it, and if somebody did, the record itself tells.
type Short = [u8; 16];

/// The claims of all keys. A key that is not here has no record.
#[derive(Debug, Default)]
pub struct Index {
    // As many as there are records, which `store.records_max` limits; 25 bytes each, with room to grow.
    fences: HashMap<Short, u64>,
}

impl Index {
    /// The number of the claim under which the record of a key stands.
    pub fn fence(&self, identity: &Identity) -> Option<u64> {
        self.fences.get(&short(identity)).copied()
    }

    /// Takes a record in that was found.
    ///
    /// # Errors
    /// When its key has a record already.
    pub fn found(&mut self, record: &Record) -> Result<(), StoreError> {
        match self.fences.insert(short(&record.identity()), record.fence) {
            None => Ok(()),
            Some(_) => Err(StoreError::Misplaced),
        }
    }

    /// Follows a change of one record.
    pub fn change(&mut self, identity: &Identity, after: Option<&Record>) {
        match after {
            Some(record) => self.fences.insert(short(identity), record.fence),
            None => self.fences.remove(&short(identity)),
        };
    }
}

fn short(identity: &Identity) -> Short {
    let mut short = Short::default();
    short.copy_from_slice(&identity.as_bytes()[..16]);
    short
}
