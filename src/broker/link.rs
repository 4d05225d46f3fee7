//! Whether the broker is there, decided from what pings and calls have met.
//!
//! Pure: it is told what happened and says what follows. A link is *open* when calls may leave over it, *doubted* after
//! a call has lost its connection, and *closed* when the last look found no broker. Each opening starts a new *epoch*:
//! thousands of calls may end with one connection, and only the first of them is news.

use std::time::Duration;

use super::backoff::pause;

/// How often to look.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Between two pings of a broker that answers.
    pub ping_interval: Duration,
    /// Longest pause between two looks for one that is gone.
    pub pause_max: Duration,
}

/// Counts the openings of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Epoch(u64);

/// Whether calls may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Closed,
    Open,
    Doubted,
}

/// The state machine of one link.
#[derive(Debug)]
pub(super) struct Link {
    pace: Pace,
    standing: Standing,
    epoch: Epoch,
    failures: u32,
    reconnects: u64,
}

impl Link {
    /// A link that nothing is known of.
    pub(super) fn new(pace: Pace) -> Self {
        Self { pace, standing: Standing::Closed, epoch: Epoch(0), failures: 0, reconnects: 0 }
    }

    /// A look found a broker. Returns the epoch that now runs.
    pub(super) fn answered(&mut self) -> Epoch {
        self.failures = 0;
        if self.standing != Standing::Open {
            if self.epoch.0 > 0 {
                self.reconnects += 1;
            }
            self.epoch.0 += 1;
            self.standing = Standing::Open;
        }
        self.epoch
    }

    /// Other connections take over in good order. Returns the epoch that now runs; this is no reconnect.
    pub(super) fn replaced(&mut self) -> Epoch {
        if self.standing == Standing::Open {
            self.epoch.0 += 1;
        }
        self.epoch
    }

    /// A whole look found no broker. Says whether that is news.
    pub(super) fn failed(&mut self) -> bool {
        self.failures = self.failures.saturating_add(1);
        self.standing = Standing::Closed;
        self.failures == 1
    }

    /// The broker of this epoch still answers. Says whether calls still leave over it.
    pub(super) fn confirmed(&self, epoch: Epoch) -> bool {
        self.standing == Standing::Open && self.epoch == epoch
    }

    /// A ping or a call of this epoch met a dead end. Says whether that is news, so that somebody must look.
    pub(super) fn doubted(&mut self, epoch: Epoch) -> bool {
        let news = self.confirmed(epoch);
        if news {
            self.standing = Standing::Doubted;
        }
        news
    }

    /// How long to wait before the next look. `chance` is a number from 0 to 1.
    pub(super) fn next_look(&self, chance: f64) -> Duration {
        match self.standing {
            Standing::Open => self.pace.ping_interval,
            Standing::Doubted => Duration::ZERO,
            Standing::Closed => pause(self.failures, self.pace.pause_max, chance),
        }
    }

    /// How often a broker was found again after it had been lost.
    pub(super) fn reconnects(&self) -> u64 {
        self.reconnects
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PACE: Pace = Pace { ping_interval: Duration::from_secs(5), pause_max: Duration::from_secs(1) };

    fn is_open(link: &Link) -> bool {
        link.standing == Standing::Open
    }

    #[test]
    fn the_first_connection_is_no_reconnect_and_the_second_is() {
        let mut link = Link::new(PACE);
        link.failed();
        link.answered();
        assert_eq!(link.reconnects(), 0);
        link.failed();
        link.answered();
        link.answered();
        assert_eq!(link.reconnects(), 1);
    }

    #[test]
    fn calls_that_end_with_one_connection_are_one_piece_of_news() {
        let mut link = Link::new(PACE);
        let epoch = link.answered();
        assert!(link.doubted(epoch));
        assert!(!link.doubted(epoch));
        assert_eq!(link.next_look(1.0), Duration::ZERO);
        let next = link.answered();
        assert_ne!(next, epoch);
        assert!(!link.doubted(epoch), "a late call of the old connection says nothing of the new one");
        assert!(is_open(&link));
    }

    #[test]
    fn new_connections_in_good_order_are_no_reconnect() {
        let mut link = Link::new(PACE);
        let epoch = link.answered();
        assert_ne!(link.replaced(), epoch);
        assert!(!link.doubted(epoch) && is_open(&link));
        assert_eq!(link.reconnects(), 0);
    }

    #[derive(Clone, Copy, Debug)]
    enum Event {
        Answered,
        Failed,
        Doubted,
        Replaced,
    }

    proptest! {
        #[test]
        fn every_history_keeps_the_next_look_within_its_bounds(
            events in prop::collection::vec(
                prop::sample::select(vec![Event::Answered, Event::Failed, Event::Doubted, Event::Replaced]), 0..60),
            chance in 0.0f64..=1.0,
        ) {
            let mut link = Link::new(PACE);
            let mut epoch = Epoch::default();
            let mut openings = 0;
            for event in events {
                let was_open = is_open(&link);
                match event {
                    Event::Answered => epoch = link.answered(),
                    Event::Failed => { link.failed(); }
                    Event::Doubted => { link.doubted(epoch); }
                    Event::Replaced => epoch = link.replaced(),
                }
                openings += u64::from(!was_open && is_open(&link));
                prop_assert!(link.next_look(chance) <= PACE.ping_interval);
                prop_assert!(is_open(&link) || link.next_look(chance) <= PACE.pause_max);
                prop_assert_eq!(link.reconnects(), openings.max(1) - 1);
            }
        }
    }
}
