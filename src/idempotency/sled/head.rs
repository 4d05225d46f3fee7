//! The head as bytes: `version ‖ checksum ‖ fields`, as records have them.

use sha2::{Digest, Sha256};

use crate::idempotency::{Head, Timestamp};

/// The format that this program writes, and the newest that it reads.
pub const HEAD_VERSION: u8 = 1;

const CHECKSUM_BYTES: usize = 8;
const FIELDS_AT: usize = 1 + CHECKSUM_BYTES;
const HEAD_BYTES: usize = FIELDS_AT + 16 + 4 + 8 + 8 + 8;

/// Why bytes are not a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeadError {
    /// Written by a newer program.
    #[error("its head has format {found} and this program reads up to {HEAD_VERSION}")]
    Newer {
        /// The format found.
        found: u8,
    },
    /// Not what was written.
    #[error("its head does not match its checksum")]
    Damaged,
}

/// The head as bytes.
pub fn encode(head: &Head) -> [u8; HEAD_BYTES] {
    let Head { instance, boot, records, fence, latest } = *head;
    let mut bytes = [0; HEAD_BYTES];
    bytes[0] = HEAD_VERSION;
    bytes[9..25].copy_from_slice(&instance.to_be_bytes());
    bytes[25..29].copy_from_slice(&boot.to_be_bytes());
    bytes[29..37].copy_from_slice(&records.to_be_bytes());
    bytes[37..45].copy_from_slice(&fence.to_be_bytes());
    bytes[45..53].copy_from_slice(&latest.milliseconds().to_be_bytes());
    let checksum = checksum(&bytes);
    bytes[1..FIELDS_AT].copy_from_slice(&checksum);
    bytes
}

/// Reads a head.
///
/// # Errors
/// Says what is wrong with the bytes.
pub fn decode(bytes: &[u8]) -> Result<Head, HeadError> {
    match bytes.first() {
        Some(&found) if found > HEAD_VERSION => return Err(HeadError::Newer { found }),
        _ => {}
    }
    let bytes: &[u8; HEAD_BYTES] = bytes.try_into().map_err(|_| HeadError::Damaged)?;
    if bytes[0] != HEAD_VERSION || bytes[1..FIELDS_AT] != checksum(bytes) {
        return Err(HeadError::Damaged);
    }
    Ok(Head {
        instance: u128::from_be_bytes(field(bytes, 9)),
        boot: u32::from_be_bytes(field(bytes, 25)),
        records: u64::from_be_bytes(field(bytes, 29)),
        fence: u64::from_be_bytes(field(bytes, 37)),
        latest: Timestamp::from_milliseconds(u64::from_be_bytes(field(bytes, 45))),
    })
}

fn field<const N: usize>(bytes: &[u8; HEAD_BYTES], at: usize) -> [u8; N] {
    *bytes[at..].first_chunk().expect("every field ends before the head does")
}

fn checksum(bytes: &[u8; HEAD_BYTES]) -> [u8; CHECKSUM_BYTES] {
    let digest = Sha256::new().chain_update([bytes[0]]).chain_update(&bytes[FIELDS_AT..]).finalize();
    *digest.first_chunk().expect("a digest has 32 bytes")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn head() -> impl Strategy<Value = Head> {
        any::<(u128, u32, u64, u64, u64)>().prop_map(|(instance, boot, records, fence, latest)| Head {
            instance,
            boot,
            records,
            fence,
            latest: Timestamp::from_milliseconds(latest),
        })
    }

    proptest! {
        #[test]
        fn a_head_comes_back_as_it_was_written(head in head()) {
            prop_assert_eq!(decode(&encode(&head)), Ok(head));
        }

        #[test]
        fn a_changed_or_missing_byte_of_a_head_is_noticed(
            head in head(),
            place in any::<prop::sample::Index>(),
            change in 1u8..,
        ) {
            let mut bytes = encode(&head);
            let place = place.index(bytes.len());
            prop_assert!(decode(&bytes[..place]).is_err());
            bytes[place] ^= change;
            prop_assert!(decode(&bytes).is_err());
        }
    }

    #[test]
    fn the_head_of_a_newer_program_is_refused_by_its_number() {
        assert_eq!(decode(&[2, 0, 0]), Err(HeadError::Newer { found: 2 }));
        assert_eq!(decode(&[]), Err(HeadError::Damaged));
    }
}
