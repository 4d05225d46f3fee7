//! One request to a responder: what is sent, to whom, for how long.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::{Channel, Timeout};

/// The two kinds of request: one asks for data, the other causes an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Causes an effect; its answer says whether it happened.
    Command,
    /// Asks for data; may be asked again.
    Query,
}

impl Kind {
    /// The word for logs and metric labels.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Query => "query",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The tools an agent can call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tool {
    /// Asks for data.
    QuerySend,
    /// Asks what is known of an idempotency key.
    CommandStatus,
    /// Causes an effect.
    CommandSend,
}

impl Tool {
    /// Every tool, in the order of `tools/list`: queries before commands.
    pub const ALL: [Self; 3] = [Self::QuerySend, Self::CommandStatus, Self::CommandSend];

    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::QuerySend => "query_send",
            Self::CommandStatus => "command_status",
            Self::CommandSend => "command_send",
        }
    }

    /// The tool of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.as_str() == name)
    }

    /// Whether it is about a channel.
    pub fn has_channel(self) -> bool {
        match self {
            Self::QuerySend | Self::CommandSend => true,
            Self::CommandStatus => false,
        }
    }

    /// Whether it asks or acts.
    pub fn kind(self) -> Kind {
        match self {
            Self::QuerySend | Self::CommandStatus => Kind::Query,
            Self::CommandSend => Kind::Command,
        }
    }
}

/// Names one dispatch; the broker carries it to the responder and back.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(Arc<str>);

impl RequestId {
    /// A fresh one (UUID version 4).
    pub fn fresh() -> Self {
        Self(uuid::Uuid::new_v4().to_string().into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for RequestId {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// String pairs beside a body.
pub type Tags = BTreeMap<String, String>;

/// What goes to a responder. Valid by construction of its parts; `body` and `metadata` are never both empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Names this dispatch.
    pub id: RequestId,
    /// Command or query.
    pub kind: Kind,
    /// Where it goes.
    pub channel: Channel,
    /// The payload.
    pub body: Vec<u8>,
    /// A text beside the payload; may be empty.
    pub metadata: String,
    /// String pairs beside the payload.
    pub tags: Tags,
    /// How long the responder has.
    pub timeout: Timeout,
}
