//! What became of a call: the one vocabulary of answers, metric labels, logs and documents.
//!
//! We never claim more than we know. *Not sent* is said only where nothing can have left.

/// Whether the effect happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The responder says that it did it.
    Executed,
    /// The responder says that it did not.
    Rejected,
    /// It left us, and nobody can say.
    Unknown,
    /// Nothing left us.
    NotSent,
}

impl Outcome {
    /// Every outcome, for schemas and tests.
    pub const ALL: [Self; 4] = [Self::Executed, Self::Rejected, Self::Unknown, Self::NotSent];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Executed => "executed",
            Self::Rejected => "rejected",
            Self::Unknown => "unknown",
            Self::NotSent => "not_sent",
        }
    }
}

/// What the agent should do next, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Retry {
    /// Nothing to repeat, or nothing to gain.
    None,
    /// Nothing was sent: call again, with the same key if there was one.
    Again,
    /// Ask again with the same key; it is never sent twice.
    SameKey,
    /// The outcome is definite: a new effect needs a new key.
    NewKey,
    /// Mend the call first.
    AfterFix,
    /// Look first: it may have happened.
    Verify,
}

impl Retry {
    /// Every advice, for schemas and tests.
    pub const ALL: [Self; 6] =
        [Self::None, Self::Again, Self::SameKey, Self::NewKey, Self::AfterFix, Self::Verify];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Again => "again",
            Self::SameKey => "same_key",
            Self::NewKey => "new_key",
            Self::AfterFix => "after_fix",
            Self::Verify => "verify",
        }
    }
}

/// Whether a request can have left us when a bug of ours ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sent {
    /// Certainly not.
    No,
    /// Perhaps.
    Maybe,
}

/// Why a call ended as it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The responder answered executed.
    Completed,
    /// The responder answered not executed.
    Rejected,
    /// Nobody answered in time.
    TimedOut,
    /// The connection broke after the call had left.
    ConnectionLost,
    /// The broker failed after the call had left.
    BrokerFailed,
    /// An answer came that is larger than we take.
    ReplyTooLarge,
    /// An answer came that cannot be read.
    ReplyInvalid,
    /// An earlier attempt with this key ended unknown; not sent again.
    InDoubt,
    /// The first attempt with this key still runs.
    InProgress,
    /// The broker could not be reached.
    BrokerUnavailable,
    /// The broker's validation, access control or authentication said no.
    BrokerRefused,
    /// Our validation said no.
    InvalidArguments,
    /// The channel belongs to KubeMQ.
    ReservedChannel,
    /// The principal may not use this tool or channel.
    Forbidden,
    /// The principal calls too often.
    RateLimited,
    /// A limit of ours is reached.
    Overloaded,
    /// The key belongs to another command.
    KeyConflict,
    /// The store does not answer or cannot be written.
    StoreUnavailable,
    /// The store has no room.
    StoreFull,
    /// The audit line could not be written.
    AuditUnavailable,
    /// The agent left before the claim.
    Cancelled,
    /// A bug of ours.
    Internal(Sent),
}

impl Cause {
    /// Every cause, for schemas, metrics and tests.
    pub const ALL: [Self; 23] = [
        Self::Completed,
        Self::Rejected,
        Self::TimedOut,
        Self::ConnectionLost,
        Self::BrokerFailed,
        Self::ReplyTooLarge,
        Self::ReplyInvalid,
        Self::InDoubt,
        Self::InProgress,
        Self::BrokerUnavailable,
        Self::BrokerRefused,
        Self::InvalidArguments,
        Self::ReservedChannel,
        Self::Forbidden,
        Self::RateLimited,
        Self::Overloaded,
        Self::KeyConflict,
        Self::StoreUnavailable,
        Self::StoreFull,
        Self::AuditUnavailable,
        Self::Cancelled,
        Self::Internal(Sent::No),
        Self::Internal(Sent::Maybe),
    ];

