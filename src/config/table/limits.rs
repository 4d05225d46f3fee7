//! The limits of calls: `[channel]`, `[tool]` and `[[channels]]`.

use super::Section;
use crate::config::rule;
use crate::config::setting::Setting;

pub static CHANNEL: Section = Section {
    name: "channel",
    about: "What may wait for replies.",
    settings: &[
        Setting::integer(
            "channel.requests_pending_max",
            20_000,
            1..=1_000_000,
            "Requests that wait for a reply at one time, over all channels. With the embedded broker at most `embedded.requests_pending_max`.",
        ),
        Setting::integer(
            "channel.requests_pending_per_channel_max",
            4096,
            1..=1_000_000,
            "Requests that wait for a reply on one channel at one time. At most `channel.requests_pending_max`.",
        ),
        Setting::integer(
            "channel.channels_alive_max",
            20_000,
            1..=1_000_000,
            "Channels that are kept at one time. A new one takes the place of the one that has been without work for longest.",
        ),
        Setting::integer(
            "channel.idle_seconds",
            300,
            1..=86_400,
            "How long a channel is kept when nothing happens on it.",
        ),
    ],
};

pub static TOOL: Section = Section {
    name: "tool",
    about: "What one tool call may be.",
    settings: &[
        Setting::integer(
            "tool.tool_timeout_seconds",
            300,
            1..=300,
            "Longest timeout of a call. A call that asks for more gets this, and is told so.",
        ),
        Setting::integer(
            "tool.gateway_buffer_seconds",
            10,
            1..=60,
            "How long we wait beyond the timeout of a call. It ends only the wait for a broker that stays silent itself. A call waits as long for a lost connection at most.",
        ),
        Setting::integer(
            "tool.body_bytes_max",
            1_048_576,
            1..=67_108_864,
            "Largest body of a call. `http.body_bytes_max` must be half as much again and 4096 at least, for the rest of the request.",
        ),
        Setting::integer("tool.metadata_bytes_max", 65_536, 0..=1_048_576, "Largest metadata of a call."),
        Setting::integer("tool.tags_max", 64, 0..=1024, "Tags of one call."),
        Setting::integer(
            "tool.tag_key_bytes_max",
            256,
            1..=256,
            "Longest name of a tag. KubeMQ's own clients take no longer one than 256.",
        ),
        Setting::integer(
            "tool.tag_value_bytes_max",
            4096,
            1..=4096,
            "Longest value of a tag. KubeMQ's own clients take no longer one than 4096.",
        ),
        Setting::integer(
            "tool.progress_seconds",
            1,
            1..=60,
            "Time between two progress notifications of a call whose agent asked for them.",
        ),
        Setting::boolean(
            "tool.require_key",
            false,
            "Whether a command without an idempotency key is refused. A channel may say otherwise.",
        ),
        Setting::text(
            "tool.idempotency_key_tag",
            "x-idempotency-key",
            rule::TAG,
            "The tag that carries the idempotency key to the responder. Empty: the key stays with the connector.",
        ),
    ],
};

pub static CHANNELS: Section = Section {
    name: "channels",
    about: "What holds on some channels only. The first entry that matches a channel wins.",
    settings: &[
        Setting::text("channels.pattern", "orders.*", rule::PATTERN, "The channels that the entry is about."),
        Setting::integer(
            "channels.tool_timeout_seconds",
            30,
            1..=300,
            "Longest timeout of a call on these channels, when `tool.tool_timeout_seconds` allows more.",
        ),
        Setting::boolean(
            "channels.require_key",
            true,
            "Whether a command on these channels needs an idempotency key, whatever `tool.require_key` says.",
        ),
        Setting::boolean(
            "channels.resend_in_doubt",
            false,
            "Whether a key in doubt is sent again on a retry, at most `store.attempts_max` times in all. Only for \
             channels whose responders take care of duplicates themselves.",
        ),
    ],
};
