//! What stands where in the tree: the head, the records by identity, and the times when they end.
//!
//! ```text
//! e ‖ milliseconds ‖ identity -> nothing      when a record ends; big-endian, so that the first to end come first
//! h                           -> head
//! r ‖ identity                -> record
//! ```
//!
//! All of it is one tree, since sled writes one tree atomically and not two.

use std::ops::Bound;

use super::StoreError;
use crate::idempotency::{Change, Identity, Record, Timestamp};

/// Where the head stands.
pub const HEAD: &[u8] = b"h";

/// Of one record. Seventeen of them stay below a quarter of a segment; sled puts anything larger into a file of its own,
/// which it never syncs.
pub const RECORD_BYTES_LIMIT: usize = 14 << 10;

const EXPIRY: u8 = b'e';
const RECORD: u8 = b'r';
const EXPIRY_BYTES: usize = 1 + 8 + 32;
const RECORD_BYTES: usize = 1 + 32;

/// Where the record of an identity stands.
pub fn record_key(identity: &Identity) -> [u8; RECORD_BYTES] {
    let mut key = [RECORD; RECORD_BYTES];
    key[1..].copy_from_slice(identity.as_bytes());
    key
}

/// Where it stands that a record ends at `until`.
pub fn expiry_key(until: Timestamp, identity: &Identity) -> [u8; EXPIRY_BYTES] {
    let mut key = [EXPIRY; EXPIRY_BYTES];
    key[1..9].copy_from_slice(&until.milliseconds().to_be_bytes());
    key[9..].copy_from_slice(identity.as_bytes());
    key
}

/// What stands under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The head.
    Head,
    /// The end of a record.
    End(Timestamp, Identity),
    /// A record.
    Record(Identity),
}

impl Place {
    /// Reads a key; `None` is one that is never written.
    pub fn of(key: &[u8]) -> Option<Self> {
        if key == HEAD {
            return Some(Self::Head);
        }
        let (kind, rest) = key.split_first()?;
        match *kind {
            RECORD => Some(Self::Record(Identity::from(<[u8; 32]>::try_from(rest).ok()?))),
            EXPIRY => {
                let (until, identity) = rest.split_first_chunk()?;
                let until = Timestamp::from_milliseconds(u64::from_be_bytes(*until));
                Some(Self::End(until, Identity::from(<[u8; 32]>::try_from(identity).ok()?)))
            }
            _ => None,
        }
    }
}

/// The range of all that has ended at `now`.
pub fn expired(now: Timestamp) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    let last = expiry_key(now, &Identity::from([0xff; 32]));
    (Bound::Included(vec![EXPIRY]), Bound::Included(last.to_vec()))
}

/// The range of the records behind `after`.
pub fn records(after: Option<&Identity>) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    let first =
        after.map_or(Bound::Included(vec![RECORD]), |after| Bound::Excluded(record_key(after).to_vec()));
    (first, Bound::Excluded(vec![RECORD + 1]))
}

/// Adds a change and what it means for the times to a batch.
///
/// # Errors
/// When the record is not what the store takes: nothing may be written that could not be read again.
pub fn write(batch: &mut ::sled::Batch, change: &Change) -> Result<(), StoreError> {
    let Change { identity, before, after } = change;
    let ended = before.as_ref().and_then(Record::expires);
    let ends = after.as_ref().and_then(Record::expires);
    if ended != ends {
        if let Some(until) = ended {
            batch.remove(&expiry_key(until, identity)[..]);
        }
        if let Some(until) = ends {
            batch.insert(&expiry_key(until, identity)[..], &[]);
        }
    }
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
        fn a_key_says_what_stands_under_it(until in any::<u64>(), identity in any::<[u8; 32]>()) {
            let (until, identity) = (Timestamp::from_milliseconds(until), Identity::from(identity));
            prop_assert_eq!(Place::of(&record_key(&identity)), Some(Place::Record(identity)));
            prop_assert_eq!(Place::of(&expiry_key(until, &identity)), Some(Place::End(until, identity)));
        }

        #[test]
        fn any_key_is_judged_without_a_panic(key in prop::collection::vec(any::<u8>(), 0..50)) {
            let _ = Place::of(&key);
        }

        #[test]
        fn ends_stand_in_the_order_of_time(times in any::<[u64; 2]>(), identities in any::<[[u8; 32]; 2]>()) {
            let end = |index: usize| {
                expiry_key(Timestamp::from_milliseconds(times[index]), &Identity::from(identities[index]))
            };
            if times[0] != times[1] {
                prop_assert_eq!(end(0) < end(1), times[0] < times[1]);
            }
        }
    }

    #[test]
    fn the_head_stands_by_itself() {
        assert_eq!(Place::of(HEAD), Some(Place::Head));
        assert_eq!(Place::of(b"head"), None);
    }
}
