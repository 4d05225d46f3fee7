//! Which token belongs to whom: the content of a tokens file. Pure.
//!
//! The file has only hashes, so whoever reads it can call nothing.

mod grant;

use std::collections::{HashMap, HashSet};
use std::fmt;

use sha2::{Digest, Sha256};

use super::error::Mistake;
pub use grant::{Grant, is_group};

/// Tokens of one file.
pub const TOKENS_MAX: usize = 4096;

/// Largest file: twice what `TOKENS_MAX` of the longest names need, so that there is room for comments and for what else is
/// said of a token.
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
    grants: HashMap<Hash, Grant>,
}

impl Tokens {
    /// Reads the content of a file: on each line a name, a hash, and what else is to be said of the token; blank lines, and
    /// lines that begin with `#`.
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
            let Some((hash, grant)) = grant::read(text).map_err(|mistake| (line, mistake))? else { continue };
            if let Some(first) = lines.insert(hash, line) {
                return Err((line, Mistake::Twice { first }));
            }
            if lines.len() > TOKENS_MAX {
                return Err((line, Mistake::TooMany));
            }
            tokens.grants.insert(hash, grant);
        }
        Ok(tokens)
    }

    /// What stands behind this token, whether it is still valid or not.
    ///
    /// It is looked up by its hash in an ordinary map, and the time that takes helps nobody: it depends on the hash of
    /// what was shown, under a secret key of the map's own, and not on how much of a right token was guessed.
    pub fn grant(&self, token: &str) -> Option<&Grant> {
        self.grants.get(&Hash::of(token))
    }

    /// How many tokens there are.
    pub fn len(&self) -> usize {
        self.grants.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.grants.is_empty()
    }

    /// How many names they have.
    pub fn principals(&self) -> usize {
        self.grants.values().map(|grant| &grant.subject.principal).collect::<HashSet<_>>().len()
    }
}

#[cfg(test)]
mod tests;
