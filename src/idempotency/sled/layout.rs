//! What stands where in the tree: the head, and the records in the order of their claims.
//!
//! ```text
//! h                    -> head
//! r ‖ number of claim -> record      big-endian
//! ```
//!
//! All of it is one tree, since sled writes one tree atomically and not two.

use std::ops::Bound;

use super::StoreError;
use crate::idempotency::Change;

/// Where the head stands.
pub const HEAD: &[u8] = b"h";

/// Of one record. Seventeen of them stay below a quarter of a segment; sled puts anything larger into a file of its own,
/// which it never syncs.
pub const RECORD_BYTES_LIMIT: usize = 14 << 10;

const RECORD: u8 = b'r';
const RECORD_BYTES: usize = 1 + 8;

/// Where a record stands.
pub fn record_key(fence: u64) -> [u8; RECORD_BYTES] {
    let mut key = [RECORD; RECORD_BYTES];
    key[1..].copy_from_slice(&fence.to_be_bytes());
    key
}

/// What stands under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The head.
    Head,
    /// The record of the claim with this number.
    Record(u64),
}

impl Place {
    /// Reads a key; `None` is one that is never written.
    pub fn of(key: &[u8]) -> Option<Self> {
        if key == HEAD {
            return Some(Self::Head);
        }
        let fence = key.strip_prefix(&[RECORD])?;
        Some(Self::Record(u64::from_be_bytes(fence.try_into().ok()?)))
    }
}

/// The range of the records behind `after`.
pub fn records(after: Option<u64>) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    let first =
        after.map_or(Bound::Included(vec![RECORD]), |after| Bound::Excluded(record_key(after).to_vec()));
    (first, Bound::Excluded(vec![RECORD + 1]))
}

/// Adds a change to a batch.
///
/// # Errors
/// When the record is not what the store takes: nothing may be written that could not be read again.
pub fn write(batch: &mut ::sled::Batch, change: &Change) -> Result<(), StoreError> {
    let Change { identity, before, after } = change;
    let [stood, stands] = [before, after].map(|record| record.as_ref().map(|record| record.fence));
    if let Some(fence) = stood.filter(|_| stood != stands) {
        batch.remove(&record_key(fence)[..]);
    }
    let Some(record) = after else { return Ok(()) };
    if record.identity() != *identity {
        return Err(StoreError::Misplaced);
    }
    let bytes = record.encode();
    if bytes.len() > RECORD_BYTES_LIMIT {
        return Err(StoreError::TooLarge { bytes: bytes.len(), bytes_max: RECORD_BYTES_LIMIT });
    }
    batch.insert(&record_key(record.fence)[..], bytes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_key_says_what_stands_under_it(fence in any::<u64>()) {
            prop_assert_eq!(Place::of(&record_key(fence)), Some(Place::Record(fence)));
        }

        #[test]
        fn any_key_is_judged_without_a_panic(key in prop::collection::vec(any::<u8>(), 0..20)) {
            let _ = Place::of(&key);
        }

        #[test]
        fn records_stand_in_the_order_of_their_claims(fences in any::<[u64; 2]>()) {
            let keys = fences.map(record_key);
            prop_assert_eq!(keys[0].cmp(&keys[1]), fences[0].cmp(&fences[1]));
        }
    }

    #[test]
    fn the_head_stands_by_itself() {
        assert_eq!(Place::of(HEAD), Some(Place::Head));
        assert_eq!(Place::of(b"head"), None);
    }
}
