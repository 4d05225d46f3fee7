//! The accounts of all callers: what each has left, and how many calls of it have not ended. Pure.

use std::collections::HashMap;
use std::time::Duration;

use super::bucket::{Bucket, Rate};
use super::config::Config;
use crate::domain::Principal;

/// Why a call is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Excess {
    /// Too many calls in a second.
    #[error("this caller may make {per_second} calls in a second (limits.calls_per_second)")]
    Rate {
        /// How many it may make.
        per_second: u32,
        /// How long until the next is let in.
        wait: Duration,
    },
    /// Too many calls at one time.
    #[error("{pending} calls of this caller have not ended (limits.calls_pending_per_principal_max)")]
    Pending {
        /// How many have not ended.
        pending: usize,
    },
    /// Too many callers at one time.
    #[error("{callers} callers have calls that have not ended (limits.principals_max)")]
    Callers {
        /// How many there are.
        callers: usize,
    },
}

impl Excess {
    /// The words in metrics.
    pub const NAMES: [&str; 3] = ["rate", "pending", "callers"];

    /// The word in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rate { .. } => Self::NAMES[0],
            Self::Pending { .. } => Self::NAMES[1],
            Self::Callers { .. } => Self::NAMES[2],
        }
    }

    /// How long to wait before the next try.
    pub fn wait(self) -> Duration {
        match self {
            Self::Rate { wait, .. } => wait,
            // When one ends, nobody can say.
            Self::Pending { .. } | Self::Callers { .. } => Duration::from_secs(1),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Account {
    bucket: Bucket,
    pending: usize,
}

/// All accounts.
#[derive(Debug)]
pub(super) struct Table {
    rate: Rate,
    pending_max: usize,
    callers_max: usize,
    accounts: HashMap<Principal, Account>,
}

impl Table {
    pub fn new(config: &Config) -> Self {
        Self {
            rate: Rate { per_second: config.calls_per_second, burst: config.calls_burst },
            pending_max: config.calls_pending_per_principal_max,
            callers_max: config.principals_max,
            accounts: HashMap::new(),
        }
    }

    /// Callers with an account.
    pub fn callers(&self) -> usize {
        self.accounts.len()
    }

    /// Lets one call in.
    ///
    /// # Errors
    /// Says which limit is reached.
    pub fn admit(&mut self, principal: &Principal, now: Duration) -> Result<(), Excess> {
        if !self.accounts.contains_key(principal) {
            self.make_room(now)?;
            let account = Account { bucket: Bucket::full(self.rate, now), pending: 0 };
            self.accounts.insert(principal.clone(), account);
        }
        let account = self.accounts.get_mut(principal).expect("it was made if it was not there");
        if account.pending >= self.pending_max {
            return Err(Excess::Pending { pending: account.pending });
        }
        let per_second = self.rate.per_second;
        account.bucket.take(self.rate, now).map_err(|wait| Excess::Rate { per_second, wait })?;
        account.pending += 1;
        Ok(())
    }

    /// One call of the caller has ended.
    pub fn leave(&mut self, principal: &Principal) {
        let account = self.accounts.get_mut(principal).expect("an account with calls is not forgotten");
        account.pending = account.pending.checked_sub(1).expect("what has ended was let in");
    }

    /// Forgets callers of whom nothing is lost; when there is none, the one that has been still for longest.
    fn make_room(&mut self, now: Duration) -> Result<(), Excess> {
        if self.accounts.len() < self.callers_max {
            return Ok(());
        }
        let rate = self.rate;
        self.accounts.retain(|_, account| account.pending > 0 || !account.bucket.is_full(rate, now));
        if self.accounts.len() < self.callers_max {
            return Ok(());
        }
        let still = self.accounts.iter().filter(|(_, account)| account.pending == 0);
        let oldest = still.min_by_key(|(_, account)| account.bucket.used_at()).map(|(name, _)| name.clone());
        match oldest {
            Some(name) => _ = self.accounts.remove(&name),
            None => return Err(Excess::Callers { callers: self.accounts.len() }),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table(per_second: u32, pending_max: usize, callers_max: usize) -> Table {
        Table::new(&Config {
            calls_per_second: per_second,
            calls_burst: 2,
            calls_pending_per_principal_max: pending_max,
            principals_max: callers_max,
        })
    }

    fn named(name: &str) -> Principal {
        Principal::named(name)
    }

    const NOW: Duration = Duration::from_secs(100);

    #[test]
    fn what_one_caller_has_used_up_another_still_has() {
        let mut table = table(1, 10, 10);
        assert_eq!([table.admit(&named("a"), NOW), table.admit(&named("a"), NOW)], [Ok(()), Ok(())]);
        let wait = Duration::from_secs(1);
        assert_eq!(table.admit(&named("a"), NOW), Err(Excess::Rate { per_second: 1, wait }));
        assert_eq!(table.admit(&named("b"), NOW), Ok(()));
    }

    #[test]
    fn a_call_counts_until_it_ends() {
        let mut table = table(0, 2, 10);
        assert_eq!([table.admit(&named("a"), NOW), table.admit(&named("a"), NOW)], [Ok(()), Ok(())]);
        assert_eq!(table.admit(&named("a"), NOW), Err(Excess::Pending { pending: 2 }));
        table.leave(&named("a"));
        assert_eq!(table.admit(&named("a"), NOW), Ok(()));
    }

    #[test]
    fn the_caller_that_was_still_for_longest_is_forgotten_for_a_new_one() {
        let mut table = table(1, 10, 2);
        for (index, name) in ["a", "b"].into_iter().enumerate() {
            let now = NOW + Duration::from_millis(u64::try_from(index).unwrap());
            table.admit(&named(name), now).unwrap();
        }
        assert_eq!(table.admit(&named("c"), NOW), Err(Excess::Callers { callers: 2 }));
        table.leave(&named("a"));
        table.leave(&named("b"));
        assert_eq!(table.admit(&named("c"), NOW + Duration::from_millis(2)), Ok(()));
        assert!(table.accounts.contains_key(&named("b")) && !table.accounts.contains_key(&named("a")));
    }

    proptest! {
        #[test]
        fn no_limit_is_ever_passed_and_the_table_stays_small(
            calls in prop::collection::vec((0u8..6, 0u64..50, any::<bool>()), 1..300),
        ) {
            let mut table = table(20, 3, 4);
            let mut open: Vec<Principal> = Vec::new();
            let mut now = Duration::ZERO;
            for (caller, step, ends) in calls {
                now += Duration::from_millis(step);
                let principal = named(&caller.to_string());
                if ends && !open.is_empty() {
                    let gone = open.swap_remove(usize::from(caller) % open.len());
                    table.leave(&gone);
                }
                if table.admit(&principal, now).is_ok() {
                    open.push(principal.clone());
                }
                prop_assert!(open.iter().filter(|one| **one == principal).count() <= 3);
                prop_assert!(table.callers() <= 4);
                for one in &open {
                    let counted = open.iter().filter(|other| *other == one).count();
                    prop_assert_eq!(table.accounts[one].pending, counted);
                }
            }
        }
    }
}
