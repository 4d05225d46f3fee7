//! One entry of `[[policy]]`.

use serde::Deserialize;

use super::{Bounds, Who};
use crate::domain::{Channel, ChannelPattern, Kind, Tool};

/// What some callers may do, and may not.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Whom it is about.
    pub who: Who,
    /// The tools that it allows.
    #[serde(default)]
    pub tools: Vec<ToolSet>,
    /// The channels on which it allows them.
    #[serde(default)]
    pub channels: Vec<ChannelPattern>,
    /// Tools that are denied to these callers, whatever allows them.
    #[serde(default)]
    pub deny_tools: Vec<ToolSet>,
    /// Channels that are denied to these callers, with every tool, whatever allows them.
    #[serde(default)]
    pub deny_channels: Vec<ChannelPattern>,
    /// Whether these callers have queries only, whatever allows more.
    #[serde(default)]
    pub read_only: bool,
    /// Longest timeout of a call that it allows.
    #[serde(default)]
    pub tool_timeout_seconds: Option<u64>,
    /// Largest body of a call that it allows.
    #[serde(default)]
    pub body_bytes_max: Option<usize>,
    /// Whether a command that it allows needs an idempotency key.
    #[serde(default)]
    pub require_key: bool,
    /// Where it stands, such as `config.toml:12`.
    #[serde(default)]
    pub place: String,
}

impl Entry {
    /// Whether it allows the tool on the channel; without one, on any channel at all.
    pub fn allows(&self, tool: Tool, channel: Option<&Channel>) -> bool {
        let is_open = match channel {
            None => !tool.has_channel() || !self.channels.is_empty(),
            Some(channel) => self.channels.iter().any(|pattern| pattern.matches(channel)),
        };
        is_open && self.tools.iter().any(|set| set.has(tool))
    }

    /// Whether it denies the tool, or the channel.
    pub fn denies(&self, tool: Tool, channel: Option<&Channel>) -> bool {
        self.deny_tools.iter().any(|set| set.has(tool))
            || channel
                .is_some_and(|channel| self.deny_channels.iter().any(|pattern| pattern.matches(channel)))
    }

    /// What a call that it allows has to keep within.
    pub fn bounds(&self) -> Bounds {
        Bounds {
            timeout_seconds_max: self.tool_timeout_seconds,
            body_bytes_max: self.body_bytes_max,
            require_key: self.require_key,
        }
    }
}

/// Tools, by name or by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum ToolSet {
    /// All of them.
    All,
    /// Those of one kind.
    Kind(Kind),
    /// One.
    One(Tool),
}

impl ToolSet {
    /// Reads it as the configuration has it: the name of a tool, `queries`, `commands` or `*`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "*" => Some(Self::All),
            "queries" => Some(Self::Kind(Kind::Query)),
            "commands" => Some(Self::Kind(Kind::Command)),
            name => Tool::parse(name).map(Self::One),
        }
    }

    /// Every word that it can be written as.
    pub fn words() -> impl Iterator<Item = &'static str> {
        ["*", "queries", "commands"].into_iter().chain(Tool::ALL.map(Tool::as_str))
    }

    /// Whether the tool is among them.
    pub fn has(self, tool: Tool) -> bool {
        match self {
            Self::All => true,
            Self::Kind(kind) => tool.kind() == kind,
            Self::One(one) => tool == one,
        }
    }
}

impl TryFrom<String> for ToolSet {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("`{text}` is no tool"))
    }
}
