//! What can be asked of the ledger, and what it says.

use super::{Doubt, Identity, Record, Settlement, State, Timestamp};
use crate::domain::{Cause, Channel, Ending, Fingerprint, Key, Principal, RequestId};

/// A command that wants to leave under a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// Whose key it is.
    pub principal: Principal,
    /// The key.
    pub key: Key,
    /// Which command it stands for.
    pub fingerprint: Fingerprint,
    /// Where the command goes.
    pub channel: Channel,
    /// The dispatch it would be.
    pub request_id: RequestId,
    /// What the owner of the channel says of duplicates.
    pub resend: Resend,
}

/// Whether a key in doubt may leave again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resend {
    /// Never: what is in doubt stays in doubt.
    #[default]
    Never,
    /// When it is in doubt: the responder takes care of duplicates.
    InDoubt,
}

/// One step of the ledger.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Lets a command leave, if its key is new.
    Claim(Box<Proposal>),
    /// Says what a claim would hear, without letting anything leave.
    Look {
        /// Whose record.
        identity: Identity,
        /// Which command the key is said to stand for.
        fingerprint: Fingerprint,
    },
    /// Says how a claimed command ended.
    Settle {
        /// The record as it was claimed.
        claimed: Box<Record>,
        /// How it ended.
        ended: Ended,
    },
    /// Says what is known of a key, and changes nothing.
    Show(Identity),
    /// Says what is known of many keys, and changes nothing.
    List(Box<Selection>),
    /// Settles a key in doubt on an operator's word.
    Resolve {
        /// Whose record.
        identity: Identity,
        /// The operator's word.
        settlement: Box<Settlement>,
    },
    /// Takes a record away, so that its key is new again.
    Forget {
        /// Whose record.
        identity: Identity,
        /// Whether that may be one whose command may have run.
        consent: Consent,
    },
    /// Takes away records whose time is over, at most so many.
    Sweep {
        /// How many.
        max: usize,
    },
}

/// An operator's consent to lose what is known of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// None was given.
    Missing,
    /// The command may run again.
    MayRunAgain,
}

/// How a claimed command ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ended {
    /// The responder has said what happened.
    Answered(Settlement),
    /// It left, and nobody can say.
    Unknown(Cause),
    /// The connector stopped or an actor died while it ran.
    Interrupted,
    /// It certainly did not leave.
    NotSent,
}

/// Which records a list shall hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// Only of this principal.
    pub principal: Option<Principal>,
    /// Only in this state.
    pub state: Option<StateName>,
    /// Only those whose claim has a higher number than this; lists are in the order of claims.
    pub after: Option<u64>,
    /// At most so many.
    pub max: usize,
}

/// The states of a record, as answers, metrics and lists name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StateName {
    /// It was claimed and may have left.
    InProgress,
    /// The responder did it.
    Executed,
    /// The responder refused.
    Rejected,
    /// It may have run.
    InDoubt,
}

impl StateName {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::InProgress, Self::Executed, Self::Rejected, Self::InDoubt];

    /// The word in answers, metrics and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Executed => "executed",
            Self::Rejected => "rejected",
            Self::InDoubt => "in_doubt",
        }
    }

    /// The state of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }
}

/// What the ledger says to one operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// To a claim or a look.
    Decision(Decision),
    /// To a settle.
    Settled(Settled),
    /// To a show; boxed since most answers are small.
    Shown(Option<Box<Record>>),
    /// To a list.
    Listed(Listed),
    /// To a resolve or a forget.
    Governed(Result<Box<Record>, Refusal>),
    /// To a sweep: how many records went.
    Swept(usize),
}

/// A piece of a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listed {
    /// The records of this piece.
    pub records: Vec<Record>,
    /// The number of the claim behind which the next piece begins; `None` at the end.
    pub next: Option<u64>,
}

/// May this command leave?
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// It may, once: this is its record. Only a claim hears that.
    Run(Box<Record>),
    /// It might. Only a look hears that.
    Free,
    /// It runs already; join it.
    Running(Box<Record>),
    /// It ran, or is in doubt: tell that.
    Known(Box<Record>),
    /// The key stands for another command.
    Conflict,
    /// There is no room for a new key.
    Full(Full),
}

