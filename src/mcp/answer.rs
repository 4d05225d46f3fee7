//! The one mapping from what became of a call to the answer an agent reads.
//!
//! The first text is the published one where there is one. When a command did not end in `executed`, a second text says
//! whether its effect may have happened. Everything a program needs is in `structuredContent` (command) or `_meta` (query).

use base64::Engine;
use rmcp::model::{CallToolResult, ContentBlock, MetaObject, ResourceContents};
use serde_json::{Map, Value, json};

use super::Report;
use crate::clock;
use crate::domain::{Cause, Kind, Outcome, Reply, Sent};

/// The member of a query's `_meta` that holds what is known beside its body.
pub const QUERY_META: &str = "dev.kubemq-mcp/query";

/// Longest piece of a responder's or the broker's text that an error repeats, in characters.
const FOREIGN_TEXT_CHARACTERS_MAX: usize = 2_000;

/// Builds the answer of a call.
pub fn answer(report: Report) -> CallToolResult {
    match report.tool.kind() {
        Kind::Command => command(&report),
        Kind::Query => query(report),
    }
}

fn command(report: &Report) -> CallToolResult {
    let mut content = vec![ContentBlock::text(first_text(report))];
    if let Some(text) = second_text(report) {
        content.push(ContentBlock::text(text));
    }
    let mut result = match report.outcome() {
        Outcome::Executed => CallToolResult::success(content),
        Outcome::Rejected | Outcome::Unknown | Outcome::NotSent => CallToolResult::error(content),
    };
    result.structured_content = Some(structured(report));
    result
}

fn query(mut report: Report) -> CallToolResult {
    let mut meta = MetaObject::new();
    meta.insert(QUERY_META.to_owned(), query_meta(&report));
    let body = match report.cause() {
        Cause::Completed => report.reply.take().map(|reply| reply.body),
        _ => None,
    };
    let mut result = match body {
        Some(body) => CallToolResult::success(vec![payload(body, &report)]),
        None => CallToolResult::error(vec![ContentBlock::text(first_text(&report))]),
    };
    result.meta = Some(meta);
    result
}

/// The responder's body, byte for byte: as text when it is UTF-8, otherwise as an embedded resource in base64.
fn payload(body: Vec<u8>, report: &Report) -> ContentBlock {
    match String::from_utf8(body) {
        Ok(text) => ContentBlock::text(text),
        Err(error) => {
            let id = report.request_id.as_ref().map_or("", |id| id.as_str());
            let uri = format!("kubemq://queries/{}/{id}", report.channel_text());
            let blob = base64::engine::general_purpose::STANDARD.encode(error.as_bytes());
            let resource = ResourceContents::blob(blob, uri).with_mime_type("application/octet-stream");
            ContentBlock::resource(resource)
        }
    }
}

