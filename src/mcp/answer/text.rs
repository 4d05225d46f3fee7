//! The sentences of an answer. The first is the published one where there is one.

use crate::clock;
use crate::domain::{Cause, Kind, Outcome, Sent, Timeout, plain};
use crate::mcp::{Lookup, Report};

pub(super) fn first_text(report: &Report) -> String {
    let channel = report.channel_text();
    let kind = report.tool.kind();
    let (word, noun) = match kind {
        Kind::Command => ("Command", "command"),
        Kind::Query => ("Query", "query"),
    };
    let detail = plain(&report.ending.detail);
    match report.cause() {
        Cause::Completed => format!("{word} executed successfully on channel '{channel}'"),
        Cause::TimedOut => {
            let seconds = report.timeout.map_or(0, Timeout::seconds);
            format!("{word} timed out: no subscriber on channel '{channel}' within {seconds}s")
        }
        Cause::Rejected if report.memory.resolved.is_some() => {
            format!("{word} rejected on channel '{channel}': an operator says that it did not happen")
        }
        Cause::Rejected if detail.is_empty() => {
            format!("{word} rejected on channel '{channel}': the responder gave no reason")
        }
        Cause::Rejected => format!("{word} rejected on channel '{channel}': {detail}"),
        Cause::ReservedChannel => format!("Channel '{channel}' uses a reserved prefix"),
        Cause::InvalidArguments => {
            format!("Invalid arguments for {}, nothing was sent: {detail}", report.tool.as_str())
        }
        Cause::ConnectionLost => {
            format!("{word} on channel '{channel}' was sent, then its answer was lost: {detail}")
        }
        Cause::BrokerFailed => {
            format!("{word} on channel '{channel}' was sent, then the broker failed: {detail}")
        }
        Cause::ReplyTooLarge => format!("{word} on channel '{channel}' was sent and answered, but {detail}"),
        Cause::ReplyInvalid => {
            format!(
                "{word} on channel '{channel}' was sent and answered, but the answer cannot be read: {detail}"
            )
        }
        Cause::InDoubt => {
            format!(
                "{word} on channel '{channel}' was sent earlier with this key and its end is unknown; it was not sent again"
            )
        }
        Cause::InProgress => {
            format!(
                "{word} on channel '{channel}' was sent earlier with this key and still runs; it was not sent again"
            )
        }
        Cause::BrokerUnavailable => {
            format!("{word} on channel '{channel}' was not sent: the broker is not reachable: {detail}")
        }
        Cause::BrokerRefused => format!("{word} on channel '{channel}' was refused by the broker: {detail}"),
        Cause::Forbidden => {
            format!("{word} on channel '{channel}' was not sent: {detail}")
        }
        Cause::RateLimited | Cause::Overloaded => {
            format!("{word} on channel '{channel}' was not sent: {detail}")
        }
        Cause::KeyConflict => {
            format!("{word} on channel '{channel}' was not sent: this key belongs to another command")
        }
        Cause::AuditUnavailable => {
            format!(
                "{word} on channel '{channel}' was not sent: {detail}, and nothing is sent that nobody can account for"
            )
        }
        Cause::StoreUnavailable | Cause::StoreFull => {
            format!("{word} on channel '{channel}' was not sent: it could not be recorded: {detail}")
        }
        Cause::Cancelled if kind == Kind::Query => {
            format!("{word} on channel '{channel}' was given up: the agent left")
        }
        Cause::Cancelled => format!("{word} on channel '{channel}' was not sent: the agent left first"),
        Cause::Internal(Sent::No) => {
            format!("{word} on channel '{channel}' was not sent: the connector failed: {detail}")
        }
        Cause::Internal(Sent::Maybe) => format!(
            "The connector failed during a {noun} on channel '{channel}', which may have been sent: {detail}"
        ),
    }
}

