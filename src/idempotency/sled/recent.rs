//! What the ledger is about to ask for: keys that were just found new, and claims that were just written.
//!
//! A claim is decided and then staged, a settle reads the claim that was committed a moment ago. Without this each of the
//! four looks goes through sled's tree, which is a third of the work of the commit thread. Only small records are kept,
//! and only what is durable: it is told of a commit after its sync.

use std::collections::HashMap;

use crate::idempotency::{Identity, Record, State};

/// In each of the two halves. Far more than commands run at a time, and a few megabytes.
const HALF_MAX: usize = 4_096;

/// A few keys as the disk has them.
#[derive(Default)]
pub struct Recent {
    young: HashMap<Identity, Option<Record>>,
    /// What was young before; forgotten as a whole, so that nothing needs to be ordered.
    old: HashMap<Identity, Option<Record>>,
}

impl Recent {
    /// The record of a key, or that it has none; the outer `None` is a key that is not remembered.
    pub fn get(&self, identity: &Identity) -> Option<Option<Record>> {
        self.young.get(identity).or_else(|| self.old.get(identity)).cloned()
    }

    /// Remembers what the disk has, if it is worth it, and in any case no longer what it had before.
    pub fn keep(&mut self, identity: Identity, record: Option<&Record>) {
        self.old.remove(&identity);
        if record.is_some_and(|record| record.state != State::InProgress) {
            self.young.remove(&identity);
            return;
        }
        if self.young.len() >= HALF_MAX {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(identity, record.cloned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(number: usize) -> Identity {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&number.to_be_bytes());
        Identity::from(bytes)
    }

    #[test]
    fn the_latest_is_remembered_and_no_more_than_two_halves() {
        let mut recent = Recent::default();
        for number in 0..3 * HALF_MAX {
            recent.keep(identity(number), None);
            assert_eq!(recent.get(&identity(number)), Some(None));
        }
        assert!(recent.young.len() + recent.old.len() <= 2 * HALF_MAX);
        assert_eq!(recent.get(&identity(0)), None);
        assert_eq!(recent.get(&identity(2 * HALF_MAX)), Some(None));
    }
}
