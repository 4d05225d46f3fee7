//! The connections that are open, and which of them gives way when there are as many as may be.
//!
//! A connection without a request is *idle*; the one that has been idle for longest is closed for a new one, so that
//! whoever opens many and says nothing locks nobody out. Only when all of them are at work is a new one refused.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::metrics::Metrics;

/// The open connections; a clone is a count.
#[derive(Clone)]
pub(super) struct Connections {
    inner: Arc<Inner>,
}

struct Inner {
    table: Mutex<Table>,
    begun: Instant,
}

/// The place of one connection, until it is dropped.
pub(super) struct Place {
    connections: Connections,
    number: u64,
    /// Cancelled when the connection has to give way.
    pub leave: CancellationToken,
}

/// A request that runs on a connection, until its answer has been handed over whole.
pub(super) struct Work {
    connections: Connections,
    number: u64,
}

impl Connections {
    /// Room for so many.
    pub fn new(max: usize) -> Self {
        let table = Mutex::new(Table { max, next: 0, open: HashMap::new(), idle: BTreeSet::new() });
        Self { inner: Arc::new(Inner { table, begun: Instant::now() }) }
    }

    /// A place for a new connection; nothing when all that are open are at work.
    pub fn enter(&self) -> Option<Place> {
        let leave = CancellationToken::new();
        let entered = self.table().enter(leave.clone(), self.now());
        let (number, displaced) = entered?;
        if let Some(displaced) = displaced {
            displaced.cancel();
            Metrics::get().connections_displaced.increment(1);
        }
        Metrics::get().connections.increment(1);
        Some(Place { connections: self.clone(), number, leave })
    }

    fn now(&self) -> Duration {
        self.inner.begun.elapsed()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.inner.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// A request has come; nothing when the connection has just been told to give way, and the request must not run.
    pub fn work(&self) -> Option<Work> {
        let begun = self.connections.table().begin(self.number);
        begun.then(|| Work { connections: self.connections.clone(), number: self.number })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.table().leave(self.number);
        Metrics::get().connections.decrement(1);
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let now = self.connections.now();
        self.connections.table().end(self.number, now);
    }
}

/// What is open. Pure.
struct Table {
    max: usize,
    next: u64,
    open: HashMap<u64, Open>,
    // By the time since when, then by number, so that two of one moment are two.
    idle: BTreeSet<(Duration, u64)>,
}

struct Open {
    requests: usize,
    idle_since: Duration,
    leave: CancellationToken,
}

impl Table {
    fn enter(&mut self, leave: CancellationToken, now: Duration) -> Option<(u64, Option<CancellationToken>)> {
        let displaced = if self.open.len() < self.max {
            None
        } else {
            let (_, number) = self.idle.pop_first()?;
            self.open.remove(&number).map(|open| open.leave)
        };
        let number = self.next;
        self.next += 1;
        self.open.insert(number, Open { requests: 0, idle_since: now, leave });
        self.idle.insert((now, number));
        Some((number, displaced))
    }

    fn begin(&mut self, number: u64) -> bool {
        let Some(open) = self.open.get_mut(&number) else { return false };
        self.idle.remove(&(open.idle_since, number));
        open.requests += 1;
        true
    }

    fn end(&mut self, number: u64, now: Duration) {
        let Some(open) = self.open.get_mut(&number) else { return };
        open.requests -= 1;
        if open.requests == 0 {
            open.idle_since = now;
            self.idle.insert((now, number));
        }
    }

    fn leave(&mut self, number: u64) {
        if let Some(open) = self.open.remove(&number) {
            self.idle.remove(&(open.idle_since, number));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table(max: usize) -> Table {
        Table { max, next: 0, open: HashMap::new(), idle: BTreeSet::new() }
    }

    fn enter(table: &mut Table, second: u64) -> Option<(u64, bool)> {
        let entered = table.enter(CancellationToken::new(), Duration::from_secs(second))?;
        Some((entered.0, entered.1.is_some()))
    }

    #[test]
    fn the_connection_that_was_idle_for_longest_gives_way_and_one_at_work_never() {
        let mut table = table(2);
        assert_eq!([enter(&mut table, 0), enter(&mut table, 1)], [Some((0, false)), Some((1, false))]);
        assert!(table.begin(0));
        assert_eq!(enter(&mut table, 2), Some((2, true)), "1 was idle, 0 is at work");
        assert!(!table.begin(1), "it was told to leave, so its request must not run");
        assert!(table.begin(2));
        assert_eq!(enter(&mut table, 3), None);
        table.end(0, Duration::from_secs(4));
        assert_eq!(enter(&mut table, 5), Some((3, true)));
    }

    proptest! {
        #[test]
        fn there_are_never_more_and_what_works_stays(steps in prop::collection::vec((0u8..4, any::<u8>()), 1..300)) {
            let mut table = table(4);
            let mut working: Vec<u64> = Vec::new();
            let mut known: Vec<u64> = Vec::new();
            for (second, (what, which)) in (0u64..).zip(steps) {
                let pick = |of: &[u64]| (!of.is_empty()).then(|| of[usize::from(which) % of.len()]);
                match what {
                    0 => known.extend(enter(&mut table, second).map(|(number, _)| number)),
                    1 => working.extend(pick(&known).filter(|number| table.begin(*number))),
                    2 => if let Some(number) = pick(&working) {
                        working.remove(working.iter().position(|one| *one == number).unwrap());
                        table.end(number, Duration::from_secs(second));
                    },
                    _ => if let Some(number) = pick(&known).filter(|number| !working.contains(number)) {
                        table.leave(number);
                    },
                }
                prop_assert!(table.open.len() <= 4);
                for number in &working {
                    prop_assert!(table.open.contains_key(number), "a connection at work was closed");
                }
                let idle = table.open.values().filter(|open| open.requests == 0).count();
                prop_assert_eq!(table.idle.len(), idle);
            }
        }
    }
}
