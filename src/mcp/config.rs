//! The limits of one tool call, and the rules of single channels.

use serde::Deserialize;

use crate::domain::{Channel, ChannelPattern};

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
        }
    }
}

/// One entry of `[[channels]]`: what holds on the channels of a pattern. The first entry that matches wins.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelRule {
    /// The channels it is about.
    pub pattern: ChannelPattern,
    /// Longest timeout of a call on them.
    pub tool_timeout_seconds: u64,
}

/// The longest time a responder on `channel` gets, in seconds: the channel's own cap, but never more than the tool's.
pub(super) fn timeout_cap(config: &Config, rules: &[ChannelRule], channel: &Channel) -> u64 {
    let own = rules.iter().find(|rule| rule.pattern.matches(channel));
    own.map_or(config.tool_timeout_seconds, |rule| rule.tool_timeout_seconds.min(config.tool_timeout_seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_matching_rule_caps_and_never_beyond_the_tool() {
        let rule = |pattern: &str, seconds| ChannelRule {
            pattern: ChannelPattern::parse(pattern).unwrap(),
            tool_timeout_seconds: seconds,
        };
        let config = Config { tool_timeout_seconds: 100, ..Config::default() };
        let rules = [rule("orders.eu", 5), rule("orders.>", 20), rule("slow", 300)];
        let cap = |name: &str| timeout_cap(&config, &rules, &Channel::parse(name).unwrap());
        assert_eq!((cap("orders.eu"), cap("orders.us"), cap("slow"), cap("other")), (5, 20, 100, 100));
    }
}
