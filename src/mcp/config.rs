//! The limits of one tool call, and the rules of single channels.

use serde::Deserialize;

use crate::access::Bounds;
use crate::domain::{Channel, ChannelPattern};
use crate::idempotency::Resend;

/// The section `[tool]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Longest timeout of a call; a longer one is shortened to it.
    pub tool_timeout_seconds: u64,
    /// How long we wait beyond a call's timeout, for a broker that stays silent.
    pub gateway_buffer_seconds: u64,
    /// Largest body of a call.
    pub body_bytes_max: usize,
    /// Largest metadata of a call.
    pub metadata_bytes_max: usize,
    /// Tags of one call.
    pub tags_max: usize,
    /// Longest name of a tag.
    pub tag_key_bytes_max: usize,
    /// Longest value of a tag.
    pub tag_value_bytes_max: usize,
    /// Time between two progress notifications of one call.
    pub progress_seconds: u64,
    /// Whether a command without an idempotency key is refused.
    pub require_key: bool,
    /// The tag that carries the key to the responder; empty: it stays here.
    pub idempotency_key_tag: String,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            tool_timeout_seconds: 300,
            gateway_buffer_seconds: 10,
            body_bytes_max: 1_048_576,
            metadata_bytes_max: 65_536,
            tags_max: 64,
            tag_key_bytes_max: 256,
            tag_value_bytes_max: 4096,
            progress_seconds: 1,
            require_key: false,
            idempotency_key_tag: "x-idempotency-key".into(),
        }
    }
}

/// One entry of `[[channels]]`: what holds on the channels of a pattern. The first entry that matches wins.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelRule {
    /// The channels it is about.
    pub pattern: ChannelPattern,
    /// Longest timeout of a call on them, when it is shorter than everybody's.
    #[serde(default)]
    pub tool_timeout_seconds: Option<u64>,
    /// Whether a command on them without an idempotency key is refused; everybody's rule when it says nothing.
    #[serde(default)]
    pub require_key: Option<bool>,
    /// Whether a key in doubt is sent again on a retry, since the responders on them take care of duplicates.
    #[serde(default)]
    pub resend_in_doubt: bool,
}

/// What holds on one channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Terms {
    /// The longest time a responder gets, in seconds: the channel's own cap, but never more than the tool's.
    pub timeout_seconds_max: u64,
    /// Whether a command needs a key.
    pub require_key: bool,
    /// Whether a key in doubt may leave again.
    pub resend: Resend,
}

/// The terms of a channel for a caller with these bounds.
pub(super) fn terms(config: &Config, rules: &[ChannelRule], bounds: Bounds, channel: &Channel) -> Terms {
    let own = rules.iter().find(|rule| rule.pattern.matches(channel));
    let cap = own.and_then(|rule| rule.tool_timeout_seconds).unwrap_or(config.tool_timeout_seconds);
    let resends = own.is_some_and(|rule| rule.resend_in_doubt);
    Terms {
        timeout_seconds_max: cap
            .min(config.tool_timeout_seconds)
            .min(bounds.timeout_seconds_max.unwrap_or(u64::MAX)),
        require_key: bounds.require_key
            || own.and_then(|rule| rule.require_key).unwrap_or(config.require_key),
        resend: if resends { Resend::InDoubt } else { Resend::Never },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(pattern: &str) -> ChannelRule {
        let pattern = ChannelPattern::parse(pattern).unwrap();
        ChannelRule { pattern, tool_timeout_seconds: None, require_key: None, resend_in_doubt: false }
    }

    fn terms_of(config: &Config, rules: &[ChannelRule], name: &str) -> Terms {
        terms(config, rules, Bounds::default(), &Channel::parse(name).unwrap())
    }

    #[test]
    fn the_first_matching_rule_caps_and_never_beyond_the_tool() {
        let capped =
            |pattern: &str, seconds| ChannelRule { tool_timeout_seconds: Some(seconds), ..rule(pattern) };
        let config = Config { tool_timeout_seconds: 100, ..Config::default() };
        let rules = [capped("orders.eu", 5), capped("orders.>", 20), capped("slow", 300), rule("plain")];
        let cap = |name: &str| terms_of(&config, &rules, name).timeout_seconds_max;
        assert_eq!((cap("orders.eu"), cap("orders.us"), cap("slow")), (5, 20, 100));
        assert_eq!((cap("plain"), cap("other")), (100, 100));
    }

    #[test]
    fn a_channel_may_ask_for_keys_or_do_without_whatever_holds_elsewhere() {
        let keys = |pattern: &str, required| ChannelRule { require_key: Some(required), ..rule(pattern) };
        let rules = [keys("orders.>", true), keys("lamps", false), rule("plain")];
        for global in [false, true] {
            let config = Config { require_key: global, ..Config::default() };
            let required = |name: &str| terms_of(&config, &rules, name).require_key;
            assert_eq!((required("orders.eu"), required("lamps")), (true, false));
            assert_eq!((required("plain"), required("other")), (global, global));
        }
    }

    #[test]
    fn the_bounds_of_a_caller_narrow_and_never_widen() {
        let rules =
            [ChannelRule { tool_timeout_seconds: Some(20), require_key: Some(false), ..rule("orders") }];
        let orders = Channel::parse("orders").unwrap();
        for (seconds, expected) in [(5, 5), (60, 20)] {
            let bounds =
                Bounds { timeout_seconds_max: Some(seconds), require_key: true, ..Bounds::default() };
            let terms = terms(&Config::default(), &rules, bounds, &orders);
            assert_eq!((terms.timeout_seconds_max, terms.require_key), (expected, true));
        }
    }

    #[test]
    fn a_key_in_doubt_leaves_again_only_where_the_channel_says_so() {
        let rules = [ChannelRule { resend_in_doubt: true, ..rule("orders.>") }];
        assert_eq!(terms_of(&Config::default(), &rules, "orders.eu").resend, Resend::InDoubt);
        assert_eq!(terms_of(&Config::default(), &rules, "lamps").resend, Resend::Never);
    }
}
