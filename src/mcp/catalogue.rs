//! `tools/list`: the tools, in a fixed order, with hand-written schemas.
//!
//! Everything here is built once. No exotic `format`, no `$ref`, `additionalProperties: false`: every client's validator
//! reads it without a warning.

use std::sync::{Arc, LazyLock};

use rmcp::model::{JsonObject, Tool as Listed, ToolAnnotations};
use serde_json::{Value, json};

use super::tool::request::timeout_seconds_default;
use crate::domain::{Cause, Kind, Outcome, Retry, Tool};

static TOOLS: LazyLock<Vec<Listed>> = LazyLock::new(|| Tool::ALL.into_iter().map(listed).collect());
static COMMAND_OUTPUT: LazyLock<Arc<JsonObject>> = LazyLock::new(|| object(command_output()));

/// The tools in the order of `tools/list`: queries before commands.
pub fn tools() -> &'static [Listed] {
    &TOOLS
}

/// What `structuredContent` of a command looks like, success and failure alike.
pub fn command_output_schema() -> Arc<JsonObject> {
    Arc::clone(&COMMAND_OUTPUT)
}

fn listed(tool: Tool) -> Listed {
    let input = object(input(tool.kind()));
    match tool {
        Tool::QuerySend => Listed::new(
            tool.as_str(),
            "Ask a service behind KubeMQ for data and wait for its answer. Only reads; safe to repeat. The answer is the \
             responder's payload, often JSON. With no responder on the channel the call ends with a timeout.",
            input,
        )
        .with_title("Send a query")
        .with_annotations(
            ToolAnnotations::with_title("Send a query")
                .read_only(true)
                .destructive(false)
                .idempotent(true)
                .open_world(true),
        ),
        Tool::CommandSend => Listed::new(
            tool.as_str(),
            "Tell a service behind KubeMQ to do something and wait until it says that it did. Causes an effect. The \
             result says what became of the effect: `executed` is true, false, or null when nobody can say. After null, \
             look before you send it again: it may have happened.",
            input,
        )
        .with_title("Send a command")
        .with_raw_output_schema(command_output_schema())
        .with_annotations(
            ToolAnnotations::with_title("Send a command")
                .read_only(false)
                .destructive(true)
                .idempotent(false)
                .open_world(true),
        ),
    }
}

fn input(kind: Kind) -> Value {
    let default = timeout_seconds_default(kind);
    json!({
        "type": "object",
        "properties": {
            "channel": {
                "type": "string", "minLength": 1, "maxLength": 256,
                "description": "Target channel, for example 'orders.create'. One exact name, no wildcards. Cannot start \
                                with the reserved `_AGENTS_.` prefix, nor with `kubemq.cluster.internal.`."
            },
            "body": { "type": "string", "description": "Request payload sent to the responder, often JSON." },
            "metadata": { "type": "string", "description": "Optional metadata string carried alongside the body." },
            "tags": {
                "type": "object", "additionalProperties": { "type": "string" },
                "description": "Optional string key/value tags attached to the request."
            },
            "timeout_seconds": {
                "type": "integer", "minimum": 1, "default": default,
                "description": format!("Seconds to wait for a reply (default {default}). More than 300 is capped at 300.")
            }
        },
        "required": ["channel", "body"],
        "additionalProperties": false
    })
}

fn command_output() -> Value {
    let words = |all: Vec<&'static str>| all;
    json!({
        "type": "object",
        "properties": {
            "outcome": {
                "enum": words(Outcome::ALL.iter().map(|outcome| outcome.as_str()).collect()),
                "description": "What is known of the effect."
            },
            "executed": { "type": ["boolean", "null"], "description": "Whether the effect happened; null: nobody can say." },
            "cause": { "enum": causes(), "description": "Why the call ended." },
            "channel": { "type": ["string", "null"] },
            "request_id": { "type": ["string", "null"], "description": "The id the responder saw." },
            "replayed": { "type": "boolean", "description": "Whether this is the stored result of an earlier call." },
            "retry": {
                "enum": words(Retry::ALL.iter().map(|retry| retry.as_str()).collect()),
                "description": "What to do next: nothing, call again, ask again with the same key, use a new key, mend \
                                the call first, or look first whether it happened."
            },
            "timeout_seconds": { "type": ["integer", "null"], "description": "The timeout that applied." },
            "timeout_capped": { "type": "boolean", "description": "Whether more was asked for than applied." },
            "elapsed_ms": { "type": "integer", "minimum": 0 },
            "attempt": { "type": "integer", "minimum": 0, "description": "How often it was sent so far." },
            "recorded": {
                "type": "boolean",
                "description": "Whether a retry with the same key will be told this outcome; false without a key."
            },
            "responder": { "type": ["string", "null"], "description": "The client id of the responder." },
            "tags": { "type": "object", "additionalProperties": { "type": "string" } },
            "first_sent_at": { "type": ["string", "null"], "description": "RFC 3339, UTC." },
            "expires_at": { "type": ["string", "null"], "description": "When the key is forgotten; RFC 3339, UTC." },
            "detail": { "type": ["string", "null"], "description": "The responder's or the connector's own words." },
            "retry_after_seconds": { "type": "integer", "minimum": 1 }
        },
        "required": [
            "outcome", "executed", "cause", "channel", "request_id", "replayed", "retry", "timeout_seconds",
            "timeout_capped", "elapsed_ms", "attempt", "recorded", "responder", "tags", "first_sent_at", "expires_at",
            "detail"
        ],
        "additionalProperties": false
    })
}

fn causes() -> Vec<&'static str> {
    let mut words: Vec<&'static str> = Cause::ALL.iter().map(|cause| cause.as_str()).collect();
    // Two causes share the word `internal`, and an enum names each value once.
    words.dedup();
    words
}

fn object(schema: Value) -> Arc<JsonObject> {
    match schema {
        Value::Object(object) => Arc::new(object),
        _ => unreachable!("every schema above is an object"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_stand_before_commands_with_honest_annotations() {
        let names: Vec<&str> = tools().iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!(names, ["query_send", "command_send"]);
        for tool in tools() {
            let annotations = serde_json::to_value(tool.annotations.as_ref().unwrap()).unwrap();
            let reads = tool.name == "query_send";
            assert_eq!(annotations["readOnlyHint"], reads);
            assert_eq!(annotations["destructiveHint"], !reads);
            assert_eq!(annotations["openWorldHint"], true);
        }
    }

    #[test]
    fn every_schema_is_valid_2020_12_and_closed() {
        for tool in tools() {
            let schemas = [Some(&tool.input_schema), tool.output_schema.as_ref()];
            for schema in schemas.into_iter().flatten() {
                let value = Value::Object((**schema).clone());
                jsonschema::draft202012::meta::validate(&value).unwrap();
                assert_eq!(value["additionalProperties"], false);
                let text = value.to_string();
                assert!(!text.contains("\"format\"") && !text.contains("$ref"));
            }
        }
    }
}
