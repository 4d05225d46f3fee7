//! The store's own time: wall-clock milliseconds that never run backwards.

use std::time::{Duration, SystemTime};

/// Milliseconds since 1970 in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// A time from its milliseconds, as a record has it.
    pub const fn from_milliseconds(milliseconds: u64) -> Self {
        Self(milliseconds)
    }

    /// The milliseconds, for a record.
    pub const fn milliseconds(self) -> u64 {
        self.0
    }

    /// This time and a while longer.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)))
    }

    /// The time for an answer.
    pub fn system_time(self) -> Option<SystemTime> {
        SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(self.0))
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        // A clock before 1970 is a broken clock; the store then stays at the highest time it has seen.
        Self::default().plus(time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
    }
}
