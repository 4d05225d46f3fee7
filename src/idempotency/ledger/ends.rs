//! When each record ends, those that end first before the others.
//!
//! In memory and not in the store: a start reads every record anyway, and an index on the disk would be one of three
//! writes of a command.

use std::collections::BTreeSet;

use super::{Identity, Record, Timestamp};

/// The ends of all records that have one; a record in progress has none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ends {
    // As many as there are records, which `store.records_max` limits.
    order: BTreeSet<(Timestamp, Identity)>,
}

impl Ends {
    /// Follows a change of one record.
    pub fn change(&mut self, identity: &Identity, before: Option<&Record>, after: Option<&Record>) {
        let [ended, ends] = [before, after].map(|record| record.and_then(Record::expires));
        if ended == ends {
            return;
        }
        if let Some(until) = ended {
            self.order.remove(&(until, *identity));
        }
        if let Some(until) = ends {
            self.order.insert((until, *identity));
        }
    }

    /// At most `max` keys whose time is over at `now`, those that ended first before the others.
    pub fn over(&self, now: Timestamp, max: usize) -> Vec<Identity> {
        let over = self.order.iter().take_while(|(until, _)| *until <= now);
        over.take(max).map(|(_, identity)| *identity).collect()
    }
}
