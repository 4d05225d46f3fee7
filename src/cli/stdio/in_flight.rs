//! What is in flight and can be given up: a pure table from a number of ours to the request's id.
//!
//! Two requests in flight may have one id, though no agent should do that: each is forgotten alone, and giving up the id
//! gives up both.

use std::collections::HashMap;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// The table.
#[derive(Debug, Default)]
pub struct InFlight {
    entries: HashMap<u64, (Value, CancellationToken)>,
    numbers: u64,
}

/// A request's place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number(u64);

impl InFlight {
    /// Takes a request in; the token ends it.
    pub fn note(&mut self, id: &Value) -> (Number, CancellationToken) {
        self.numbers += 1;
        let given_up = CancellationToken::new();
        self.entries.insert(self.numbers, (id.clone(), given_up.clone()));
        (Number(self.numbers), given_up)
    }

    /// Takes a request out that has ended.
    pub fn forget(&mut self, number: Number) {
        self.entries.remove(&number.0);
    }

    /// Ends the requests with this id. Unknown or finished: ignored, as the protocol says.
    pub fn give_up(&mut self, id: &Value) {
        // Through all of them, since an agent seldom gives up; and their number is limited.
        self.entries.retain(|_, (noted, given_up)| {
            if noted == id {
                given_up.cancel();
            }
            noted != id
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_end_of_one_leaves_another_with_its_id_one_that_can_be_given_up() {
        let mut in_flight = InFlight::default();
        let (first, first_token) = in_flight.note(&json!(1));
        let (_, second_token) = in_flight.note(&json!(1));
        in_flight.forget(first);
        in_flight.give_up(&json!(1));
        assert!(second_token.is_cancelled() && !first_token.is_cancelled());
        assert!(in_flight.entries.is_empty());
    }

    #[test]
    fn giving_up_an_id_ends_all_that_have_it_and_no_other() {
        let mut in_flight = InFlight::default();
        let tokens = [json!(1), json!("1"), json!(1)].map(|id| in_flight.note(&id).1);
        in_flight.give_up(&json!(1));
        in_flight.give_up(&json!("unknown"));
        assert_eq!(tokens.map(|token| token.is_cancelled()), [true, false, true]);
    }
}
