//! Which requests wait for a reply, by reply channel. The first reply takes the entry, so a second finds nothing.

use std::collections::HashMap;

/// The waiting requests; `T` is the way back to the caller.
#[derive(Debug)]
pub struct Pending<T> {
    waiting: HashMap<String, T>,
    waiting_max: usize,
}

impl<T> Pending<T> {
    /// An empty table for at most `waiting_max`.
    pub fn new(waiting_max: usize) -> Self {
        Self { waiting: HashMap::new(), waiting_max }
    }

    /// Lets a request wait, and says under which reply channel: the first one drawn that nobody else has.
    /// When as many wait as may, there is none.
    pub fn admit(&mut self, caller: T, mut draw: impl FnMut() -> String) -> Option<String> {
        if self.waiting.len() >= self.waiting_max {
            return None;
        }
        let mut reply_channel = draw();
        while self.waiting.contains_key(&reply_channel) {
            reply_channel = draw();
        }
        self.waiting.insert(reply_channel.clone(), caller);
        Some(reply_channel)
    }

    /// Takes the way back to the caller: for the first reply, or because nobody waits any more.
    pub fn take(&mut self, reply_channel: &str) -> Option<T> {
        self.waiting.remove(reply_channel)
    }

    /// How many requests wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_reply_wins_and_a_second_finds_nothing() {
        let mut pending = Pending::new(2);
        pending.admit("caller", || "inbox.1".into()).expect("room");
        assert_eq!(pending.take("inbox.1"), Some("caller"));
        assert_eq!(pending.take("inbox.1"), None);
    }

    #[test]
    fn a_reply_channel_that_is_taken_is_drawn_again() {
        let mut pending = Pending::new(2);
        let mut draws = ["inbox.1", "inbox.1", "inbox.2"].into_iter().map(str::to_owned);
        let first = pending.admit(1, || draws.next().expect("a draw"));
        let second = pending.admit(2, || draws.next().expect("a draw"));
        assert_eq!((first.as_deref(), second.as_deref()), (Some("inbox.1"), Some("inbox.2")));
    }

    proptest! {
        #[test]
        fn it_never_holds_more_than_its_limit_and_never_loses_a_caller(
            steps in prop::collection::vec((0_usize..6, any::<bool>()), 0..60),
        ) {
            let mut pending = Pending::new(3);
            let mut model = BTreeMap::new();
            for (number, (place, admits)) in steps.into_iter().enumerate() {
                if admits {
                    let admitted = pending.admit(number, || number.to_string());
                    prop_assert_eq!(admitted.is_some(), model.len() < 3);
                    model.extend(admitted.map(|reply_channel| (reply_channel, number)));
                } else {
                    let reply_channel = model.keys().nth(place).cloned().unwrap_or_default();
                    prop_assert_eq!(pending.take(&reply_channel), model.remove(&reply_channel));
                }
                prop_assert_eq!(pending.len(), model.len());
            }
        }
    }
}
