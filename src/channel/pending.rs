//! What is waiting for a reply on one channel: a pure table from request id to waiter.
//!
//! Every waiter that goes in comes out exactly once: by its end, or when the table is emptied.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::domain::{Reply, RequestId};

/// The table. `Waiter` is whoever is told how it ended.
#[derive(Debug)]
pub struct Pending<Waiter> {
    entries: HashMap<RequestId, Entry<Waiter>>,
    limit: usize,
    last_end: Instant,
}

/// One request in flight.
#[derive(Debug)]
pub struct Entry<Waiter> {
    /// When it was sent.
    pub since: Instant,
    /// Who waits.
    pub waiter: Waiter,
}

/// Why a request cannot go in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenError {
    /// The table is full.
    Full,
    /// A request with this id is in flight; two would share one reply.
    Duplicate,
}

/// Whether a reply names the request it came back for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Correlation {
    /// It does, or names none.
    Matches,
    /// The responder wrote another id. The gRPC call itself correlates, so the reply counts all the same.
    Differs,
}

/// What to do about an idle channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idleness {
    /// Leave now.
    Leave,
    /// Look again after this time.
    LookAgain(Duration),
}

impl<Waiter> Pending<Waiter> {
    /// An empty table for at most `limit` requests.
    pub fn new(limit: usize, now: Instant) -> Self {
        Self { entries: HashMap::new(), limit, last_end: now }
    }

    /// Lets a request in.
    ///
    /// # Errors
    /// Gives the waiter back with the reason.
    pub fn open(&mut self, id: RequestId, now: Instant, waiter: Waiter) -> Result<(), (OpenError, Waiter)> {
        if self.entries.len() >= self.limit {
            return Err((OpenError::Full, waiter));
        }
        if self.entries.contains_key(&id) {
            return Err((OpenError::Duplicate, waiter));
        }
        self.entries.insert(id, Entry { since: now, waiter });
        Ok(())
    }

    /// Takes a request out; `None` when it is not in flight (any more).
    pub fn close(&mut self, id: &RequestId, now: Instant) -> Option<Entry<Waiter>> {
        let entry = self.entries.remove(id)?;
        self.last_end = now;
        Some(entry)
    }

    /// The waiter of a request in flight.
    pub fn waiter_mut(&mut self, id: &RequestId) -> Option<&mut Waiter> {
        self.entries.get_mut(id).map(|entry| &mut entry.waiter)
    }

    /// Takes everything out.
    pub fn drain(&mut self) -> Vec<(RequestId, Entry<Waiter>)> {
        self.entries.drain().collect()
    }

    /// How many are in flight.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Says whether the channel has been without work for `idle_after`.
    pub fn idleness(&self, now: Instant, idle_after: Duration) -> Idleness {
        if !self.entries.is_empty() {
            return Idleness::LookAgain(idle_after);
        }
        let idle = now.saturating_duration_since(self.last_end);
        match idle_after.checked_sub(idle) {
            None | Some(Duration::ZERO) => Idleness::Leave,
            Some(rest) => Idleness::LookAgain(rest),
        }
    }
}

/// Compares the id that went out with the one that came back.
pub fn correlate(asked: &RequestId, reply: &Reply) -> Correlation {
    match &reply.request_id {
        Some(answered) if answered != asked => Correlation::Differs,
        _ => Correlation::Matches,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::collections::btree_map::Entry;

    use proptest::prelude::*;

    use super::*;

    fn id(number: u8) -> RequestId {
        RequestId::from(format!("request-{number}").as_str())
    }

    #[test]
    fn a_full_table_gives_the_waiter_back() {
        let now = Instant::now();
        let mut pending = Pending::new(1, now);
        pending.open(id(1), now, "first").unwrap();
        assert_eq!(pending.open(id(2), now, "second"), Err((OpenError::Full, "second")));
        assert_eq!(pending.close(&id(1), now).map(|entry| entry.waiter), Some("first"));
        pending.open(id(2), now, "second").unwrap();
    }

    #[test]
    fn one_id_is_in_flight_at_most_once() {
        let now = Instant::now();
        let mut pending = Pending::new(8, now);
        pending.open(id(1), now, "first").unwrap();
        assert_eq!(pending.open(id(1), now, "again"), Err((OpenError::Duplicate, "again")));
    }

    #[test]
    fn a_channel_with_work_never_leaves() {
        let start = Instant::now();
        let idle_after = Duration::from_secs(300);
        let mut pending = Pending::new(8, start);
        pending.open(id(1), start, ()).unwrap();
        let late = start + Duration::from_secs(310);
        assert_eq!(pending.idleness(late, idle_after), Idleness::LookAgain(idle_after));
        pending.close(&id(1), late).unwrap();
        assert_eq!(pending.idleness(late, idle_after), Idleness::LookAgain(idle_after));
        assert_eq!(
            pending.idleness(late + Duration::from_secs(299), idle_after),
            Idleness::LookAgain(Duration::from_secs(1))
        );
        assert_eq!(pending.idleness(late + idle_after, idle_after), Idleness::Leave);
    }

    #[test]
    fn a_reply_with_another_id_is_noticed() {
        let reply = |request_id: Option<RequestId>| Reply { request_id, ..Reply::default() };
        assert_eq!(correlate(&id(1), &reply(Some(id(1)))), Correlation::Matches);
        assert_eq!(correlate(&id(1), &reply(None)), Correlation::Matches);
        assert_eq!(correlate(&id(1), &reply(Some(id(2)))), Correlation::Differs);
    }

    proptest! {
        #[test]
        fn every_waiter_comes_out_exactly_once(
            limit in 1usize..6,
            steps in proptest::collection::vec((any::<bool>(), 0u8..8), 0..60),
        ) {
            let now = Instant::now();
            let mut pending = Pending::new(limit, now);
            let mut model: BTreeMap<u8, usize> = BTreeMap::new();
            for (waiter, (open, number)) in steps.into_iter().enumerate() {
                if open {
                    let expected = match model.entry(number) {
                        _ if pending.len() >= limit => Err((OpenError::Full, waiter)),
                        Entry::Occupied(_) => Err((OpenError::Duplicate, waiter)),
                        Entry::Vacant(vacant) => {
                            vacant.insert(waiter);
                            Ok(())
                        }
                    };
                    prop_assert_eq!(pending.open(id(number), now, waiter), expected);
                } else {
                    let closed = pending.close(&id(number), now).map(|entry| entry.waiter);
                    prop_assert_eq!(closed, model.remove(&number));
                }
                prop_assert!(pending.len() <= limit);
                prop_assert_eq!(pending.len(), model.len());
            }
            let mut left: Vec<usize> = pending.drain().into_iter().map(|(_, entry)| entry.waiter).collect();
            left.sort_unstable();
            let mut expected: Vec<usize> = model.into_values().collect();
            expected.sort_unstable();
            prop_assert_eq!(left, expected);
            prop_assert_eq!(pending.len(), 0);
        }
    }
}
