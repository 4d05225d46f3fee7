//! How long to wait before the next attempt.
//!
//! The pause doubles up to a cap, and half of it is chance, so that a fleet whose broker returns does not knock as one.

use std::time::Duration;

/// The first pause, before its chance.
pub(super) const PAUSE_MIN: Duration = Duration::from_millis(100);

/// The pause after so many failures in a row, at most `cap`. `chance` is a number from 0 to 1.
pub(super) fn pause(failures: u32, cap: Duration, chance: f64) -> Duration {
    // Sixteen doublings exceed every cap that makes sense, and the shift cannot overflow.
    let doubled = PAUSE_MIN.saturating_mul(1 << failures.saturating_sub(1).min(16));
    let longest = doubled.min(cap);
    longest.mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_pause_stays_between_half_of_the_first_and_the_cap(
            failures in any::<u32>(),
            cap in 100u64..600_000,
            chance in 0.0f64..=1.0,
        ) {
            let cap = Duration::from_millis(cap);
            let pause = pause(failures, cap, chance);
            prop_assert!(pause >= PAUSE_MIN / 2 && pause <= cap, "{pause:?}");
        }

        #[test]
        fn more_failures_never_shorten_the_pause(failures in 0u32..40, chance in 0.0f64..=1.0) {
            let cap = Duration::from_secs(30);
            prop_assert!(pause(failures + 1, cap, chance) >= pause(failures, cap, chance));
        }
    }
}
