//! One line of a tokens file: whose token it is, what it is for, and until when. Pure.
//!
//! ```text
//! NAME sha256:HASH [expires=2027-01-01T00:00:00Z] [scope=SCOPE]… [group=GROUP]… [read-only] [revoked]
//! ```

use std::collections::HashSet;
use std::fmt;
use std::time::SystemTime;

use super::Hash;
use crate::access::error::Mistake;
use crate::access::refusal::Refusal;
use crate::access::scope::is_scope;
use crate::domain::{Principal, Subject};

/// Longest name of a group, in characters.
const GROUP_CHARACTERS_MAX: usize = 256;

/// What stands behind a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Whose it is, and what it is for.
    pub subject: Subject,
    /// When its time is over.
    pub expires: Option<SystemTime>,
    /// Whether it was taken back. Its line may stay, so that the log can name whoever still shows it.
    pub revoked: bool,
}

impl Grant {
    /// A token of which nothing but its owner is said.
    pub fn to(principal: Principal) -> Self {
        Self { subject: Subject::named(principal), expires: None, revoked: false }
    }

    /// The caller, if the token lets it in at this time.
    ///
    /// # Errors
    /// When it was taken back or its time is over.
    pub fn judge(&self, now: SystemTime) -> Result<Subject, Refusal> {
        if self.revoked {
            return Err(Refusal::Revoked);
        }
        if self.expires.is_some_and(|end| end <= now) {
            return Err(Refusal::Expired);
        }
        Ok(self.subject.clone())
    }

    /// The line that says all this of the token with this hash.
    pub fn line(&self, hash: Hash) -> String {
        format!("{} {hash}{}", self.subject.principal, Attributes(self))
    }
}

struct Attributes<'a>(&'a Grant);

impl fmt::Display for Attributes<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Grant { subject, expires, revoked } = self.0;
        if let Some(end) = expires {
            write!(formatter, " expires={}", humantime::format_rfc3339_seconds(*end))?;
        }
        subject.scopes.iter().try_for_each(|scope| write!(formatter, " scope={scope}"))?;
        subject.groups.iter().try_for_each(|group| write!(formatter, " group={group}"))?;
        if subject.read_only {
            formatter.write_str(" read-only")?;
        }
        if *revoked {
            formatter.write_str(" revoked")?;
        }
        Ok(())
    }
}

/// Whether a text can be the name of a group on a line.
pub fn is_group(text: &str) -> bool {
    let characters = text.chars().count();
    (1..=GROUP_CHARACTERS_MAX).contains(&characters)
        && !text.chars().any(|character| character.is_whitespace() || character.is_control())
}

/// Reads one line; nothing for one that names nobody.
pub(super) fn read(line: &[u8]) -> Result<Option<(Hash, Grant)>, Mistake> {
    let line = std::str::from_utf8(line).map_err(|_| Mistake::NotText)?.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let (Some(name), Some(hash)) = (words.next(), words.next()) else {
        return Err(Mistake::Words(line.split_whitespace().count()));
    };
    let principal = Principal::parse(name).map_err(Mistake::Name)?;
    let hash = Hash::parse(hash).ok_or(Mistake::Hash)?;
    Ok(Some((hash, attributes(principal, words)?)))
}

fn attributes<'a>(principal: Principal, words: impl Iterator<Item = &'a str>) -> Result<Grant, Mistake> {
    let mut grant = Grant::to(principal);
    let (mut scopes, mut groups, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    for (position, word) in (3..).zip(words) {
        if !seen.insert(word) {
            return Err(Mistake::Repeated(position));
        }
        match word.split_once('=') {
            None if word == "read-only" => grant.subject.read_only = true,
            None if word == "revoked" => grant.revoked = true,
            Some(("expires", _)) if grant.expires.is_some() => return Err(Mistake::Repeated(position)),
            Some(("expires", time)) => {
                grant.expires = Some(humantime::parse_rfc3339(time).map_err(|_| Mistake::Expires(position))?);
            }
            Some(("scope", scope)) if is_scope(scope) => scopes.push(scope.to_owned()),
            Some(("group", group)) if is_group(group) => groups.push(group.to_owned()),
            Some(("scope" | "group", _)) => return Err(Mistake::ScopeOrGroup(position)),
            _ => return Err(Mistake::Attribute(position)),
        }
    }
    grant.subject.scopes = scopes.into();
    grant.subject.groups = groups.into();
    Ok(grant)
}
