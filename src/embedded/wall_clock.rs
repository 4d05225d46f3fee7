//! Wall-clock time, for what the broker shows: when it started and when a channel was last active.

use std::time::{SystemTime, UNIX_EPOCH};

use super::directory::UnixMilliseconds;

/// The time now; 1970 if the clock is before it.
#[expect(clippy::disallowed_methods, reason = "the stand-in knows nothing of ours, so not `clock` either")]
pub fn now() -> UnixMilliseconds {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixMilliseconds(i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX))
}
