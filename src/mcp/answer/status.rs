//! The answer of `command_status`: what is known of a key.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

use crate::clock;
use crate::domain::{Cause, plain};
use crate::idempotency::{Record, Resolution, State, StateName, Timestamp};
use crate::mcp::{Report, Status};

pub(super) fn status(report: &Report) -> CallToolResult {
    let Some(status) = &report.status else { return failure(report) };
    let (text, structured) = match status {
        Status::Absent => (
            "absent: this key was never used, or has expired; that does not say that its command did not run"
                .to_owned(),
            fields(status.state(), None),
        ),
        Status::Known(record) => (sentence(record), fields(status.state(), Some(record))),
    };
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(structured);
    result
}

fn failure(report: &Report) -> CallToolResult {
    let detail = plain(&report.ending.detail);
    let text = match report.cause() {
        Cause::InvalidArguments => format!("Invalid arguments for {}: {detail}", report.tool.as_str()),
        _ => format!("The status of this key cannot be read: {detail}"),
    };
    let text = match report.retry_after {
        Some(wait) => format!("{text}. Ask again after {}s", wait.as_secs().max(1)),
        None => text,
    };
    CallToolResult::error(vec![ContentBlock::text(text)])
}

fn sentence(record: &Record) -> String {
    let (state, channel) = (record.state_name(), &record.channel);
    let sent = time(Some(record.first_seen)).unwrap_or_default();
    let end = match state {
        StateName::InProgress => "still runs".to_owned(),
        StateName::Executed | StateName::Rejected if resolution(record).is_some() => {
            let did = if state == StateName::Executed { "was executed" } else { "was not executed" };
            let (by, why) = resolution(record)
                .map(|resolution| (plain(&resolution.by), plain(&resolution.why)))
                .unwrap_or_default();
            format!("{did}, as the operator {by} has found out: {why}")
        }
        StateName::Executed => "was executed".to_owned(),
        StateName::Rejected => match &record.state {
            State::Settled(settlement) if !settlement.error.is_empty() => {
                format!("was rejected: {}", plain(&settlement.error))
            }
            _ => "was rejected".to_owned(),
        },
        StateName::InDoubt => {
            let detail = crate::idempotency::ending_of(record).detail;
            format!("may have been executed: {}; look before you send it again", plain(&detail))
        }
    };
    format!("{}: the command on channel '{channel}', first sent at {sent}, {end}", state.as_str())
}

/// The operator's word, when that settled it.
fn resolution(record: &Record) -> Option<&Resolution> {
    match &record.state {
        State::Settled(settlement) => settlement.resolved.as_ref(),
        State::InProgress | State::InDoubt => None,
    }
}

/// `structuredContent`; `catalogue::status_output_schema` describes it.
fn fields(state: &str, record: Option<&Record>) -> Value {
    let settlement = record.and_then(|record| match &record.state {
        State::Settled(settlement) => Some(settlement),
        State::InProgress | State::InDoubt => None,
    });
    let resolution = record.and_then(resolution);
    // Nobody has answered what an operator has settled.
    let answered = settlement.filter(|settlement| settlement.resolved.is_none());
    let executed = match record.map(Record::state_name) {
        Some(StateName::Executed) => Some(true),
        Some(StateName::Rejected) => Some(false),
        Some(StateName::InProgress | StateName::InDoubt) | None => None,
    };
    json!({
        "state": state,
        "executed": executed,
        "channel": record.map(|record| record.channel.as_str()),
        "request_id": record.map(|record| record.request_id.as_str()),
        "attempts": record.map_or(0, |record| record.attempt),
        "first_sent_at": time(record.map(|record| record.first_seen)),
        "in_doubt_since": time(record.and_then(|record| record.doubt).map(|(since, _)| since)),
        "ended_at": time(settlement.map(|settlement| settlement.at)),
        "expires_at": time(record.and_then(Record::expires)),
        "responder": answered.map(|settlement| settlement.responder.as_str()),
        "resolved_by": resolution.map(|resolution| plain(&resolution.by)),
        "resolved_why": resolution.map(|resolution| plain(&resolution.why)),
        "detail": record.map(|record| crate::idempotency::ending_of(record).detail)
            .filter(|detail| !detail.is_empty()).map(|detail| plain(&detail)),
    })
}

fn time(timestamp: Option<Timestamp>) -> Option<String> {
    timestamp.and_then(Timestamp::system_time).map(clock::rfc3339)
}
