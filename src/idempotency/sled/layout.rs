//! What stands where in the tree: the head, and the records by identity.
//!
//! ```text
//! h            -> head
//! r ‖ identity -> record
//! ```
//!
//! All of it is one tree, since sled writes one tree atomically and not two.

use std::ops::Bound;

use super::StoreError;
use crate::idempotency::{Change, Identity};

/// Where the head stands.
pub const HEAD: &[u8] = b"h";

/// Of one record. Seventeen of them stay below a quarter of a segment; sled puts anything larger into a file of its own,
/// which it never syncs.
pub const RECORD_BYTES_LIMIT: usize = 14 << 10;

const RECORD: u8 = b'r';
const RECORD_BYTES: usize = 1 + 32;

/// Where the record of an identity stands.
pub fn record_key(identity: &Identity) -> [u8; RECORD_BYTES] {
    let mut key = [RECORD; RECORD_BYTES];
    key[1..].copy_from_slice(identity.as_bytes());
    key
}

/// What stands under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The head.
    Head,
    /// A record.
    Record(Identity),
}

impl Place {
    /// Reads a key; `None` is one that is never written.
    pub fn of(key: &[u8]) -> Option<Self> {
        if key == HEAD {
            return Some(Self::Head);
        }
        let identity = key.strip_prefix(&[RECORD])?;
        Some(Self::Record(Identity::from(<[u8; 32]>::try_from(identity).ok()?)))
    }
}

/// The range of the records behind `after`.
pub fn records(after: Option<&Identity>) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    let first =
        after.map_or(Bound::Included(vec![RECORD]), |after| Bound::Excluded(record_key(after).to_vec()));
    (first, Bound::Excluded(vec![RECORD + 1]))
}

/// Adds a change to a batch.
///
/// # Errors
/// When the record is not what the store takes: nothing may be written that could not be read again.
pub fn write(batch: &mut ::sled::Batch, change: &Change) -> Result<(), StoreError> {
    let Change { identity, after, .. } = change;
    let key = &record_key(identity)[..];
    let Some(record) = after else {
        batch.remove(key);
        return Ok(());
    };
    if record.identity() != *identity {
        return Err(StoreError::Misplaced);
    }
    let bytes = record.encode();
    if bytes.len() > RECORD_BYTES_LIMIT {
        return Err(StoreError::TooLarge { bytes: bytes.len(), bytes_max: RECORD_BYTES_LIMIT });
    }
    batch.insert(key, bytes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_key_says_what_stands_under_it(identity in any::<[u8; 32]>()) {
            let identity = Identity::from(identity);
            prop_assert_eq!(Place::of(&record_key(&identity)), Some(Place::Record(identity)));
        }

        #[test]
        fn any_key_is_judged_without_a_panic(key in prop::collection::vec(any::<u8>(), 0..50)) {
            let _ = Place::of(&key);
        }
    }

    #[test]
    fn the_head_stands_by_itself() {
        assert_eq!(Place::of(HEAD), Some(Place::Head));
        assert_eq!(Place::of(b"head"), None);
    }
}
