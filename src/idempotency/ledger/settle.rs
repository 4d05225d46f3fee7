//! How a claimed command ended. Only its own attempt may say so, and the first definite word stays.

use super::{Ledger, Record, State, StoreError, View};
use crate::idempotency::{Doubt, Ended, Settled, Settlement, Timestamp};

/// What a settle makes of a record.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// It now says this.
    Becomes(Box<Record>),
    /// The claim is withdrawn, and this is left.
    Withdrawn(Option<Box<Record>>),
    /// It says so already.
    Stays,
    /// It is settled already.
    Refused,
}

/// Decides; the attempt is known to be the record's own.
pub(super) fn step(record: Record, ended: Ended, now: Timestamp) -> Step {
    match (&record.state, ended) {
        // A settle that is handed over again says what the record says already.
        (State::Settled(told), Ended::Answered(again)) if told.executed == again.executed => Step::Stays,
        (State::Settled(_), _) => Step::Refused,
        (State::InProgress | State::InDoubt, Ended::Answered(settlement)) => {
            answered(record, settlement, now)
        }
        (State::InProgress | State::InDoubt, Ended::NotSent) => not_sent(record),
        (State::InProgress, Ended::Unknown(cause)) => doubtful(record, Doubt::Ended(cause), now),
        (State::InProgress, Ended::Interrupted) => doubtful(record, Doubt::Interrupted, now),
        (State::InDoubt, Ended::Unknown(_) | Ended::Interrupted) => Step::Stays,
    }
}

fn answered(record: Record, settlement: Settlement, now: Timestamp) -> Step {
    let settlement = Settlement { at: now, ..settlement };
    // That a later attempt was rejected does not say what the first one did.
    if record.attempt > 1 && !settlement.executed {
        return doubtful(record, Doubt::RejectedLater, now);
    }
    Step::Becomes(Box::new(Record { state: State::Settled(settlement), ..record }))
}

/// In doubt; since when stays, once it has begun.
pub(super) fn doubtful(record: Record, doubt: Doubt, now: Timestamp) -> Step {
    let since = record.doubt.map_or(now, |(since, _)| since);
    Step::Becomes(Box::new(Record { doubt: Some((since, doubt)), state: State::InDoubt, ..record }))
}

fn not_sent(record: Record) -> Step {
    if record.attempt == 1 {
        return Step::Withdrawn(None);
    }
    // An earlier attempt is in doubt still. What it said is put back by whoever remembers it.
    Step::Withdrawn(Some(Box::new(Record { attempt: record.attempt - 1, state: State::InDoubt, ..record })))
}

/// What a record would say if its settle could be written: the rules hold for what cannot be recorded as well.
pub fn would_be(claimed: Record, ended: &Ended) -> Record {
    let now = claimed.first_seen;
    match step(claimed.clone(), ended.clone(), now) {
        Step::Becomes(record) => *record,
        _ => claimed,
    }
}

impl Ledger {
    pub(super) fn settle(
        &mut self,
        claimed: &Record,
        ended: Ended,
        view: &dyn View,
    ) -> Result<Settled, StoreError> {
        let identity = claimed.identity();
        let own = self.current(&identity, view)?.filter(|record| record.claim() == claimed.claim());
        let Some(record) = own else { return Ok(Settled::Foreign) };
        let before = record.clone();
        match step(record, ended, self.now()) {
            Step::Becomes(mut record) => {
                self.before_resend.remove(&identity);
                record.shrink_to(self.limits.record_bytes_max);
                self.stage(identity, Some((*record).clone()), view)?;
                Ok(Settled::Recorded(record))
            }
            Step::Withdrawn(left) => {
                let left = self.before_resend.remove(&identity).or(left.map(|record| *record));
                self.stage(identity, left, view)?;
                Ok(Settled::Withdrawn)
            }
            Step::Stays => Ok(Settled::Recorded(Box::new(before))),
            Step::Refused => Ok(Settled::Foreign),
        }
    }
}