/// Which limit leaves no room for a new key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// `store.records_max`.
    #[error("the store holds {0} keys, which is its limit (store.records_max)")]
    Records(usize),
    /// `store.records_per_principal_max`.
    #[error(
        "the store holds {0} keys of this principal, which is the limit (store.records_per_principal_max)"
    )]
    Principal(usize),
    /// `store.records_bytes_max`.
    #[error("the keys in the store take all of the {0} bytes that they may (store.records_bytes_max)")]
    Bytes(u64),
    /// `store.free_bytes_min`.
    #[error("the disk of the store has {free} bytes left and must keep {min} (store.free_bytes_min)")]
    Disk {
        /// What is left.
        free: u64,
        /// What must be.
        min: u64,
    },
}

/// A limit on keys, as metrics name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Limit {
    /// `store.records_max`.
    Records,
    /// `store.records_per_principal_max`.
    Principal,
    /// `store.records_bytes_max`.
    Bytes,
    /// `store.free_bytes_min`.
    Disk,
}

impl Limit {
    /// Those that hold for all principals together.
    pub const OF_ALL: [Self; 3] = [Self::Records, Self::Bytes, Self::Disk];

    /// The word in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Records => "records",
            Self::Principal => "principal",
            Self::Bytes => "bytes",
            Self::Disk => "disk",
        }
    }
}

impl Full {
    /// Which limit that is.
    pub fn limit(self) -> Limit {
        match self {
            Self::Records(_) => Limit::Records,
            Self::Principal(_) => Limit::Principal,
            Self::Bytes(_) => Limit::Bytes,
            Self::Disk { .. } => Limit::Disk,
        }
    }
}

/// What became of a settle.
#[derive(Clone, Debug, PartialEq)]
pub enum Settled {
    /// The record now says this.
    Recorded(Box<Record>),
    /// The claim is withdrawn, and the key as it was before it.
    Withdrawn,
    /// Refused: the record is of another attempt, or settled already.
    Foreign,
}

/// Why an operator's word changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such key.
    #[error("this key is not known: it was never used, or it has expired")]
    Absent,
    /// Only what is in doubt can be resolved.
    #[error("this key is {} and not in doubt, so there is nothing to resolve", .0.as_str())]
    NotInDoubt(StateName),
    /// What runs cannot be forgotten.
    #[error("this key is in progress; wait for its end")]
    InProgress,
    /// To forget what is in doubt needs consent.
    #[error("this key is in doubt: forgotten, its command may run again; say so with --may-run-again")]
    NeedsConsent,
}

/// How the command of a record ended, for whoever asks with its key.
pub fn ending_of(record: &Record) -> Ending {
    match &record.state {
        State::InProgress => Ending::new(Cause::InProgress, ""),
        State::Settled(settlement) => {
            let cause = if settlement.executed { Cause::Completed } else { Cause::Rejected };
            Ending::new(cause, settlement.error.clone())
        }
        State::InDoubt => {
            let detail = match record.doubt.map(|(_, doubt)| doubt) {
                Some(Doubt::Ended(cause)) => format!("the attempt ended as {}", cause.as_str()),
                Some(Doubt::Interrupted) | None => "the connector stopped while it ran".to_owned(),
                Some(Doubt::RejectedLater) => {
                    "a later attempt was rejected, which does not say what an earlier one did".to_owned()
                }
            };
            Ending::new(Cause::InDoubt, detail)
        }
    }
}

/// How a command ended, once it is settled: a rejection that does not disprove an earlier attempt is a doubt.
pub fn settled_ending(record: &Record, ending: Ending) -> Ending {
    if record.state != State::InDoubt || ending.cause != Cause::Rejected {
        return ending;
    }
    let doubt = ending_of(record);
    Ending::new(doubt.cause, format!("{}: {}", doubt.detail, ending.detail))
}

impl Record {
    /// The name of its state.
    pub fn state_name(&self) -> StateName {
        match &self.state {
            State::InProgress => StateName::InProgress,
            State::InDoubt => StateName::InDoubt,
            State::Settled(settlement) if settlement.executed => StateName::Executed,
            State::Settled(_) => StateName::Rejected,
        }
    }

    /// Whether its time is over at `now`.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.expires().is_some_and(|until| until <= now)
    }
}