/// For a command that did not end in `executed`: may the effect have happened, and what about the key.
/// An executed command whose responder added an error text passes that on.
pub(super) fn second_text(report: &Report) -> Option<String> {
    let cause = report.cause();
    match report.outcome() {
        Outcome::Executed if report.ending.detail.is_empty() => None,
        Outcome::Executed => Some(format!(
            "The responder executed it and added an error text: {}",
            plain(&report.ending.detail)
        )),
        Outcome::Rejected if report.memory.resolved.is_some() => Some(
            "The effect did not happen, as an operator has found out. A new attempt needs a new idempotency key."
                .to_owned(),
        ),
        Outcome::Rejected => Some(
            "The effect did not happen: the responder refused the command. A new attempt needs a new idempotency key."
                .to_owned(),
        ),
        Outcome::Unknown => Some(format!("{}{}", unknown(cause), in_doubt_note(report))),
        Outcome::NotSent => Some(format!("{} {}", not_sent(report), what_next(report))),
    }
}

fn unknown(cause: Cause) -> &'static str {
    match cause {
        Cause::TimedOut => {
            "The effect may have happened: a slow responder looks the same as none. Look before you send it again; with \
             an idempotency key, keep that key for this one effect."
        }
        Cause::InProgress => {
            "The effect may have happened or may still happen: ask again with the same idempotency key, it is never sent \
             twice."
        }
        _ => {
            "The effect may have happened: the command left and its end is unknown. Look before you send it again; with \
             an idempotency key, keep that key for this one effect."
        }
    }
}

/// Why a key is in doubt, where the first text does not say it.
fn in_doubt_note(report: &Report) -> String {
    match report.cause() {
        Cause::InDoubt | Cause::InProgress if !report.ending.detail.is_empty() => {
            format!(" Why: {}.", plain(&report.ending.detail))
        }
        _ => String::new(),
    }
}

/// Whether the effect happened, when this call has sent nothing.
fn not_sent(report: &Report) -> &'static str {
    match report.cause() {
        _ if report.memory.lookup == Lookup::Missing => {
            "This call has sent nothing; what an earlier call with this idempotency key did was not looked up."
        }
        _ if report.memory.attempt > 0 => {
            "This call has sent nothing; whether an earlier attempt with this idempotency key had its effect is unknown."
        }
        Cause::BrokerRefused => "The effect did not happen: nothing was executed.",
        _ => "The effect did not happen: nothing was sent.",
    }
}

fn what_next(report: &Report) -> String {
    match report.cause() {
        Cause::RateLimited | Cause::Overloaded => {
            let seconds = report.retry_after.map_or(1, |wait| wait.as_secs().max(1));
            format!("Call again after {seconds}s, with the same idempotency key if there was one.")
        }
        Cause::KeyConflict => {
            "Use the arguments of the first call to hear what it did, or a new idempotency key for a new effect."
                .to_owned()
        }
        Cause::InvalidArguments | Cause::ReservedChannel | Cause::BrokerRefused => {
            "Mend the call before you send it again.".to_owned()
        }
        Cause::Forbidden => "Calling again will not change that.".to_owned(),
        _ => "Call again, with the same idempotency key if there was one.".to_owned(),
    }
}

/// For the result of an earlier call: that nothing was sent this time, and what is missing in it.
pub(super) fn replay_text(report: &Report) -> Option<String> {
    if !report.memory.replayed {
        return None;
    }
    let mut text = match report.first_sent_at {
        Some(time) => format!("Replayed: sent at {}, not sent again.", clock::rfc3339(time)),
        None => "Replayed: this is how the call ended that was first with this key.".to_owned(),
    };
    if report.memory.truncated {
        text.push_str(" The tags of the first answer were too large to be kept.");
    }
    if let Some(resolution) = &report.memory.resolved {
        text.push_str(&format!(
            " Settled by the operator {}: {}",
            plain(&resolution.by),
            plain(&resolution.why)
        ));
    }
    Some(text)
}
