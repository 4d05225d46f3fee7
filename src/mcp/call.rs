//! A call that is worth sending, and what became of it.

use std::time::{Duration, SystemTime};

use tokio_util::sync::CancellationToken;

use crate::domain::{Cause, Ending, Outcome, Principal, Reply, Request, RequestId, Timeout, Tool};

/// A validated call.
#[derive(Debug)]
pub struct Call {
    /// Who calls.
    pub principal: Principal,
    /// Which tool.
    pub tool: Tool,
    /// What goes to the responder.
    pub request: Request,
    /// Cancelled when the agent leaves. A command reads it once, before its claim; a query is reset by it at any time.
    pub leave: CancellationToken,
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
    /// Whether a retry with the same key will be told this outcome.
    pub recorded: bool,
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
            recorded: false,
            retry_after: None,
        }
    }

    /// A call that ended like this, as far as that is known.
    pub fn of(call: &Call, ending: Ending) -> Self {
        let channel = Some(call.request.channel.to_string());
        Self {
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

    /// The channel for a text; a call without one is still a sentence.
    pub fn channel_text(&self) -> &str {
        self.channel.as_deref().unwrap_or("")
    }
}
