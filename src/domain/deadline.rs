//! How long a call may take: what was asked for, and what applies.
//!
//! Asking for more than the cap is capped, never refused; the answer says what applied.

use std::time::Duration;

/// The published upper bound of `timeout_seconds` (`contract/command-and-query-tools.txt`), in seconds.
pub const TIMEOUT_SECONDS_MAX: u64 = 300;

/// The time a responder has, in whole seconds, already capped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeout {
    seconds: u32,
    capped: bool,
}

/// Why a number is not a timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an integer of at least 1")]
pub struct TimeoutError;

impl Timeout {
    /// Caps what was asked for, in seconds, at `cap_seconds` (a channel's own or `tool_timeout_seconds`) and at
    /// `TIMEOUT_SECONDS_MAX`.
    ///
    /// # Errors
    /// Nothing below one second is a timeout.
    pub fn capped_at(asked_seconds: u64, cap_seconds: u64) -> Result<Self, TimeoutError> {
        if asked_seconds == 0 {
            return Err(TimeoutError);
        }
        let cap = cap_seconds.clamp(1, TIMEOUT_SECONDS_MAX);
        let seconds = u32::try_from(asked_seconds.min(cap)).expect("the cap is below u32::MAX");
        Ok(Self { seconds, capped: asked_seconds > cap })
    }

    /// The effective timeout in seconds: what every text and answer names.
    pub fn seconds(self) -> u32 {
        self.seconds
    }

    /// Whether more was asked for than applies.
    pub fn is_capped(self) -> bool {
        self.capped
    }

    /// The time the broker gets.
    pub fn duration(self) -> Duration {
        Duration::from_secs(u64::from(self.seconds))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn more_than_the_cap_is_capped_and_said() {
        let timeout = Timeout::capped_at(301, 300).unwrap();
        assert_eq!((timeout.seconds(), timeout.is_capped()), (300, true));
        let timeout = Timeout::capped_at(300, 300).unwrap();
        assert_eq!((timeout.seconds(), timeout.is_capped()), (300, false));
        assert_eq!(Timeout::capped_at(0, 300), Err(TimeoutError));
    }

    proptest! {
        #[test]
        fn the_effective_timeout_is_the_smallest_of_the_three(asked in 1u64.., cap in 1u64..1000) {
            let timeout = Timeout::capped_at(asked, cap).unwrap();
            let smallest = asked.min(cap).min(300);
            prop_assert_eq!(u64::from(timeout.seconds()), smallest);
            prop_assert_eq!(timeout.is_capped(), asked > smallest);
        }
    }
}
