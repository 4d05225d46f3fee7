//! A call that is worth sending, and what became of it.

use std::time::{Duration, SystemTime};

use tokio_util::sync::CancellationToken;

use crate::access::Allowance;
use crate::domain::{
    Cause, Ending, Fingerprint, Key, Outcome, Principal, Reply, Request, RequestId, Timeout, Tool,
};
use crate::idempotency::{Record, Recorded, Resend, Resolution, State, Timestamp, Told, ending_of};

/// A validated call.
#[derive(Debug)]
pub struct Call {
    /// Who calls.
    pub principal: Principal,
    /// Which tool.
    pub tool: Tool,
    /// What goes to the responder.
    pub request: Request,
    /// The key of a command that has one.
    pub keyed: Option<Keyed>,
    /// Cancelled when the agent leaves. A command reads it once, before its claim; a query is reset by it at any time.
    pub leave: CancellationToken,
    /// Its part of what its caller may do at one time, given back when it ends.
    pub allowance: Allowance,
}

/// An idempotency key, and what it stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct Keyed {
    /// The key.
    pub key: Key,
    /// The command it is said to stand for.
    pub fingerprint: Fingerprint,
    /// Whether it may leave again when it is in doubt.
    pub resend: Resend,
}

/// What the store says beside how a call ended. The default is a call without a key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// The key; logs have its digest.
    pub key: Option<Key>,
    /// Whether it was looked up.
    pub lookup: Lookup,
    /// Whether an earlier call's result is told.
    pub replayed: bool,
    /// How often the command may have left so far, with this key.
    pub attempt: u32,
    /// Whether a retry with the same key will be told this outcome.
    pub recorded: bool,
    /// When the key is forgotten.
    pub expires_at: Option<SystemTime>,
    /// Whether something of the result was left out of the record.
    pub truncated: bool,
    /// Who settled it, when that was an operator.
    pub resolved: Option<Resolution>,
}

/// Whether the key of a call was looked up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lookup {
    /// It has no key.
    #[default]
    NoKey,
    /// It was refused before that: what an earlier call with the key did is not known here.
    Missing,
    /// It was.
    Done,
}

/// What `command_status` has found.
#[derive(Clone, Debug, PartialEq)]
pub enum Status {
    /// Nothing: the key was never used, or has expired.
    Absent,
    /// This.
    Known(Box<Record>),
}

impl Status {
    /// The word for a key that is not known.
    pub const ABSENT: &str = "absent";

    /// The word for it in answers and logs.
    pub fn state(&self) -> &'static str {
        match self {
            Self::Absent => Self::ABSENT,
            Self::Known(record) => record.state_name().as_str(),
        }
    }
}

/// What became of a call: everything an answer, a log line and a metric are made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Who called.
    pub principal: Principal,
    /// Which tool.
    pub tool: Tool,
    /// The channel as the agent wrote it; `None` when it wrote none.
    pub channel: Option<String>,
    /// The id under which it was, or would have been, sent.
    pub request_id: Option<RequestId>,
    /// How it ended.
    pub ending: Ending,
    /// The responder's reply, when one came and could be read.
    pub reply: Option<Reply>,
    /// The time the responder had; `None` when the arguments named none that is valid.
    pub timeout: Option<Timeout>,
    /// From the call's arrival to its end.
    pub elapsed: Duration,
    /// When it was first sent; `None` when nothing was sent.
    pub first_sent_at: Option<SystemTime>,
    /// What the store says.
    pub memory: Memory,
    /// What `command_status` has found.
    pub status: Option<Status>,
    /// Whether the audit says that it was about to leave.
    pub intended: bool,
    /// When a limit of ours refused: how long to wait.
    pub retry_after: Option<Duration>,
}

impl Report {
    /// A call that was refused before it became one.
    pub fn refused(principal: Principal, tool: Tool, channel: Option<String>, ending: Ending) -> Self {
        Self {
            principal,
            tool,
            channel,
            request_id: None,
            ending,
            reply: None,
            timeout: None,
            elapsed: Duration::ZERO,
            first_sent_at: None,
            memory: Memory::default(),
            status: None,
            intended: false,
            retry_after: None,
        }
    }

