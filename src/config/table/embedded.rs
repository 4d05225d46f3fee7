//! The options of the embedded broker: `[embedded]`.

use super::Section;
use crate::config::rule;
use crate::config::setting::Setting;

pub static EMBEDDED: Section = Section {
    name: "embedded",
    about: "The broker inside, for development: it runs when `broker.address` is `embedded` and keeps nothing.",
    settings: &[
        Setting::text(
            "embedded.listen",
            "127.0.0.1:50000",
            rule::LISTEN,
            "The address that KubeMQ clients connect to.",
        ),
        Setting::integer(
            "embedded.message_bytes_max",
            104_857_600,
            4096..=1_073_741_824,
            "Largest message on the wire.",
        ),
        Setting::integer(
            "embedded.subscription_buffer",
            100,
            1..=65_536,
            "Messages that may wait for one slow subscriber.",
        ),
        Setting::integer(
            "embedded.requests_pending_max",
            20_000,
            1..=1_000_000,
            "Requests that wait for a reply at one time. One more is answered at once with `Error 301`, as if it had timed out.",
        ),
        Setting::integer(
            "embedded.subscriptions_max",
            10_000,
            1..=1_000_000,
            "Subscriptions that are open at one time.",
        ),
        Setting::integer("embedded.cache_entries_max", 1000, 1..=1_000_000, "Replies in the query cache."),
        Setting::integer(
            "embedded.cache_bytes_max",
            67_108_864,
            1024..=1_073_741_824,
            "Size of all replies in the query cache.",
        ),
        Setting::integer(
            "embedded.channels_max",
            10_000,
            1..=1_000_000,
            "Channels that are remembered for lists of channels. Requests on further ones still flow.",
        ),
    ],
};
