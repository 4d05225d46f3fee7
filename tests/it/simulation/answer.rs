//! What an agent is told: the part of the connector's report that the promises are about.

use kubemq_mcp::domain::{Cause, Outcome, RequestId};
use kubemq_mcp::idempotency::{Record, State, ending_of};

#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub cause: Cause,
    pub request: Option<RequestId>,
    pub replayed: bool,
    pub recorded: bool,
    /// How often the command may have left so far.
    pub attempt: u32,
    /// Whether the key was looked up.
    pub looked_up: bool,
}

impl Answer {
    /// Nothing was looked up, or nothing was found.
    pub fn refused(cause: Cause, looked_up: bool) -> Self {
        Self { cause, request: None, replayed: false, recorded: false, attempt: 0, looked_up }
    }

    /// What the store knows of an earlier call.
    pub fn known(record: &Record) -> Self {
        let replayed = matches!(record.state, State::Settled(_));
        Self {
            cause: ending_of(record).cause,
            request: Some(record.request_id.clone()),
            replayed,
            recorded: true,
            attempt: record.attempt,
            looked_up: true,
        }
    }

    /// An earlier call still runs.
    pub fn in_progress(record: &Record) -> Self {
        Self { cause: Cause::InProgress, ..Self::known(record) }
    }

    /// How this very call ended.
    pub fn own(record: &Record, cause: Cause, recorded: bool) -> Self {
        Self { cause, recorded, replayed: false, ..Self::known(record) }.without_dispatch()
    }

    /// How the call that was joined ended.
    pub fn joined(record: &Record, cause: Cause, recorded: bool) -> Self {
        Self { cause, recorded, replayed: true, ..Self::known(record) }.without_dispatch()
    }

    /// What did not leave counts for nothing.
    fn without_dispatch(mut self) -> Self {
        if self.outcome() == Outcome::NotSent {
            self.attempt -= 1;
            self.recorded &= self.attempt > 0;
        }
        self
    }

    pub fn outcome(&self) -> Outcome {
        self.cause.outcome()
    }

    /// Whether the effect happened, by this call or an earlier one with its key.
    pub fn executed(&self) -> Option<bool> {
        match self.outcome() {
            Outcome::Executed => Some(true),
            Outcome::Rejected => Some(false),
            Outcome::Unknown => None,
            // This call sent nothing, and what an earlier one did is not known.
            Outcome::NotSent if !self.looked_up || self.attempt > 0 => None,
            Outcome::NotSent => Some(false),
        }
    }

    pub fn is_definite(&self) -> bool {
        matches!(self.outcome(), Outcome::Executed | Outcome::Rejected)
    }
}
