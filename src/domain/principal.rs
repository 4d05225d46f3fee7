//! Who calls. Taken from a verified token, never from an argument.

use std::fmt;
use std::sync::Arc;

/// Longest name that a token can have, in characters.
pub const NAME_CHARACTERS_MAX: usize = 64;

/// Longest subject of a JWT, in characters: what OpenID Connect allows.
pub const SUBJECT_CHARACTERS_MAX: usize = 255;

/// What stands before the subject of a JWT. No name of a token has a colon, so the two never meet.
const JWT: &str = "jwt:";

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
    /// The subject of a JWT is empty or too long.
    #[error("a subject has 1 to {SUBJECT_CHARACTERS_MAX} characters, this one has {0}")]
    SubjectLength(usize),
    /// The subject of a JWT has a character that would be hard to tell apart in a log.
    #[error("a subject has only visible ASCII characters, without quotes and backslashes")]
    SubjectCharacter,
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

    /// Names the caller whose JWT has this subject: `jwt:SUBJECT`.
    ///
    /// # Errors
    /// Says which rule the subject breaks.
    pub fn of_jwt(subject: &str) -> Result<Self, PrincipalError> {
        let characters = subject.chars().count();
        if !(1..=SUBJECT_CHARACTERS_MAX).contains(&characters) {
            return Err(PrincipalError::SubjectLength(characters));
        }
        if !subject.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"'`\\".contains(&byte)) {
            return Err(PrincipalError::SubjectCharacter);
        }
        Ok(Self::named(&format!("{JWT}{subject}")))
    }

    /// Reads the name of any caller, also of those without a token and of those with a JWT.
    ///
    /// # Errors
    /// Says which rule the text breaks.
    pub fn parse_any(text: &str) -> Result<Self, PrincipalError> {
        if let Some(subject) = text.strip_prefix(JWT) {
            return Self::of_jwt(subject);
        }
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
    fn the_subject_of_a_jwt_is_never_the_name_of_a_token() {
        for subject in ["alice", "anonymous", "auth0|5f7c", "system:serviceaccount:a:b", &"x".repeat(255)] {
            let principal = Principal::of_jwt(subject).unwrap();
            assert_eq!(principal.as_str(), format!("jwt:{subject}"));
            assert!(Principal::parse(principal.as_str()).is_err(), "no token has that name");
            assert_eq!(Principal::parse_any(principal.as_str()), Ok(principal), "operators can name it");
        }
        assert_eq!(Principal::of_jwt(""), Err(PrincipalError::SubjectLength(0)));
        assert_eq!(Principal::of_jwt(&"x".repeat(256)), Err(PrincipalError::SubjectLength(256)));
        for wrong in ["a b", "a\n", "\u{e4}", "a\"", "\u{202e}x"] {
            assert_eq!(Principal::of_jwt(wrong), Err(PrincipalError::SubjectCharacter), "{wrong}");
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
