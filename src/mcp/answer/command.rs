//! The answer of a command: its texts, and everything a program needs in `structuredContent`.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value, json};

use super::text::{first_text, replay_text, second_text};
use super::{detail, elapsed_ms};
use crate::clock;
use crate::domain::{Outcome, RequestId, Timeout, plain};
use crate::mcp::Report;

pub(super) fn command(report: &Report) -> CallToolResult {
    let mut content = vec![ContentBlock::text(first_text(report))];
    if let Some(text) = second_text(report) {
        content.push(ContentBlock::text(text));
    }
    if let Some(text) = replay_text(report) {
        content.push(ContentBlock::text(text));
    }
    let mut result = match report.outcome() {
        Outcome::Executed => CallToolResult::success(content),
        Outcome::Rejected | Outcome::Unknown | Outcome::NotSent => CallToolResult::error(content),
    };
    result.structured_content = Some(structured(report));
    result
}

/// The published shape of `structuredContent`; `catalogue::command_output_schema` describes it.
fn structured(report: &Report) -> Value {
    let cause = report.cause();
    let reply = report.reply.as_ref();
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| {
        fields.insert(name.to_owned(), value);
    };
    put("outcome", report.outcome().as_str().into());
    put("executed", json!(report.executed()));
    put("cause", cause.as_str().into());
    put("channel", json!(report.channel));
    put("request_id", json!(report.request_id.as_ref().map(RequestId::as_str)));
    put("replayed", report.memory.replayed.into());
    put("retry", cause.retry().as_str().into());
    put("timeout_seconds", json!(report.timeout.map(Timeout::seconds)));
    put("timeout_capped", report.timeout.is_some_and(Timeout::is_capped).into());
    put("elapsed_ms", elapsed_ms(report));
    put("attempt", report.attempt().into());
    put("recorded", report.memory.recorded.into());
    // Nobody has answered what an operator has settled.
    let answered = reply.filter(|_| report.memory.resolved.is_none());
    put("responder", json!(answered.map(|reply| reply.responder.as_str())));
    put("tags", json!(reply.map(|reply| &reply.tags).cloned().unwrap_or_default()));
    put("first_sent_at", json!(report.first_sent_at.map(clock::rfc3339)));
    put("expires_at", json!(report.memory.expires_at.map(clock::rfc3339)));
    put("detail", detail(report));
    if report.memory.truncated {
        put("result_truncated", true.into());
    }
    if let Some(resolution) = &report.memory.resolved {
        put("resolved_by", plain(&resolution.by).into());
        put("resolved_why", plain(&resolution.why).into());
    }
    if let Some(wait) = report.retry_after {
        put("retry_after_seconds", wait.as_secs().max(1).into());
    }
    Value::Object(fields)
}
