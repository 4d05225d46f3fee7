//! Whom an entry is about.

use std::fmt;

use serde::Deserialize;

use crate::access::scope::is_scope;
use crate::domain::{Principal, Subject};

const SCOPE: &str = "scope:";
const GROUP: &str = "group:";
const EVERYBODY: &str = "*";

/// Longest name of a group, in characters. That of a JWT may have spaces, which that of a token cannot.
const GROUP_CHARACTERS_MAX: usize = 256;

/// The callers that an entry is about.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Who {
    /// All of them, `anonymous` as well.
    Everybody,
    /// The one of that name.
    Principal(Principal),
    /// Those whose credential was issued for this scope.
    Scope(String),
    /// Those whose credential names this group.
    Group(String),
}

impl Who {
    /// Reads it as the configuration has it.
    ///
    /// # Errors
    /// Says what would be right.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text == EVERYBODY {
            return Ok(Self::Everybody);
        }
        if let Some(scope) = text.strip_prefix(SCOPE) {
            let right = is_scope(scope).then(|| Self::Scope(scope.to_owned()));
            return right
                .ok_or_else(|| "a scope is visible ASCII without spaces, quotes and backslashes".into());
        }
        if let Some(group) = text.strip_prefix(GROUP) {
            let characters = group.chars().count();
            let right =
                (1..=GROUP_CHARACTERS_MAX).contains(&characters) && !group.chars().any(char::is_control);
            return right.then(|| Self::Group(group.to_owned())).ok_or_else(|| {
                "the name of the group is missing, too long or has a control character".into()
            });
        }
        Principal::parse_any(text).map(Self::Principal).map_err(|error| error.to_string())
    }

    /// Whether the caller is among them.
    pub fn is(&self, subject: &Subject) -> bool {
        match self {
            Self::Everybody => true,
            Self::Principal(principal) => subject.principal == *principal,
            Self::Scope(scope) => subject.scopes.contains(scope),
            Self::Group(group) => subject.groups.contains(group),
        }
    }
}

impl TryFrom<String> for Who {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl fmt::Display for Who {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everybody => formatter.write_str(EVERYBODY),
            Self::Principal(principal) => principal.fmt(formatter),
            Self::Scope(scope) => write!(formatter, "{SCOPE}{scope}"),
            Self::Group(group) => write!(formatter, "{GROUP}{group}"),
        }
    }
}
