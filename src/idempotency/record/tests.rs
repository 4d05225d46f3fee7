//! Records of every shape survive the disk; anything else is refused.

use proptest::prelude::*;

use super::*;

fn doubt() -> impl Strategy<Value = Doubt> {
    let causes = prop::sample::select(
        Cause::ALL
            .into_iter()
            .filter(|cause| *cause != Cause::Internal(crate::domain::Sent::No))
            .collect::<Vec<_>>(),
    );
    prop_oneof![causes.prop_map(Doubt::Ended), Just(Doubt::Interrupted), Just(Doubt::RejectedLater),]
}

fn state() -> impl Strategy<Value = State> {
    prop_oneof![
        Just(State::InProgress),
        Just(State::InDoubt),
        (
            any::<(bool, bool, u64, u64, String, String)>(),
            prop::collection::btree_map(any::<String>(), any::<String>(), 0..4),
            any::<Option<(String, String)>>(),
        )
            .prop_map(
                |((executed, truncated, at, elapsed_milliseconds, error, responder), tags, resolved)| {
                    let at = Timestamp::from_milliseconds(at);
                    State::Settled(Settlement {
                        executed,
                        at,
                        elapsed_milliseconds,
                        error,
                        responder,
                        tags,
                        truncated,
                        resolved: resolved.map(|(by, why)| Resolution { by, why }),
                    })
                }
            ),
    ]
}

pub(super) fn record() -> impl Strategy<Value = Record> {
    let doubt = prop::option::of((any::<u64>(), doubt()));
    let numbers = any::<(String, [u8; 32], u128, u32, u64, u32)>();
    (numbers, any::<[u64; 3]>(), doubt, ".{1,128}", state()).prop_map(
        |((principal, fingerprint, instance, boot, fence, attempt), times, doubt, key, state)| {
            let [first_seen, settled_until, in_doubt_until] = times.map(Timestamp::from_milliseconds);
            let doubt = match state {
                State::InDoubt => Some(doubt.unwrap_or((0, Doubt::Interrupted))),
                State::InProgress | State::Settled(_) => doubt,
            };
            Record {
                principal: Principal::named(&principal),
                key: Key::parse(&key).unwrap(),
                fingerprint: fingerprint.into(),
                channel: Channel::parse("orders.eu").unwrap(),
                owner: Owner { instance, boot },
                fence,
                attempt,
                first_seen,
                settled_until,
                in_doubt_until,
                doubt: doubt.map(|(since, why)| (Timestamp::from_milliseconds(since), why)),
                request_id: RequestId::from("request-1"),
                state,
            }
        },
    )
}

proptest! {
    #[test]
    fn a_record_comes_back_as_it_was_written(record in record()) {
        let bytes = record.encode();
        prop_assert_eq!(bytes.len(), record.encoded_len());
        prop_assert_eq!(Record::decode(&bytes), Ok(record));
    }

    #[test]
    fn any_bytes_are_judged_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(Record::decode(&bytes).is_err());
    }

    #[test]
    fn fields_with_a_right_checksum_are_judged_without_a_panic(
        record in record(),
        place in any::<prop::sample::Index>(),
        value in any::<u8>(),
    ) {
        let mut bytes = record.encode();
        let place = place.index(bytes.len() - 9) + 9;
        bytes[place] = value;
        let checksum = codec::checksum(1, &bytes[9..]);
        bytes[1..9].copy_from_slice(&checksum);
        let _ = Record::decode(&bytes);
    }

    #[test]
    fn a_changed_or_missing_byte_is_noticed(
        record in record(),
        place in any::<prop::sample::Index>(),
        change in 1u8..,
    ) {
        let bytes = record.encode();
        let place = place.index(bytes.len());
        prop_assert!(Record::decode(&bytes[..place]).is_err());
        let mut changed = bytes;
        changed[place] ^= change;
        prop_assert!(Record::decode(&changed).is_err());
    }

    #[test]
    fn a_record_that_is_too_large_keeps_what_happened(record in record()) {
        let mut shrunk = record.clone();
        shrunk.shrink_to(1);
        if let (State::Settled(before), State::Settled(after)) = (&record.state, &shrunk.state) {
            prop_assert!(after.truncated && after.tags.is_empty() && after.error.is_empty());
            prop_assert_eq!((before.executed, before.at), (after.executed, after.at));
        } else {
            prop_assert_eq!(&record, &shrunk);
        }
    }
}

#[test]
fn a_newer_format_is_refused_by_its_number() {
    assert_eq!(Record::decode(&[2, 0, 0]), Err(RecordError::Newer { found: 2 }));
}
