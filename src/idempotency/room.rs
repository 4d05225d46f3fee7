//! Whether there is room for new keys, told when that changes. Pure.
//!
//! It is told at once when the room ends, and only after a while without a full store that there is room again: at its
//! limit a store is full and not full with every key that comes and expires.

use super::{Full, Timestamp};

/// How long a store must have had room before that is told, in milliseconds.
const QUIET_MILLISECONDS: u64 = 5_000;

/// What is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// New keys are refused from here on, by this limit.
    Full(Full),
    /// New keys are taken again.
    Free,
}

/// What was told last.
#[derive(Debug, Default)]
pub(super) struct Room {
    full: Option<(Full, Timestamp)>,
}

impl Room {
    /// Takes in what is so at `now`, and says what is to be told.
    pub fn see(&mut self, full: Option<Full>, now: Timestamp) -> Option<Turn> {
        match (self.full, full) {
            (before, Some(full)) => {
                self.full = Some((full, now));
                let is_news = before.is_none_or(|(before, _)| before.limit() != full.limit());
                is_news.then_some(Turn::Full(full))
            }
            (Some((_, seen)), None)
                if now.milliseconds().saturating_sub(seen.milliseconds()) >= QUIET_MILLISECONDS =>
            {
                self.full = None;
                Some(Turn::Free)
            }
            (_, None) => None,
        }
    }

    /// Which limit is in the way, as far as it was told.
    pub fn full(&self) -> Option<Full> {
        self.full.map(|(full, _)| full)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DISK: Full = Full::Disk { free: 1, min: 2 };

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_milliseconds(seconds * 1_000)
    }

    #[test]
    fn the_end_of_the_room_is_told_once_and_its_return_after_a_while() {
        let mut room = Room::default();
        assert_eq!(room.see(None, at(0)), None);
        assert_eq!(room.see(Some(DISK), at(1)), Some(Turn::Full(DISK)));
        assert_eq!(room.see(Some(Full::Disk { free: 0, min: 2 }), at(2)), None);
        assert_eq!(room.see(None, at(3)), None);
        assert_eq!(room.see(Some(DISK), at(6)), None, "it was full again before that was told");
        assert_eq!((room.see(None, at(10)), room.full()), (None, Some(DISK)));
        assert_eq!((room.see(None, at(11)), room.full()), (Some(Turn::Free), None));
    }

    #[test]
    fn another_limit_is_news() {
        let mut room = Room::default();
        room.see(Some(DISK), at(1));
        assert_eq!(room.see(Some(Full::Records(3)), at(1)), Some(Turn::Full(Full::Records(3))));
    }

    proptest! {
        #[test]
        fn a_store_at_its_limit_is_told_at_most_twice_in_a_while(seen in prop::collection::vec(any::<bool>(), 1..200)) {
            let mut room = Room::default();
            let (mut told, mut last_free) = (0, None);
            for (second, full) in (0u64..).zip(seen) {
                let turn = room.see(full.then_some(DISK), at(second));
                told += u64::from(turn.is_some());
                prop_assert!(!full || room.full().is_some(), "what is full is known as full");
                if turn == Some(Turn::Free) {
                    prop_assert!(last_free.is_none_or(|last| second - last >= QUIET_MILLISECONDS / 1_000));
                    last_free = Some(second);
                }
                prop_assert!(told <= 2 + 2 * (second / (QUIET_MILLISECONDS / 1_000)));
            }
        }
    }
}
