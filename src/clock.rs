//! The only place that asks for wall-clock time. Durations are measured with tokio's `Instant`, which a test can pause.

use std::time::SystemTime;

/// The wall-clock time, for texts that people read.
#[expect(clippy::disallowed_methods, reason = "this is the one place")]
pub fn now() -> SystemTime {
    SystemTime::now()
}
