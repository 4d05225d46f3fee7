//! How much one caller may do: `[limits]`.

use super::Section;
use crate::config::setting::Setting;

pub static LIMITS: Section = Section {
    name: "limits",
    about: "How much each caller may do, so that one that floods does not starve the others.",
    settings: &[
        Setting::integer(
            "limits.calls_per_second",
            0,
            0..=1_000_000,
            "Calls of one caller in a second, on the long run. Beyond it a call is refused as `rate_limited`. 0 is no such limit.",
        ),
        Setting::integer(
            "limits.calls_burst",
            100,
            1..=1_000_000,
            "Calls that a caller may make at once after it has been still, when `limits.calls_per_second` is set.",
        ),
        Setting::integer(
            "limits.calls_pending_per_principal_max",
            15_000,
            1..=1_000_000,
            "Calls of one caller that have not ended. Less than `channel.requests_pending_max` leaves room for others.",
        ),
        Setting::integer(
            "limits.principals_max",
            10_000,
            1..=1_000_000,
            "Callers that are remembered. A new one takes the place of the one that has been still for longest.",
        ),
    ],
};
