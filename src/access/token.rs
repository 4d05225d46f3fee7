//! Which token belongs to whom: the content of a tokens file. Pure.
//!
//! The file has only hashes, so whoever reads it can call nothing.

use std::collections::{HashMap, HashSet};
use std::fmt;

use sha2::{Digest, Sha256};

use super::error::Mistake;
use crate::domain::Principal;

/// Tokens of one file.
pub const TOKENS_MAX: usize = 4096;

/// Largest file: twice what `TOKENS_MAX` of the longest lines need, so that there is room for comments.
pub const TOKENS_FILE_BYTES_MAX: usize = 1 << 20;

/// What stands before the digits of a hash.
const PREFIX: &str = "sha256:";

/// The SHA-256 of a token.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hash([u8; 32]);

impl Hash {
    /// The hash of a token.
    pub fn of(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    /// Whether it is the same, in a time that does not tell how much of it is.
    pub(super) fn is(self, other: Self) -> bool {
        let differs = self.0.iter().zip(other.0).fold(0, |differs, (left, right)| differs | (left ^ right));
        std::hint::black_box(differs) == 0
    }

    /// Reads it as it stands in the file, with digits of either case.
    fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
        let mut bytes = [0; 32];
        // The check comes first: it makes every pair below one of whole characters, and `from_str_radix` takes a sign.
        if digits.len() != 2 * bytes.len() || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&digits[2 * index..2 * index + 2], 16).ok()?;
        }
        Some(Self(bytes))
    }
}

/// As it stands in the file.
impl fmt::Display for Hash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// Everybody who has a token.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    owners: HashMap<Hash, Principal>,
}

impl Tokens {
    /// Reads the content of a file: `NAME sha256:HASH` on each line, blank lines, and lines that begin with `#`.
    ///
    /// A name may stand on many lines, which is how a token is replaced without a moment in which neither works. A
    /// file without tokens is right: it is what remains when the last one is taken back.
    ///
    /// # Errors
    /// The first line that is wrong, from 1, and what would be right.
    pub fn parse(content: &[u8]) -> Result<Self, (usize, Mistake)> {
        let mut tokens = Self::default();
        let mut lines: HashMap<Hash, usize> = HashMap::new();
        for (line, text) in (1..).zip(content.split(|byte| *byte == b'\n')) {
            let Some((principal, hash)) = entry(text).map_err(|mistake| (line, mistake))? else { continue };
            if let Some(first) = lines.insert(hash, line) {
                return Err((line, Mistake::Twice { first }));
            }
            if lines.len() > TOKENS_MAX {
                return Err((line, Mistake::TooMany));
            }
            tokens.owners.insert(hash, principal);
        }
        Ok(tokens)
    }

    /// Who has this token.
    ///
    /// It is looked up by its hash in an ordinary map, and the time that takes helps nobody: it depends on the hash of
    /// what was shown, under a secret key of the map's own, and not on how much of a right token was guessed.
    pub fn principal(&self, token: &str) -> Option<Principal> {
        self.owners.get(&Hash::of(token)).cloned()
    }

    /// How many tokens there are.
    pub fn len(&self) -> usize {
        self.owners.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    /// How many names they have.
    pub fn principals(&self) -> usize {
        self.owners.values().collect::<HashSet<_>>().len()
    }
}

/// Reads one line; nothing for one that names nobody.
fn entry(line: &[u8]) -> Result<Option<(Principal, Hash)>, Mistake> {
    let line = std::str::from_utf8(line).map_err(|_| Mistake::NotText)?.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let (Some(name), Some(hash), None) = (words.next(), words.next(), words.next()) else {
        return Err(Mistake::Words(line.split_whitespace().count()));
    };
    let principal = Principal::parse(name).map_err(Mistake::Name)?;
    Ok(Some((principal, Hash::parse(hash).ok_or(Mistake::Hash)?)))
}

#[cfg(test)]
mod tests;
