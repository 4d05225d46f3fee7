//! Claims that were just written: a settle reads its claim, which was committed a moment ago.
//!
//! Without this each of these looks decodes a record again. Only what is durable is kept: it is told of a commit after its
//! sync.

use std::collections::HashMap;

use crate::idempotency::{Identity, Record, State};

/// In each of the two halves. Far more than commands run at a time, and a few megabytes.
const HALF_MAX: usize = 4_096;

/// A few records in progress as the disk has them.
#[derive(Default)]
pub struct Recent {
    young: HashMap<Identity, Record>,
    /// What was young before; forgotten as a whole, so that nothing needs to be ordered.
    old: HashMap<Identity, Record>,
}

impl Recent {
    /// The record of a key, if it is remembered.
    pub fn get(&self, identity: &Identity) -> Option<&Record> {
        self.young.get(identity).or_else(|| self.old.get(identity))
    }

    /// Remembers what the disk has, if it is worth it, and in any case no longer what it had before.
    pub fn keep(&mut self, identity: Identity, record: Option<&Record>) {
        self.old.remove(&identity);
        let Some(record) = record.filter(|record| record.state == State::InProgress) else {
            self.young.remove(&identity);
            return;
        };
        if self.young.len() >= HALF_MAX {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(identity, record.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::claimed;
    use super::*;

    #[test]
    fn the_latest_is_remembered_and_no_more_than_two_halves() {
        let mut recent = Recent::default();
        let numbers = 0..3 * HALF_MAX as u64;
        for record in numbers.map(claimed) {
            recent.keep(record.identity(), Some(&record));
            assert_eq!(recent.get(&record.identity()), Some(&record));
        }
        assert!(recent.young.len() + recent.old.len() <= 2 * HALF_MAX);
        assert_eq!(recent.get(&claimed(0).identity()), None);
        let kept = claimed(2 * HALF_MAX as u64);
        assert_eq!(recent.get(&kept.identity()), Some(&kept));
        recent.keep(kept.identity(), None);
        assert_eq!(recent.get(&kept.identity()), None);
    }
}
