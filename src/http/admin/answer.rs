//! What operators are told: a record under names that stay, and why something was not done.

use axum::body::Body;
use axum::http::{Response, StatusCode};
use serde_json::{Value, json};

use super::ask;
use crate::clock;
use crate::http::fault::{Fault, INTERNAL_ERROR, INVALID_REQUEST};
use crate::idempotency::{Closed, Doubt, Listed, Record, Refusal, State, Timestamp};

/// One record. Every name is always there, `null` where nothing is known.
pub fn record(record: &Record) -> Value {
    let settlement = match &record.state {
        State::Settled(settlement) => Some(settlement),
        State::InProgress | State::InDoubt => None,
    };
    let resolution = settlement.and_then(|settlement| settlement.resolved.as_ref());
    let said = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    json!({
        "principal": record.principal.as_str(),
        "key": record.key.as_str(),
        "key_digest": record.key.digest(),
        "state": record.state_name().as_str(),
        "channel": record.channel.as_str(),
        "request_id": record.request_id.as_str(),
        "attempts": record.attempt,
        "first_sent_at": time(record.first_seen),
        "in_doubt_since": record.doubt.and_then(|(since, _)| time(since)),
        "in_doubt_why": record.doubt.map(|(_, doubt)| word(doubt)),
        "ended_at": settlement.and_then(|settlement| time(settlement.at)),
        "expires_at": record.expires().and_then(time),
        "responder": settlement.and_then(|settlement| said(&settlement.responder)),
        "error": settlement.and_then(|settlement| said(&settlement.error)),
        "resolved_by": resolution.map(|resolution| resolution.by.as_str()),
        "resolved_why": resolution.map(|resolution| resolution.why.as_str()),
    })
}

/// A piece of a list, and where the next one begins.
pub fn listed(listed: &Listed) -> Value {
    let keys: Vec<Value> = listed.records.iter().map(record).collect();
    json!({ "keys": keys, "next": listed.next.map(ask::cursor) })
}

/// A record as it was before it was forgotten.
pub fn forgotten(forgotten: &Record) -> Value {
    json!({ "forgotten": record(forgotten) })
}

fn time(timestamp: Timestamp) -> Option<String> {
    timestamp.system_time().map(clock::rfc3339)
}

/// Why it is in doubt: the cause with which the call ended, or what else came between.
fn word(doubt: Doubt) -> &'static str {
    match doubt {
        Doubt::Ended(cause) => cause.as_str(),
        Doubt::Interrupted | Doubt::RejectedLater => doubt.as_str(),
    }
}

/// Why an operator's word changes nothing.
pub fn refused(refusal: Refusal) -> Fault {
    let (status, reason) = match refusal {
        Refusal::Absent => (StatusCode::NOT_FOUND, "absent"),
        Refusal::NotInDoubt(_) => (StatusCode::CONFLICT, "not_in_doubt"),
        Refusal::InProgress => (StatusCode::CONFLICT, "in_progress"),
        Refusal::NeedsConsent => (StatusCode::CONFLICT, "needs_consent"),
    };
    let message = match refusal {
        // The text of the ledger is for the command line.
        Refusal::NeedsConsent => {
            "this key is in doubt: forgotten, its command may run again; say so with `may_run_again`"
                .to_owned()
        }
        other => other.to_string(),
    };
    Fault { data: json!({ "reason": reason }), ..Fault::new(status, INVALID_REQUEST, message) }
}

/// The store does not answer a question.
pub fn closed(closed: Closed) -> Fault {
    unavailable(format!("the keys cannot be read: {}", closed.whole()))
}

/// The store does not say whether it has changed a key.
pub fn unclear(closed: Closed) -> Fault {
    let reason = closed.whole();
    unavailable(format!("{reason}; whether the key was changed is not known, look at it before you go on"))
}

fn unavailable(message: String) -> Fault {
    let data = json!({ "reason": "store_unavailable" });
    Fault { data, ..Fault::new(StatusCode::SERVICE_UNAVAILABLE, INTERNAL_ERROR, message) }
}

/// A bug of ours ended what was to change a key.
pub fn died() -> Fault {
    unclear(Closed::since("the connector failed"))
}

/// The answer. What the store says of a key is an answer as well, and is not counted as a refusal.
pub fn failed(fault: Fault) -> Response<Body> {
    match fault.status {
        StatusCode::NOT_FOUND | StatusCode::CONFLICT | StatusCode::SERVICE_UNAVAILABLE => fault.answer(),
        _ => fault.response(),
    }
}
