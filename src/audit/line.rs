//! One line: a JSON object that no field can break. Pure.

use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};

use crate::clock;
use crate::domain::{Key, Principal, RequestId, Tool};

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// A command is about to leave.
    Intent,
    /// A command has ended, or its result was told again.
    Outcome,
    /// A query has ended.
    Query,
    /// A call was refused before anything left.
    Refused,
    /// An operator has changed what is known of a key.
    Operator,
    /// Lines before this one were lost.
    Gap,
}

impl What {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Intent, Self::Outcome, Self::Query, Self::Refused, Self::Operator, Self::Gap];

    /// The word in the line and in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Intent => "intent",
            Self::Outcome => "outcome",
            Self::Query => "query",
            Self::Refused => "refused",
            Self::Operator => "operator",
            Self::Gap => "gap",
        }
    }
}

/// One line in the making.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    what: What,
    fields: Map<String, Value>,
}

impl Line {
    /// A line of this kind, at this time.
    pub fn new(what: What, at: SystemTime) -> Self {
        let mut fields = Map::new();
        fields.insert("time".into(), clock::rfc3339(at).into());
        fields.insert("kind".into(), what.as_str().into());
        Self { what, fields }
    }

    /// What it is about.
    pub fn what(&self) -> What {
        self.what
    }

    /// Who, with which tool, on which channel.
    #[must_use]
    pub fn call(self, principal: &Principal, tool: Tool, channel: Option<&str>) -> Self {
        self.with("principal", principal.as_str().into())
            .with("tool", tool.as_str().into())
            .with("channel", json!(channel))
    }

    /// The id that the responder sees.
    #[must_use]
    pub fn request(self, id: Option<&RequestId>) -> Self {
        self.with("request_id", json!(id.map(RequestId::as_str)))
    }

    /// The digest of the key, never the key.
    #[must_use]
    pub fn key(self, key: Option<&Key>) -> Self {
        self.with("key", json!(key.map(Key::digest)))
    }

    /// How it ended.
    #[must_use]
    pub fn ended(self, cause: &str, outcome: &str, executed: Option<bool>, elapsed: Duration) -> Self {
        let elapsed = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        self.with("cause", cause.into())
            .with("outcome", outcome.into())
            .with("executed", json!(executed))
            .with("elapsed_ms", elapsed.into())
    }

    /// One more field.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: Value) -> Self {
        self.fields.insert(name.to_owned(), value);
        self
    }

    /// The line as it is written, its end included.
    pub(super) fn text(&self) -> String {
        let mut text = serde_json::to_string(&self.fields).expect("texts, numbers and switches are JSON");
        text.push('\n');
        text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_field_can_break_a_line(channel in any::<String>(), cause in any::<String>(), name in any::<String>()) {
            let line = Line::new(What::Outcome, SystemTime::UNIX_EPOCH)
                .call(&Principal::named(&name), Tool::CommandSend, Some(&channel))
                .ended(&cause, "executed", Some(true), Duration::from_millis(7));
            let text = line.text();
            prop_assert_eq!(text.matches('\n').count(), 1);
            let read: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(&read["channel"], &json!(channel));
            prop_assert_eq!(&read["principal"], &json!(name));
            prop_assert_eq!((&read["kind"], &read["elapsed_ms"]), (&json!("outcome"), &json!(7)));
        }

        #[test]
        fn a_line_has_the_digest_of_a_key_and_never_the_key(key in "[a-zA-Z]{17,40}") {
            let key = Key::parse(&key).unwrap();
            let text = Line::new(What::Intent, SystemTime::UNIX_EPOCH).key(Some(&key)).text();
            prop_assert!(text.contains(&key.digest()) && !text.contains(key.as_str()));
        }
    }
}
