//! The name of a KubeMQ channel that one request can be sent to.
//!
//! The rules are the broker's own (`Error 102`, `107`, `108`, `119`) and the narrower ones of the official SDKs,
//! so that a name accepted here is never refused later for its shape.

use std::fmt;
use std::sync::Arc;

/// Longest channel name in bytes; the official SDKs refuse longer ones.
pub const CHANNEL_BYTES_MAX: usize = 256;

/// Prefixes that belong to KubeMQ itself.
///
/// `_AGENTS_` is its agent registry. `kubemq.cluster.internal.` takes channel management as a *query*: an agent that
/// could reach it would delete channels through the tool that only reads.
pub const RESERVED_PREFIXES: [&str; 2] = ["_AGENTS_", "kubemq.cluster.internal."];

/// A valid channel name, cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Channel(Arc<str>);

/// Why a text is not the name of a channel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    /// The text is empty.
    #[error("must not be empty")]
    Empty,
    /// The text is longer than `CHANNEL_BYTES_MAX`.
    #[error("must be at most {CHANNEL_BYTES_MAX} bytes long, got {0}")]
    TooLong(usize),
    /// The text has a wildcard; a request goes to one channel.
    #[error("must not contain the wildcards `*` and `>`: a request goes to one channel")]
    Wildcard,
    /// A wildcard of a pattern is only a part of a token.
    #[error("a wildcard must be a whole token, as in `orders.*`; got the token {0:?}")]
    PartOfToken(String),
    /// A pattern goes on behind `>`.
    #[error("`>` must be the last token, as in `orders.>`: it stands for all that follow")]
    BehindTail,
    /// The text has a character that no SDK accepts.
    #[error("may contain letters, digits and `. _ - /`, got {0:?}")]
    Character(char),
    /// A dot stands at an end, or two stand together; nobody can subscribe to such a name.
    #[error("must not start or end with `.` or contain `..`")]
    EmptyToken,
    /// The name starts with one of [`RESERVED_PREFIXES`].
    #[error("uses a reserved prefix")]
    Reserved,
}

