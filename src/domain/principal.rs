//! Who calls. Taken from a verified token, never from an argument.

use std::fmt;
use std::sync::Arc;

/// Longest name that a token can have, in characters.
pub const NAME_CHARACTERS_MAX: usize = 64;

/// The name of callers without a token.
const ANONYMOUS: &str = "anonymous";

/// The name a caller is known by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Principal(Arc<str>);

/// Why a text is not a name that a token can have. Never with the text: somebody may have written a token there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PrincipalError {
    /// The text is empty or too long.
    #[error("a name has 1 to {NAME_CHARACTERS_MAX} characters, this one has {0}")]
    Length(usize),
    /// The text has a character that would be hard to tell apart in a log.
    #[error("a name has only letters without accents, digits and `. _ @ -`")]
    Character,
    /// The text is the name of callers without a token.
    #[error("the name `{ANONYMOUS}` is for callers without a token, choose another")]
    Reserved,
}

impl Principal {
    /// The caller that showed no token.
    pub fn anonymous() -> Self {
        Self(ANONYMOUS.into())
    }

    /// The caller that a token or a record names.
    pub fn named(name: &str) -> Self {
        Self(name.into())
    }

    /// Reads a name that a token can have.
    ///
    /// # Errors
    /// Says which rule the text breaks.
    pub fn parse(text: &str) -> Result<Self, PrincipalError> {
        let characters = text.chars().count();
        if !(1..=NAME_CHARACTERS_MAX).contains(&characters) {
            return Err(PrincipalError::Length(characters));
        }
        if !text.chars().all(|character| character.is_ascii_alphanumeric() || "._@-".contains(character)) {
            return Err(PrincipalError::Character);
        }
        if text == ANONYMOUS {
            return Err(PrincipalError::Reserved);
        }
        Ok(Self::named(text))
    }

    /// Reads the name of any caller, also of those without a token.
    ///
    /// # Errors
    /// Says which rule the text breaks.
    pub fn parse_any(text: &str) -> Result<Self, PrincipalError> {
        match Self::parse(text) {
            Err(PrincipalError::Reserved) => Ok(Self::anonymous()),
            other => other,
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_1_to_64_plain_characters() {
        for right in ["a", "ci-runner@build.example_7", &"x".repeat(64)] {
            assert_eq!(Principal::parse(right).map(|name| name.to_string()), Ok(right.to_owned()));
        }
        assert_eq!(Principal::parse(""), Err(PrincipalError::Length(0)));
        assert_eq!(Principal::parse(&"x".repeat(65)), Err(PrincipalError::Length(65)));
        for wrong in ["a b", "a/b", "ä", "a\n", "#a", "a:b"] {
            assert_eq!(Principal::parse(wrong), Err(PrincipalError::Character), "{wrong}");
        }
    }

    #[test]
    fn nobody_is_called_anonymous() {
        assert_eq!(Principal::parse("anonymous"), Err(PrincipalError::Reserved));
        assert_eq!(Principal::named("anonymous"), Principal::anonymous());
        assert_eq!(Principal::parse_any("anonymous"), Ok(Principal::anonymous()));
        assert_eq!(Principal::parse_any("a b"), Err(PrincipalError::Character));
    }
}
