//! How much the records take: in all, by state, by principal.

use std::collections::{BTreeSet, HashMap};

use super::{Identity, Record, State, StateName, Timestamp};
use crate::domain::Principal;

/// What the records take.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    states: [usize; StateName::ALL.len()],
    // As many as have records; a name comes from a token, so they are few.
    principals: HashMap<Principal, usize>,
    bytes: u64,
    doubts: BTreeSet<(Timestamp, Identity)>,
}

impl Usage {
    /// Records in all.
    pub fn records(&self) -> usize {
        self.states.iter().sum()
    }

    /// Records in one state.
    pub fn records_in(&self, state: StateName) -> usize {
        self.states[state.index()]
    }

    /// Records of one principal.
    pub fn records_of(&self, principal: &Principal) -> usize {
        self.principals.get(principal).copied().unwrap_or(0)
    }

    /// Bytes of all records; one in progress counts with the largest that it can become.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Since when the oldest key in doubt is in doubt.
    pub fn oldest_doubt(&self) -> Option<Timestamp> {
        self.doubts.first().map(|(since, _)| *since)
    }

    /// Counts a change of one record. `reserve` is what a record in progress counts with.
    pub(super) fn change(
        &mut self,
        identity: &Identity,
        before: Option<&Record>,
        after: Option<&Record>,
        reserve: usize,
    ) {
        if let Some(record) = before {
            self.states[record.state_name().index()] -= 1;
            self.bytes -= counted(record, reserve);
            let of_principal =
                self.principals.get_mut(&record.principal).expect("it was counted when it came");
            *of_principal -= 1;
            if *of_principal == 0 {
                self.principals.remove(&record.principal);
            }
            if let Some(since) = doubted(record) {
                self.doubts.remove(&(since, *identity));
            }
        }
        if let Some(record) = after {
            self.states[record.state_name().index()] += 1;
            self.bytes += counted(record, reserve);
            *self.principals.entry(record.principal.clone()).or_insert(0) += 1;
            if let Some(since) = doubted(record) {
                self.doubts.insert((since, *identity));
            }
        }
    }
}

fn counted(record: &Record, reserve: usize) -> u64 {
    let bytes = record.encoded_len();
    match record.state {
        State::InProgress => bytes.max(reserve) as u64,
        State::InDoubt | State::Settled(_) => bytes as u64,
    }
}

fn doubted(record: &Record) -> Option<Timestamp> {
    match record.state {
        State::InDoubt => record.doubt.map(|(since, _)| since),
        State::InProgress | State::Settled(_) => None,
    }
}
