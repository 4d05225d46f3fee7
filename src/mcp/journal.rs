//! One log line and one count per call, wherever it ended.
//!
//! Never a body, a tag or a metadata text: those are the agent's.

use super::metrics::Metrics;
use super::{Report, Status};
use crate::domain::{Cause, Key, Outcome};

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

/// Notes the end of a call. Called exactly once per call.
pub fn call_ended(report: &Report) {
    let seconds = report.elapsed.as_secs_f64();
    Metrics::get().call_ended(report.tool, report.cause(), seconds);
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
