//! What is kept of one key. Whoever settles it changes state and result and nothing else.

mod codec;
#[cfg(test)]
mod tests;

pub use codec::{RECORD_VERSION, RecordError};

use super::{Claim, Identity, Owner, Timestamp};
use crate::domain::{Cause, Channel, Fingerprint, Key, Principal, RequestId, Tags};

/// All that is known of one key of one principal.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Whose key it is.
    pub principal: Principal,
    /// The key.
    pub key: Key,
    /// Which command it stands for.
    pub fingerprint: Fingerprint,
    /// Where the command goes; for operators.
    pub channel: Channel,
    /// Who made the last claim.
    pub owner: Owner,
    /// The number of that claim.
    pub fence: u64,
    /// How many times the command may have left.
    pub attempt: u32,
    /// When the key was first claimed.
    pub first_seen: Timestamp,
    /// When the record is forgotten if it was settled and never in doubt.
    pub settled_until: Timestamp,
    /// When the record is forgotten if it is, or ever was, in doubt.
    pub in_doubt_until: Timestamp,
    /// Since when it is, or ever was, in doubt, and why. Never `None` in [`State::InDoubt`].
    pub doubt: Option<(Timestamp, Doubt)>,
    /// The dispatch that the last claim was for.
    pub request_id: RequestId,
    /// What became of it.
    pub state: State,
}

/// What became of a key.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// It was claimed and may have left.
    InProgress,
    /// It may have run, and we cannot know; [`Record::doubt`] says why.
    InDoubt,
    /// The responder has said what happened.
    Settled(Settlement),
}

/// Why a key is in doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The call ended without an answer.
    Ended(Cause),
    /// The connector stopped or died while it ran.
    Interrupted,
    /// A later attempt was rejected, which does not say what the first one did.
    RejectedLater,
}

impl Doubt {
    /// The word in records, logs and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ended(_) => "ended",
            Self::Interrupted => "interrupted",
            Self::RejectedLater => "rejected_later",
        }
    }
}

/// What the responder said, as it is told again to every retry.
#[derive(Clone, Debug, PartialEq)]
pub struct Settlement {
    /// Whether it did what was asked.
    pub executed: bool,
    /// When the answer was recorded, in the store's time; the ledger sets it.
    pub at: Timestamp,
    /// How long the command took.
    pub elapsed_milliseconds: u64,
    /// The responder's error text; may stand beside `executed`.
    pub error: String,
    /// The responder's client id.
    pub responder: String,
    /// The tags of the answer.
    pub tags: Tags,
    /// Whether something was left out because the record would have been too large.
    pub truncated: bool,
    /// Who settled it, when it was an operator and not the responder.
    pub resolved: Option<Resolution>,
}

/// An operator's word on a key in doubt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// Who says so.
    pub by: String,
    /// How they know.
    pub why: String,
}

impl Record {
    /// Whose record it is.
    pub fn identity(&self) -> Identity {
        Identity::of(&self.principal, &self.key)
    }

    /// The claim it was last written for.
    pub fn claim(&self) -> Claim {
        Claim { identity: self.identity(), owner: self.owner, fence: self.fence, attempt: self.attempt }
    }

    /// From when on the key is new again; `None` while it runs.
    ///
    /// What was ever in doubt stays as long as doubts do: an agent that was told to look first may come back late.
    pub fn expires(&self) -> Option<Timestamp> {
        match (&self.state, self.doubt) {
            (State::InProgress, _) => None,
            (State::Settled(_), None) => Some(self.settled_until),
            (State::Settled(_), Some(_)) | (State::InDoubt, _) => Some(self.in_doubt_until),
        }
    }

    /// The latest time that it names, below which the store's time never falls again.
    pub fn latest(&self) -> Timestamp {
        let settled = match &self.state {
            State::Settled(settlement) => settlement.at,
            State::InProgress | State::InDoubt => self.first_seen,
        };
        self.first_seen.max(settled).max(self.doubt.map_or(self.first_seen, |(since, _)| since))
    }

    /// Leaves out what a record of at most `bytes_max` bytes has no room for: the tags first, then the responder's texts.
    /// What happened stays.
    pub fn shrink_to(&mut self, bytes_max: usize) {
        if self.encoded_len() > bytes_max
            && let State::Settled(settlement) = &mut self.state
        {
            settlement.tags.clear();
            settlement.truncated = true;
        }
        if self.encoded_len() > bytes_max
            && let State::Settled(settlement) = &mut self.state
        {
            settlement.error.clear();
            settlement.responder.clear();
        }
    }
}
