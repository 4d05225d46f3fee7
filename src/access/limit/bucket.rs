//! A rate with a burst: a bucket that holds so many calls and fills again with time. Pure.

use std::time::Duration;

/// Billionths of one call, so that a rate of one in a second loses nothing to rounding.
const WHOLE: u64 = 1_000_000_000;

/// How many calls in a second on the long run, and how many at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// In a second; 0 for no limit.
    pub per_second: u32,
    /// At once; at least one.
    pub burst: u32,
}

/// What is left of one caller's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bucket {
    left: u64,
    at: Duration,
}

impl Bucket {
    /// A full one.
    pub fn full(rate: Rate, now: Duration) -> Self {
        Self { left: capacity(rate), at: now }
    }

    /// Takes one call out.
    ///
    /// # Errors
    /// How long until there is one.
    pub fn take(&mut self, rate: Rate, now: Duration) -> Result<(), Duration> {
        if rate.per_second == 0 {
            return Ok(());
        }
        self.fill(rate, now);
        match self.left.checked_sub(WHOLE) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            // A rate of one in a second gives one billionth in a nanosecond.
            None => Err(Duration::from_nanos((WHOLE - self.left).div_ceil(u64::from(rate.per_second)))),
        }
    }

    /// When it was last used.
    pub fn used_at(self) -> Duration {
        self.at
    }

    /// Whether nothing would be lost by forgetting it.
    pub fn is_full(mut self, rate: Rate, now: Duration) -> bool {
        self.fill(rate, now);
        rate.per_second == 0 || self.left == capacity(rate)
    }

    fn fill(&mut self, rate: Rate, now: Duration) {
        let gone = u64::try_from(now.saturating_sub(self.at).as_nanos()).unwrap_or(u64::MAX);
        let more = gone.saturating_mul(u64::from(rate.per_second));
        self.left = self.left.saturating_add(more).min(capacity(rate));
        self.at = self.at.max(now);
    }
}

fn capacity(rate: Rate) -> u64 {
    u64::from(rate.burst.max(1)) * WHOLE
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_burst_is_let_in_and_then_the_rate_holds() {
        let rate = Rate { per_second: 2, burst: 3 };
        let mut bucket = Bucket::full(rate, at(0));
        assert_eq!(
            [bucket.take(rate, at(0)), bucket.take(rate, at(0)), bucket.take(rate, at(0))],
            [Ok(()); 3]
        );
        assert_eq!(bucket.take(rate, at(0)), Err(at(500)));
        assert_eq!(bucket.take(rate, at(499)), Err(at(1)));
        assert_eq!(bucket.take(rate, at(500)), Ok(()));
        assert!(!bucket.is_full(rate, at(1_999)) && bucket.is_full(rate, at(2_000)));
    }

    #[test]
    fn a_rate_of_zero_is_no_limit() {
        let rate = Rate { per_second: 0, burst: 1 };
        let mut bucket = Bucket::full(rate, at(0));
        assert!((0..1_000).all(|_| bucket.take(rate, at(0)) == Ok(())));
    }

    proptest! {
        #[test]
        fn never_more_than_the_burst_and_the_rate(
            per_second in 1u32..50, burst in 1u32..20, steps in prop::collection::vec(0u64..400, 1..200),
        ) {
            let rate = Rate { per_second, burst };
            let mut bucket = Bucket::full(rate, at(0));
            let (mut now, mut taken) = (0, 0u64);
            for step in steps {
                now += step;
                match bucket.take(rate, at(now)) {
                    Ok(()) => taken += 1,
                    // Whoever waits as long as was said is let in, and no millisecond earlier.
                    Err(wait) => {
                        let mut later = bucket;
                        prop_assert_eq!(later.take(rate, at(now) + wait), Ok(()));
                        let mut early = bucket;
                        let early = early.take(rate, at(now) + wait.saturating_sub(at(1)));
                        prop_assert!(wait <= at(1) || early.is_err());
                    }
                }
                prop_assert!(taken * 1_000 <= u64::from(burst) * 1_000 + now * u64::from(per_second));
            }
        }
    }
}
