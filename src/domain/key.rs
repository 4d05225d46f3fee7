//! What makes two calls the same command: the agent's key, and a fingerprint of what it asked for.
//!
//! A key is the agent's secret as much as its own name for an effect, so logs get a digest of it and never the text.

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::{Channel, Tags, Tool};

/// Longest idempotency key, in characters; the schema says the same as `maxLength`.
pub const KEY_CHARACTERS_MAX: usize = 128;

/// How much of the SHA-256 of a key goes into logs: enough to find it again, too little to say which it was.
const DIGEST_BYTES: usize = 8;

/// An idempotency key, cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(Arc<str>);

/// Why a text is not an idempotency key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The text is empty.
    #[error("must not be empty")]
    Empty,
    /// The text is longer than `KEY_CHARACTERS_MAX`.
    #[error("must be at most {KEY_CHARACTERS_MAX} characters long, got {0}")]
    TooLong(usize),
}

impl Key {
    /// Reads a key. Every character counts as it is; nothing is trimmed or folded.
    ///
    /// # Errors
    /// Says which limit the text breaks.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        match text.chars().count() {
            0 => Err(KeyError::Empty),
            1..=KEY_CHARACTERS_MAX => Ok(Self(text.into())),
            more => Err(KeyError::TooLong(more)),
        }
    }

    /// The key as the agent wrote it: for the responder and the store, not for logs.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What logs and audit lines call it.
    pub fn digest(&self) -> String {
        hex(&Sha256::digest(self.0.as_bytes())[..DIGEST_BYTES])
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Key({})", self.digest())
    }
}

/// What a command asks for, as SHA-256 of its canonical JSON. The timeout is not part of it: a patient retry is a retry.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

/// The members in the order of their names, which with sorted tags makes the JSON canonical.
#[derive(serde::Serialize)]
struct Canonical<'request> {
    body: String,
    channel: &'request str,
    metadata: &'request str,
    tags: &'request Tags,
    tool: &'request str,
}

impl Fingerprint {
    /// Takes the fingerprint of what the agent asked for, before we add tags of our own to it.
    pub fn of(tool: Tool, channel: &Channel, body: &[u8], metadata: &str, tags: &Tags) -> Self {
        let canonical = Canonical {
            body: STANDARD.encode(body),
            channel: channel.as_str(),
            metadata,
            tags,
            tool: tool.as_str(),
        };
        let json = serde_json::to_vec(&canonical).expect("strings and a map of strings are JSON");
        Self(Sha256::digest(json).into())
    }

    /// The bytes, for a record.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for Fingerprint {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Fingerprint({})", hex(&self.0[..DIGEST_BYTES]))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tags(second: &str) -> Tags {
        Tags::from([("a".into(), "1".into()), ("b".into(), second.into())])
    }

    fn taken(tool: Tool, channel: &str, body: &str, metadata: &str, tags: &Tags) -> Fingerprint {
        Fingerprint::of(tool, &Channel::parse(channel).unwrap(), body.as_bytes(), metadata, tags)
    }

    #[test]
    fn a_key_has_between_one_and_128_characters() {
        assert_eq!(Key::parse(""), Err(KeyError::Empty));
        assert_eq!(Key::parse(&"ü".repeat(128)).unwrap().as_str().chars().count(), 128);
        assert_eq!(Key::parse(&"a".repeat(129)), Err(KeyError::TooLong(129)));
    }

    #[test]
    fn a_log_never_shows_the_key() {
        let key = Key::parse("order-4711").unwrap();
        assert!(!format!("{key:?} {}", key.digest()).contains("4711"));
        assert_eq!(key.digest().len(), 16);
    }

    #[test]
    fn the_fingerprint_is_the_same_in_every_version() {
        // It is compared with what an older version has stored, so it may never change for the same command.
        let found = hex(taken(Tool::CommandSend, "orders", "{\"n\":1}", "m", &tags("2")).as_bytes());
        assert_eq!(found, "c1e2fb9b11dec760e4c7b8dda421372c0cc192c870829843f68bc81e42f3ce0c");
    }

    #[test]
    fn everything_that_is_asked_for_tells_commands_apart() {
        let first = taken(Tool::CommandSend, "orders", "b", "m", &tags("2"));
        assert_eq!(taken(Tool::CommandSend, "orders", "b", "m", &tags("2")), first);
        for other in [
            taken(Tool::CommandSend, "order", "b", "m", &tags("2")),
            taken(Tool::CommandSend, "orders", "", "m", &tags("2")),
            taken(Tool::CommandSend, "orders", "b", "", &tags("2")),
            taken(Tool::CommandSend, "orders", "b", "m", &tags("3")),
            taken(Tool::QuerySend, "orders", "b", "m", &tags("2")),
        ] {
            assert_ne!(other, first);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_judged_without_a_panic(text in ".{0,140}") {
            let characters = text.chars().count();
            prop_assert_eq!(Key::parse(&text).is_ok(), (1..=128).contains(&characters));
        }
    }
}
