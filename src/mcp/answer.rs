//! The one mapping from what became of a call to the answer an agent reads.
//!
//! The first text is the published one where there is one. When a command did not end in `executed`, a second text says
//! whether its effect may have happened. Everything a program needs is in `structuredContent` (command) or `_meta` (query).

mod command;
mod status;
#[cfg(test)]
mod tests;
mod text;

use base64::Engine;
use rmcp::model::{CallToolResult, ContentBlock, MetaObject, ResourceContents};
use serde_json::{Value, json};

use super::Report;
use crate::domain::{Cause, Reply, Tool, plain};
use text::first_text;

/// The member of a query's `_meta` that holds what is known beside its body.
pub const QUERY_META: &str = "dev.kubemq-mcp/query";

/// Builds the answer of a call.
pub fn answer(report: Report) -> CallToolResult {
    match report.tool {
        Tool::CommandSend => command::command(&report),
        Tool::QuerySend => query(report),
        Tool::CommandStatus => status::status(&report),
    }
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
    if report.ending.detail.is_empty() { Value::Null } else { plain(&report.ending.detail).into() }
}

fn elapsed_ms(report: &Report) -> Value {
    u64::try_from(report.elapsed.as_millis()).unwrap_or(u64::MAX).into()
}