    /// The word on the wire, in logs and in metric labels.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Rejected => "rejected",
            Self::TimedOut => "timed_out",
            Self::ConnectionLost => "connection_lost",
            Self::BrokerFailed => "broker_failed",
            Self::ReplyTooLarge => "reply_too_large",
            Self::ReplyInvalid => "reply_invalid",
            Self::InDoubt => "in_doubt",
            Self::InProgress => "in_progress",
            Self::BrokerUnavailable => "broker_unavailable",
            Self::BrokerRefused => "broker_refused",
            Self::InvalidArguments => "invalid_arguments",
            Self::ReservedChannel => "reserved_channel",
            Self::Forbidden => "forbidden",
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::KeyConflict => "key_conflict",
            Self::StoreUnavailable => "store_unavailable",
            Self::StoreFull => "store_full",
            Self::AuditUnavailable => "audit_unavailable",
            Self::Cancelled => "cancelled",
            Self::Internal(_) => "internal",
        }
    }

    /// What is known of the effect.
    pub fn outcome(self) -> Outcome {
        match self {
            Self::Completed => Outcome::Executed,
            Self::Rejected => Outcome::Rejected,
            Self::TimedOut
            | Self::ConnectionLost
            | Self::BrokerFailed
            | Self::ReplyTooLarge
            | Self::ReplyInvalid
            | Self::InDoubt
            | Self::InProgress
            | Self::Internal(Sent::Maybe) => Outcome::Unknown,
            Self::BrokerUnavailable
            | Self::BrokerRefused
            | Self::InvalidArguments
            | Self::ReservedChannel
            | Self::Forbidden
            | Self::RateLimited
            | Self::Overloaded
            | Self::KeyConflict
            | Self::StoreUnavailable
            | Self::StoreFull
            | Self::AuditUnavailable
            | Self::Cancelled
            | Self::Internal(Sent::No) => Outcome::NotSent,
        }
    }

    /// Whether the effect happened; `None` when nobody can say.
    pub fn executed(self) -> Option<bool> {
        match self.outcome() {
            Outcome::Executed => Some(true),
            Outcome::Rejected | Outcome::NotSent => Some(false),
            Outcome::Unknown => None,
        }
    }

    /// The advice that goes with it.
    pub fn retry(self) -> Retry {
        match self {
            Self::Completed | Self::Forbidden => Retry::None,
            Self::Rejected => Retry::NewKey,
            Self::TimedOut
            | Self::ConnectionLost
            | Self::BrokerFailed
            | Self::ReplyTooLarge
            | Self::ReplyInvalid
            | Self::InDoubt
            | Self::Internal(Sent::Maybe) => Retry::Verify,
            Self::InProgress => Retry::SameKey,
            Self::BrokerRefused | Self::InvalidArguments | Self::ReservedChannel | Self::KeyConflict => {
                Retry::AfterFix
            }
            Self::BrokerUnavailable
            | Self::RateLimited
            | Self::Overloaded
            | Self::StoreUnavailable
            | Self::StoreFull
            | Self::AuditUnavailable
            | Self::Cancelled
            | Self::Internal(Sent::No) => Retry::Again,
        }
    }
}

/// How a call ended: its cause, and the detail a person needs to act on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    /// Why.
    pub cause: Cause,
    /// One plain clause, safe to show to an agent; empty when the cause says it all.
    pub detail: String,
}

impl Ending {
    /// An ending with its detail.
    pub fn new(cause: Cause, detail: impl Into<String>) -> Self {
        Self { cause, detail: detail.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_definite_rejection_asks_for_a_new_key() {
        for cause in Cause::ALL {
            assert_eq!(cause.retry() == Retry::NewKey, cause == Cause::Rejected, "{cause:?}");
        }
    }

    #[test]
    fn an_unknown_outcome_never_says_whether_it_ran() {
        for cause in Cause::ALL {
            assert_eq!(cause.executed().is_none(), cause.outcome() == Outcome::Unknown, "{cause:?}");
        }
    }

    #[test]
    fn nothing_that_may_have_left_is_advised_to_be_sent_again() {
        for cause in Cause::ALL {
            if cause.outcome() == Outcome::Unknown {
                assert!(matches!(cause.retry(), Retry::Verify | Retry::SameKey), "{cause:?}");
            }
        }
    }
}