    /// A call that ended like this, as far as that is known.
    pub fn of(call: &Call, ending: Ending) -> Self {
        let channel = Some(call.request.channel.to_string());
        let key = call.keyed.as_ref().map(|keyed| keyed.key.clone());
        Self {
            memory: Memory::of(key),
            request_id: Some(call.request.id.clone()),
            timeout: Some(call.request.timeout),
            ..Self::refused(call.principal.clone(), call.tool, channel, ending)
        }
    }

    /// Why it ended.
    pub fn cause(&self) -> Cause {
        self.ending.cause
    }

    /// What is known of the effect. A query that was given up in flight had left.
    pub fn outcome(&self) -> Outcome {
        match self.ending.cause {
            Cause::Cancelled if self.first_sent_at.is_some() => Outcome::Unknown,
            cause => cause.outcome(),
        }
    }

    /// Whether the effect happened, by this call or an earlier one with its key; `None` when nobody can say.
    pub fn executed(&self) -> Option<bool> {
        match self.outcome() {
            // This call sent nothing, and what an earlier one did is not known.
            Outcome::NotSent if self.memory.lookup == Lookup::Missing || self.memory.attempt > 0 => None,
            Outcome::Unknown => None,
            Outcome::Executed | Outcome::Rejected | Outcome::NotSent => self.cause().executed(),
        }
    }

    /// Tells what the store knows of an earlier call with the same key.
    pub fn tell(&mut self, record: &Record) {
        self.ending = ending_of(record);
        self.remember(record);
        self.memory.recorded = true;
        if let State::Settled(settlement) = &record.state {
            self.memory.replayed = true;
            self.reply = Some(Reply {
                executed: settlement.executed,
                error: settlement.error.clone(),
                tags: settlement.tags.clone(),
                responder: settlement.responder.clone(),
                ..Reply::default()
            });
        }
    }

    /// Tells how the first call with the same key ended, which this one had joined.
    pub fn tell_joined(&mut self, told: &Told) {
        self.tell(&told.record);
        self.ending = told.ending.clone();
        self.memory.recorded = told.recorded == Recorded::Yes;
        self.memory.replayed = true;
        if self.ending.cause.outcome() == Outcome::NotSent {
            self.forget_dispatch();
        }
    }

    /// Takes over what a record says of its command: when, how often, under which id, for how long.
    pub fn remember(&mut self, record: &Record) {
        self.memory.lookup = Lookup::Done;
        self.memory.attempt = record.attempt;
        self.memory.expires_at = record.expires().and_then(Timestamp::system_time);
        self.request_id = Some(record.request_id.clone());
        self.first_sent_at = record.first_seen.system_time();
        if let State::Settled(settlement) = &record.state {
            self.memory.truncated = settlement.truncated;
            self.memory.resolved = settlement.resolved.clone();
        }
    }

    /// The attempt did not leave: only earlier ones count.
    pub fn forget_dispatch(&mut self) {
        self.memory.attempt = self.memory.attempt.saturating_sub(1);
        if self.memory.attempt == 0 {
            self.first_sent_at = None;
            self.memory.expires_at = None;
            self.memory.recorded = false;
        }
    }

    /// How often the command may have left so far.
    pub fn attempt(&self) -> u32 {
        match self.memory.lookup {
            Lookup::NoKey => u32::from(self.first_sent_at.is_some()),
            Lookup::Missing | Lookup::Done => self.memory.attempt,
        }
    }

    /// The channel for a text; a call without one is still a sentence.
    pub fn channel_text(&self) -> &str {
        self.channel.as_deref().unwrap_or("")
    }
}

impl Memory {
    /// Of a call that has not been looked up yet.
    pub fn of(key: Option<Key>) -> Self {
        let lookup = if key.is_some() { Lookup::Missing } else { Lookup::NoKey };
        Self { key, lookup, ..Self::default() }
    }
}
