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
pub const RECORD_BYTES_LIMIT: usize = 24 << 10;

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

/// Whose end is written there.
pub fn expiry_identity(key: &[u8]) -> Option<Identity> {
    let key: &[u8; EXPIRY_BYTES] = key.try_into().ok()?;
    key[9..].first_chunk::<32>().map(|identity| Identity::from(*identity))
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