impl Channel {
    /// Reads the name of a channel.
    ///
    /// # Errors
    /// Says which rule the text breaks; [`ChannelError::Reserved`] comes first, since it is about whose name it is.
    pub fn parse(text: &str) -> Result<Self, ChannelError> {
        if RESERVED_PREFIXES.iter().any(|prefix| text.starts_with(prefix)) {
            return Err(ChannelError::Reserved);
        }
        check_name(text, Wildcards::Refused)?;
        Ok(Self(text.into()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Channel({})", self.0)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Wildcards {
    Allowed,
    Refused,
}

fn check_name(text: &str, wildcards: Wildcards) -> Result<(), ChannelError> {
    if text.is_empty() {
        return Err(ChannelError::Empty);
    }
    if text.len() > CHANNEL_BYTES_MAX {
        return Err(ChannelError::TooLong(text.len()));
    }
    for character in text.chars() {
        match character {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '_' | '-' | '/' => {}
            '*' | '>' if wildcards == Wildcards::Allowed => {}
            '*' | '>' => return Err(ChannelError::Wildcard),
            other => return Err(ChannelError::Character(other)),
        }
    }
    if text.split('.').any(str::is_empty) {
        return Err(ChannelError::EmptyToken);
    }
    Ok(())
}

/// A set of channels in KubeMQ's own notation: `*` is one token, a trailing `>` is one token or more.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(try_from = "String")]
pub struct ChannelPattern(Arc<str>);

impl TryFrom<String> for ChannelPattern {
    type Error = ChannelError;

    fn try_from(text: String) -> Result<Self, ChannelError> {
        Self::parse(&text)
    }
}

impl ChannelPattern {
    /// Reads a pattern; a plain name is the pattern of itself.
    ///
    /// # Errors
    /// Says which rule the text breaks. A wildcard must be a whole token, and `>` the last one.
    pub fn parse(text: &str) -> Result<Self, ChannelError> {
        check_name(text, Wildcards::Allowed)?;
        let mut tokens = text.split('.').peekable();
        while let Some(token) = tokens.next() {
            match token {
                ">" if tokens.peek().is_some() => return Err(ChannelError::BehindTail),
                ">" | "*" => {}
                part if part.contains(['*', '>']) => return Err(ChannelError::PartOfToken(part.to_owned())),
                _ => {}
            }
        }
        Ok(Self(text.into()))
    }

    /// Whether the channel belongs to the set.
    pub fn matches(&self, channel: &Channel) -> bool {
        let mut tokens = channel.as_str().split('.');
        for wanted in self.0.split('.') {
            let Some(token) = tokens.next() else { return false };
            match wanted {
                ">" => return true,
                "*" => {}
                _ if wanted == token => {}
                _ => return false,
            }
        }
        tokens.next().is_none()
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_rule_names_itself() {
        let error = |text: &str| Channel::parse(text).expect_err(text);
        assert_eq!(error(""), ChannelError::Empty);
        assert_eq!(error(&"a".repeat(257)), ChannelError::TooLong(257));
        assert_eq!(error("orders.*"), ChannelError::Wildcard);
        assert_eq!(error("orders.>"), ChannelError::Wildcard);
        assert_eq!(error("two words"), ChannelError::Character(' '));
        assert_eq!(error("größe"), ChannelError::Character('ö'));
        assert_eq!(error("a:b"), ChannelError::Character(':'));
        assert_eq!(error("orders."), ChannelError::EmptyToken);
        assert_eq!(error(".orders"), ChannelError::EmptyToken);
        assert_eq!(error("a..b"), ChannelError::EmptyToken);
    }

    #[test]
    fn reserved_prefixes_are_refused_even_when_the_rest_is_malformed() {
        for text in ["_AGENTS_.x", "_AGENTS_reserved", "_AGENTS_. *", "kubemq.cluster.internal.requests"] {
            assert_eq!(Channel::parse(text), Err(ChannelError::Reserved), "{text}");
        }
        assert!(Channel::parse("_agents_.x").is_ok(), "the prefix is case-sensitive");
        assert!(Channel::parse("kubemq.cluster").is_ok());
    }

    #[test]
    fn wildcards_match_one_token_or_the_tail() {
        let matches = |pattern: &str, name: &str| {
            ChannelPattern::parse(pattern).unwrap().matches(&Channel::parse(name).unwrap())
        };
        assert!(matches("orders.*", "orders.eu"));
        assert!(!matches("orders.*", "orders"));
        assert!(!matches("orders.*", "orders.eu.west"));
        assert!(matches("orders.>", "orders.eu.west"));
        assert!(!matches("orders.>", "orders"));
        assert!(matches("*.eu", "orders.eu"));
        assert!(matches("orders", "orders"));
    }

    #[test]
    fn a_wrong_pattern_names_the_rule_that_it_breaks() {
        let error = |text: &str| ChannelPattern::parse(text).expect_err(text);
        assert_eq!(error("a.>.b"), ChannelError::BehindTail);
        assert_eq!(error(">.x"), ChannelError::BehindTail);
        assert_eq!(error("orders.e*"), ChannelError::PartOfToken("e*".into()));
        assert_eq!(error("orders.**"), ChannelError::PartOfToken("**".into()));
        assert_eq!(error("a.b>"), ChannelError::PartOfToken("b>".into()));
        assert_eq!(error(""), ChannelError::Empty);
        assert_eq!(error("a..b"), ChannelError::EmptyToken);
        assert_eq!(error("a b.>"), ChannelError::Character(' '));
        assert_eq!(error(&format!("{}.>", "a".repeat(256))), ChannelError::TooLong(258));
    }

    proptest! {
        #[test]
        fn any_text_is_judged_without_a_panic(text in ".{0,300}") {
            if let Ok(channel) = Channel::parse(&text) {
                prop_assert_eq!(channel.as_str(), &text);
                prop_assert!(ChannelPattern::parse(&text).unwrap().matches(&channel));
            }
        }

        #[test]
        fn a_refused_pattern_breaks_the_rule_that_is_named(text in "[a*>. ]{0,8}") {
            let tokens: Vec<&str> = text.split('.').collect();
            match ChannelPattern::parse(&text) {
                Ok(_) => {
                    let last = tokens.len() - 1;
                    let is_right = |(index, token): (usize, &&str)| match *token {
                        "*" => true,
                        ">" => index == last,
                        plain => !plain.is_empty() && plain.bytes().all(|byte| byte == b'a'),
                    };
                    prop_assert!(tokens.iter().enumerate().all(is_right));
                }
                Err(ChannelError::Empty) => prop_assert!(text.is_empty()),
                Err(ChannelError::Character(character)) => prop_assert!(text.contains(character)),
                Err(ChannelError::EmptyToken) => prop_assert!(tokens.contains(&"")),
                Err(ChannelError::BehindTail) => prop_assert!(tokens[..tokens.len() - 1].contains(&">")),
                Err(ChannelError::PartOfToken(part)) => prop_assert!(tokens.contains(&&*part) && part.len() > 1),
                Err(other) => prop_assert!(false, "{other:?}"),
            }
        }

        #[test]
        fn the_tail_pattern_matches_everything(text in "[a-z0-9]{1,8}(\\.[a-z0-9]{1,8}){0,5}") {
            let channel = Channel::parse(&text).unwrap();
            prop_assert!(ChannelPattern::parse(">").unwrap().matches(&channel));
        }
    }
}
