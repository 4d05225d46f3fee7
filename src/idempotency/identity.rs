//! Whose record it is, and which instance may change it.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::domain::{Key, Principal};

/// A principal and its key, as one name of fixed length. Two principals with one key have two records.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity([u8; 32]);

impl Identity {
    /// Names the record of a principal's key.
    pub fn of(principal: &Principal, key: &Key) -> Self {
        let mut digest = Sha256::new();
        // The length keeps `ab` + `c` apart from `a` + `bc`.
        digest.update((principal.as_str().len() as u64).to_be_bytes());
        digest.update(principal.as_str());
        digest.update(key.as_str());
        Self(digest.finalize().into())
    }

    /// The bytes, for the store's index.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for Identity {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Identity({:02x}{:02x}{:02x}{:02x})", self.0[0], self.0[1], self.0[2], self.0[3])
    }
}

/// Who made a claim: an instance of the connector, in one of its lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Owner {
    /// The instance. With a store of its own it is the store's number; with a shared one, one of several.
    pub instance: u128,
    /// Counts the times that the instance has opened its store.
    pub boot: u32,
}

/// The right to send one command once, and to say how that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Claim {
    /// Whose record it is.
    pub identity: Identity,
    /// Who claimed.
    pub owner: Owner,
    /// Grows with every claim of the store and is never used twice.
    pub fence: u64,
    /// The first is 1; more only where the responder takes care of duplicates.
    pub attempt: u32,
}
