//! One log line, one count and one line of the audit per call, wherever it ended; and the line of a command that is about
//! to leave.
//!
//! Never a body, a tag or a metadata text: those are the agent's.

use super::metrics::Metrics;
use super::{Report, Status};
use crate::audit::{Audit, Line, Unavailable, What};
use crate::clock;
use crate::domain::{Cause, Key, Kind, Outcome, Principal, Request, Tool};

/// Where the ends of calls are noted; a clone is one count.
#[derive(Clone, Default)]
pub(super) struct Journal {
    audit: Audit,
}

/// Why a limit or a part of ours has refused, in our own words: what an operator can do something about. Every other
/// detail may hold words of an agent or a responder.
fn reason(report: &Report) -> Option<&str> {
    match report.cause() {
        Cause::StoreFull
        | Cause::StoreUnavailable
        | Cause::Overloaded
        | Cause::RateLimited
        | Cause::Forbidden => Some(&report.ending.detail),
        _ => None,
    }
}

/// The log line of a call.
fn logged(report: &Report) {
    let seconds = report.elapsed.as_secs_f64();
    macro_rules! line {
        ($level:ident) => {
            tracing::$level!(
                tool = report.tool.as_str(),
                channel = report.channel_text(),
                principal = report.principal.as_str(),
                key = report.memory.key.as_ref().map_or(String::new(), Key::digest),
                replayed = report.memory.replayed,
                request_id = report.request_id.as_ref().map_or("", |id| id.as_str()),
                outcome = report.outcome().as_str(),
                cause = report.cause().as_str(),
                state = report.status.as_ref().map(Status::state),
                reason = reason(report),
                elapsed_seconds = seconds,
                "call ended"
            )
        };
    }
    match (report.outcome(), report.cause()) {
        (_, Cause::Internal(_)) => line!(error),
        (Outcome::Unknown, _) | (_, Cause::BrokerUnavailable) => line!(warn),
        _ => line!(info),
    }
}

impl Journal {
    /// With this audit.
    pub fn new(audit: Audit) -> Self {
        Self { audit }
    }

    /// Notes that a command is about to leave, and returns when that is written.
    ///
    /// # Errors
    /// When it cannot be written: then the command must not leave.
    pub async fn intend(
        &self,
        principal: &Principal,
        tool: Tool,
        request: &Request,
        key: Option<&Key>,
    ) -> Result<(), Unavailable> {
        let line = || {
            Line::new(What::Intent, clock::now())
                .call(principal, tool, Some(request.channel.as_str()))
                .request(Some(&request.id))
                .key(key)
        };
        self.audit.intend(line).await
    }

    /// Notes the end of a call. Called exactly once per call.
    pub fn call_ended(&self, report: &Report) {
        Metrics::get().call_ended(report.tool, report.cause(), report.elapsed.as_secs_f64());
        logged(report);
        self.audit.note(|| {
            Line::new(what(report), clock::now())
                .call(&report.principal, report.tool, report.channel.as_deref())
                .request(report.request_id.as_ref())
                .key(report.memory.key.as_ref())
                .ended(report.cause().as_str(), report.outcome().as_str(), report.executed(), report.elapsed)
                .with("replayed", report.memory.replayed.into())
        });
    }
}

/// What the last line of a call is: a command whose intent was written has an outcome, whatever that is.
fn what(report: &Report) -> What {
    let is_refused = report.outcome() == Outcome::NotSent && !report.intended;
    match report.tool.kind() {
        _ if is_refused => What::Refused,
        Kind::Command => What::Outcome,
        Kind::Query => What::Query,
    }
}