fn first_text(report: &Report) -> String {
    let channel = report.channel_text();
    let kind = report.tool.kind();
    let (word, noun) = match kind {
        Kind::Command => ("Command", "command"),
        Kind::Query => ("Query", "query"),
    };
    let detail = foreign(&report.ending.detail);
    match report.cause() {
        Cause::Completed => format!("{word} executed successfully on channel '{channel}'"),
        Cause::TimedOut => {
            let seconds = report.timeout.map_or(0, crate::domain::Timeout::seconds);
            format!("{word} timed out: no subscriber on channel '{channel}' within {seconds}s")
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
            format!("{word} on channel '{channel}' was not sent: {} may not do this", report.principal)
        }
        Cause::RateLimited | Cause::Overloaded => {
            format!("{word} on channel '{channel}' was not sent: {detail}")
        }
        Cause::KeyConflict => {
            format!("{word} on channel '{channel}' was not sent: this key belongs to another command")
        }
        Cause::StoreUnavailable | Cause::StoreFull | Cause::AuditUnavailable => {
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
fn second_text(report: &Report) -> Option<String> {
    let text = match (report.outcome(), report.cause()) {
        (Outcome::Executed, _) if report.ending.detail.is_empty() => return None,
        (Outcome::Executed, _) => {
            return Some(format!(
                "The responder executed it and added an error text: {}",
                foreign(&report.ending.detail)
            ));
        }
        (Outcome::Rejected, _) => {
            "The effect did not happen: the responder refused the command. A new attempt needs a new idempotency key."
        }
        (Outcome::Unknown, Cause::TimedOut) => {
            "The effect may have happened: a slow responder looks the same as none. Look before you send it again; with \
             an idempotency key, keep that key for this one effect."
        }
        (Outcome::Unknown, Cause::InProgress) => {
            "The effect may have happened or may still happen: ask again with the same idempotency key, it is never sent \
             twice."
        }
        (Outcome::Unknown, _) => {
            "The effect may have happened: the command left and its end is unknown. Look before you send it again; with \
             an idempotency key, keep that key for this one effect."
        }
        (Outcome::NotSent, Cause::RateLimited | Cause::Overloaded) => {
            let seconds = report.retry_after.map_or(1, |wait| wait.as_secs().max(1));
            return Some(format!(
                "The effect did not happen: nothing was sent. Call again after {seconds}s, with the same idempotency key \
                 if there was one."
            ));
        }
        (
            Outcome::NotSent,
            Cause::InvalidArguments | Cause::ReservedChannel | Cause::BrokerRefused | Cause::KeyConflict,
        ) => "The effect did not happen: nothing was executed. Mend the call before you send it again.",
        (Outcome::NotSent, Cause::Forbidden) => {
            "The effect did not happen: nothing was sent. Calling again will not change that."
        }
        (Outcome::NotSent, _) => {
            "The effect did not happen: nothing was sent. Call again, with the same idempotency key if there was one."
        }
    };
    Some(text.to_owned())
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
    put("executed", json!(cause.executed()));
    put("cause", cause.as_str().into());
    put("channel", json!(report.channel));
    put("request_id", json!(report.request_id.as_ref().map(crate::domain::RequestId::as_str)));
    put("replayed", false.into());
    put("retry", cause.retry().as_str().into());
    put("timeout_seconds", json!(report.timeout.map(crate::domain::Timeout::seconds)));
    put("timeout_capped", report.timeout.is_some_and(crate::domain::Timeout::is_capped).into());
    put("elapsed_ms", elapsed_ms(report));
    put("attempt", u32::from(report.first_sent_at.is_some()).into());
    put("recorded", report.recorded.into());
    put("responder", json!(reply.map(|reply| reply.responder.as_str())));
    put("tags", json!(reply.map(|reply| &reply.tags).cloned().unwrap_or_default()));
    put("first_sent_at", json!(report.first_sent_at.map(clock::rfc3339)));
    put("expires_at", Value::Null);
    put("detail", detail(report));
    if let Some(wait) = report.retry_after {
        put("retry_after_seconds", wait.as_secs().max(1).into());
    }
    Value::Object(fields)
}

fn query_meta(report: &Report) -> Value {
    let mut meta = json!({
        "cause": report.cause().as_str(),
        "retry": report.cause().retry().as_str(),
        "channel": report.channel,
        "request_id": report.request_id.as_ref().map(crate::domain::RequestId::as_str),
        "elapsed_ms": elapsed_ms(report),
        "timeout_seconds": report.timeout.map(crate::domain::Timeout::seconds),
        "timeout_capped": report.timeout.is_some_and(crate::domain::Timeout::is_capped),
        "detail": detail(report),
    });
    if let Some(Reply { responder, metadata, tags, cache_hit, .. }) = &report.reply {
        meta["responder"] = json!(responder);
        meta["metadata"] = json!(metadata);
        meta["tags"] = json!(tags);
        meta["cache_hit"] = json!(cache_hit);
    }
    if let Some(wait) = report.retry_after {
        meta["retry_after_seconds"] = wait.as_secs().max(1).into();
    }
    meta
}

fn detail(report: &Report) -> Value {
    if report.ending.detail.is_empty() { Value::Null } else { foreign(&report.ending.detail).into() }
}

fn elapsed_ms(report: &Report) -> Value {
    u64::try_from(report.elapsed.as_millis()).unwrap_or(u64::MAX).into()
}

/// A text that others wrote, fit for an error: bounded, and without control characters.
fn foreign(text: &str) -> String {
    let mut shown: String = text
        .chars()
        .take(FOREIGN_TEXT_CHARACTERS_MAX)
        .map(|character| if character.is_control() { ' ' } else { character })
        .collect();
    if text.chars().nth(FOREIGN_TEXT_CHARACTERS_MAX).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;
    use crate::domain::{Ending, Principal, RequestId, Timeout, Tool};
    use crate::mcp::catalogue;

    fn report(tool: Tool, cause: Cause) -> Report {
        let sent = cause.outcome() != Outcome::NotSent;
        Report {
            request_id: Some(RequestId::from("id-1")),
            timeout: Some(Timeout::capped_at(10, 300).unwrap()),
            elapsed: Duration::from_millis(12),
            first_sent_at: sent.then_some(UNIX_EPOCH),
            ..Report::refused(
                Principal::anonymous(),
                tool,
                Some("orders".into()),
                Ending::new(cause, "the detail"),
            )
        }
    }

    fn texts(result: &CallToolResult) -> Vec<String> {
        result.content.iter().filter_map(|block| block.as_text()).map(|text| text.text.clone()).collect()
    }

    #[test]
    fn the_published_texts_are_said_to_the_letter() {
        let text = |tool, cause| texts(&answer(report(tool, cause))).remove(0);
        assert_eq!(
            text(Tool::CommandSend, Cause::Completed),
            "Command executed successfully on channel 'orders'"
        );
        assert_eq!(
            text(Tool::CommandSend, Cause::TimedOut),
            "Command timed out: no subscriber on channel 'orders' within 10s"
        );
        assert_eq!(
            text(Tool::QuerySend, Cause::TimedOut),
            "Query timed out: no subscriber on channel 'orders' within 10s"
        );
        assert_eq!(
            text(Tool::CommandSend, Cause::Rejected),
            "Command rejected on channel 'orders': the detail"
        );
        assert_eq!(text(Tool::QuerySend, Cause::Rejected), "Query rejected on channel 'orders': the detail");
        assert_eq!(text(Tool::QuerySend, Cause::ReservedChannel), "Channel 'orders' uses a reserved prefix");
    }

    #[test]
    fn every_cause_of_a_command_fits_the_published_schema() {
        let schema = Value::Object((*catalogue::command_output_schema()).clone());
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        for cause in Cause::ALL {
            let result = answer(report(Tool::CommandSend, cause));
            let structured = result.structured_content.clone().unwrap();
            let problems: Vec<String> =
                validator.iter_errors(&structured).map(|error| error.to_string()).collect();
            assert!(problems.is_empty(), "{cause:?}: {problems:?}");
            assert_eq!(result.is_error, Some(cause != Cause::Completed), "{cause:?}");
            // One sentence about the effect, on every failure.
            if cause != Cause::Completed {
                assert_eq!(texts(&result).len(), 2, "{cause:?}");
            }
        }
    }

    #[test]
    fn a_query_is_answered_byte_for_byte() {
        let completed = |body: &[u8]| {
            let mut report = report(Tool::QuerySend, Cause::Completed);
            report.reply = Some(Reply { executed: true, body: body.to_vec(), ..Reply::default() });
            answer(report)
        };
        let result = completed(" {\"a\":1}\n\u{0}".as_bytes());
        assert_eq!(texts(&result), [" {\"a\":1}\n\u{0}"]);
        assert_eq!((result.is_error, result.structured_content.is_none()), (Some(false), true));
        let binary = serde_json::to_value(completed(&[0xff, 0x00, 0x80])).unwrap();
        assert_eq!(binary["content"][0]["type"], "resource");
        assert_eq!(binary["content"][0]["resource"]["blob"], "/wCA");
    }

    #[test]
    fn a_foreign_text_is_bounded_and_loses_its_control_characters() {
        let mut report = report(Tool::CommandSend, Cause::Rejected);
        report.ending.detail = format!("bad\u{1b}[31m\n{}", "x".repeat(5_000));
        let text = texts(&answer(report)).remove(0);
        assert!(!text.chars().any(char::is_control));
        assert!(text.chars().count() < 2_100);
    }
}
