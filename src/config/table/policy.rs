//! Who may do what: `[[policy]]`.

use super::Section;
use crate::config::rule::{self, policy};
use crate::config::setting::Setting;

pub static POLICY: Section = Section {
    name: "policy",
    about: "Who may do what. Without an entry everybody may do everything; with the first one, what no entry allows is \
            denied, and a denial stands above whatever allows the same.",
    settings: &[
        Setting::text("policy.who", "alice", policy::WHO, "Whom the entry is about; `*` is everybody."),
        Setting::list(
            "policy.tools",
            &["queries", "command_send"],
            policy::TOOL,
            0,
            "The tools that it allows, on `policy.channels`.",
        ),
        Setting::list(
            "policy.channels",
            &["orders.*"],
            rule::PATTERN,
            0,
            "The channels on which it allows them.",
        ),
        Setting::list("policy.deny_tools", &[], policy::TOOL, 0, "Tools that these callers never have."),
        Setting::list(
            "policy.deny_channels",
            &["orders.internal"],
            rule::PATTERN,
            0,
            "Channels that these callers never reach, with no tool.",
        ),
        Setting::boolean(
            "policy.read_only",
            false,
            "Whether these callers have queries only, whatever allows them more.",
        ),
        Setting::integer(
            "policy.tool_timeout_seconds",
            30,
            1..=300,
            "Longest timeout of a call that the entry allows. Of several that allow a call the narrowest bound holds.",
        ),
        Setting::integer(
            "policy.body_bytes_max",
            65_536,
            1..=67_108_864,
            "Largest body of a call that the entry allows, when `tool.body_bytes_max` allows more.",
        ),
        Setting::boolean(
            "policy.require_key",
            true,
            "Whether a command that the entry allows needs an idempotency key, whatever others say.",
        ),
    ],
};
