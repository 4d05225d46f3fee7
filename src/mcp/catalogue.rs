//! `tools/list`: the tools, in a fixed order, with hand-written schemas.
//!
//! Everything here is built once. No exotic `format`, no `$ref`, `additionalProperties: false`: every client's validator
//! reads it without a warning.

use std::sync::{Arc, LazyLock};

use rmcp::model::{JsonObject, Tool as Listed, ToolAnnotations};
use serde_json::{Value, json};

use super::Status;
use super::tool::argument::IDEMPOTENCY_KEY;
use super::tool::request::timeout_seconds_default;
use crate::domain::{Cause, KEY_CHARACTERS_MAX, Kind, Outcome, Retry, Tool};
use crate::idempotency::StateName;

/// Whether every command needs an idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// It may have one.
    Optional,
    /// It must have one, so that calling it again has no further effect.
    Mandatory,
}

static WITH_OPTIONAL_KEYS: LazyLock<Vec<Listed>> = LazyLock::new(|| all(Keys::Optional));
static WITH_MANDATORY_KEYS: LazyLock<Vec<Listed>> = LazyLock::new(|| all(Keys::Mandatory));
static COMMAND_OUTPUT: LazyLock<Arc<JsonObject>> = LazyLock::new(|| object(command_output()));
static STATUS_OUTPUT: LazyLock<Arc<JsonObject>> = LazyLock::new(|| object(status_output()));

/// The tools in the order of `tools/list`: queries before commands.
pub fn tools(keys: Keys) -> &'static [Listed] {
    match keys {
        Keys::Optional => &WITH_OPTIONAL_KEYS,
        Keys::Mandatory => &WITH_MANDATORY_KEYS,
    }
}

/// What `structuredContent` of a command looks like, success and failure alike.
pub fn command_output_schema() -> Arc<JsonObject> {
    Arc::clone(&COMMAND_OUTPUT)
}

/// What `structuredContent` of `command_status` looks like.
pub fn status_output_schema() -> Arc<JsonObject> {
    Arc::clone(&STATUS_OUTPUT)
}

fn all(keys: Keys) -> Vec<Listed> {
    Tool::ALL.into_iter().map(|tool| listed(tool, keys)).collect()
}

fn listed(tool: Tool, keys: Keys) -> Listed {
    match tool {
        Tool::QuerySend => Listed::new(
            tool.as_str(),
            "Ask a service behind KubeMQ for data and wait for its answer. Only reads; safe to repeat. The answer is the \
             responder's payload, often JSON. With no responder on the channel the call ends with a timeout.",
            object(input(Kind::Query)),
        )
        .with_title("Send a query")
        .with_annotations(reads("Send a query")),
        Tool::CommandStatus => Listed::new(
            tool.as_str(),
            "Ask what is known of an earlier command by its idempotency key: in_progress, executed, rejected, in_doubt, \
             or absent (never used or expired, which does not say that it did not run). Sends nothing.",
            object(status_input()),
        )
        .with_title("Look up a command")
        .with_raw_output_schema(status_output_schema())
        .with_annotations(reads("Look up a command")),
        Tool::CommandSend => Listed::new(
            tool.as_str(),
            "Tell a service behind KubeMQ to do something and wait until it says that it did. Causes an effect. The \
             result says what became of the effect: `executed` is true, false, or null when nobody can say. After null, \
             look before you send it again: it may have happened.",
            object(command_input(keys)),
        )
        .with_title("Send a command")
        .with_raw_output_schema(command_output_schema())
        .with_annotations(
            ToolAnnotations::with_title("Send a command")
                .read_only(false)
                .destructive(true)
                .idempotent(keys == Keys::Mandatory)
                .open_world(true),
        ),
    }
}

fn reads(title: &str) -> ToolAnnotations {
    ToolAnnotations::with_title(title).read_only(true).destructive(false).idempotent(true).open_world(true)
}

fn key() -> Value {
    json!({
        "type": "string", "minLength": 1, "maxLength": KEY_CHARACTERS_MAX,
        "description": "Names one intended effect: a fresh one, such as a UUID, for each effect, and the same one on every \
                        retry of it. A key is sent at most once; a retry is told what the first call did, until \
                        `expires_at`, after which the key is new again."
    })
}

fn command_input(keys: Keys) -> Value {
    let mut schema = input(Kind::Command);
    schema["properties"][IDEMPOTENCY_KEY] = key();
    if keys == Keys::Mandatory {
        schema["required"] = json!(["channel", "body", IDEMPOTENCY_KEY]);
    }
    schema
}

fn status_input() -> Value {
    let mut properties = json!({});
    properties[IDEMPOTENCY_KEY] = json!({
        "type": "string", "minLength": 1, "maxLength": KEY_CHARACTERS_MAX,
        "description": "The key that the command was sent with."
    });
    json!({
        "type": "object", "properties": properties, "required": [IDEMPOTENCY_KEY], "additionalProperties": false
    })
}

fn status_output() -> Value {
    let states: Vec<&str> =
        StateName::ALL.iter().map(|state| state.as_str()).chain([Status::ABSENT]).collect();
    let time = |description: &str| json!({ "type": ["string", "null"], "description": description });
    json!({
        "type": "object",
        "properties": {
            "state": { "enum": states, "description": "What is known of the key." },
            "executed": { "type": ["boolean", "null"], "description": "Whether the effect happened; null: nobody can say." },
            "channel": { "type": ["string", "null"] },
            "request_id": { "type": ["string", "null"], "description": "The id the responder saw." },
            "attempts": { "type": "integer", "minimum": 0, "description": "How often it was sent so far." },
            "first_sent_at": time("RFC 3339, UTC."),
            "in_doubt_since": time("Since when it is, or was, in doubt."),
            "ended_at": time("When its end was recorded."),
            "expires_at": time("When the key is forgotten."),
            "responder": { "type": ["string", "null"], "description": "The client id of the responder." },
            "resolved_by": { "type": ["string", "null"], "description": "The operator who settled it." },
            "resolved_why": { "type": ["string", "null"], "description": "How that operator knows." },
            "detail": { "type": ["string", "null"], "description": "The responder's or the connector's own words." }
        },
        "required": [
            "state", "executed", "channel", "request_id", "attempts", "first_sent_at", "in_doubt_since", "ended_at",
            "expires_at", "responder", "resolved_by", "resolved_why", "detail"
        ],
        "additionalProperties": false
    })
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
            "result_truncated": {
                "type": "boolean", "description": "Whether the replayed result lacks tags that were too large to be kept."
            },
            "resolved_by": { "type": "string", "description": "The operator who settled it, when nobody else did." },
            "resolved_why": { "type": "string", "description": "How that operator knows." },
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
        for keys in [Keys::Optional, Keys::Mandatory] {
            let names: Vec<&str> = tools(keys).iter().map(|tool| tool.name.as_ref()).collect();
            assert_eq!(names, ["query_send", "command_status", "command_send"]);
            for tool in tools(keys) {
                let annotations = serde_json::to_value(tool.annotations.as_ref().unwrap()).unwrap();
                let reads = tool.name != "command_send";
                assert_eq!(annotations["readOnlyHint"], reads);
                assert_eq!(annotations["destructiveHint"], !reads);
                assert_eq!(annotations["idempotentHint"], reads || keys == Keys::Mandatory);
                assert_eq!(annotations["openWorldHint"], true);
            }
        }
    }

    #[test]
    fn a_key_is_in_the_schema_with_its_bounds_and_required_where_it_is_mandatory() {
        for (keys, required) in [(Keys::Optional, false), (Keys::Mandatory, true)] {
            let schema = Value::Object((*tools(keys)[2].input_schema).clone());
            let key = &schema["properties"]["idempotency_key"];
            assert_eq!((&key["minLength"], &key["maxLength"]), (&json!(1), &json!(128)));
            let names = schema["required"].as_array().unwrap();
            assert_eq!(names.contains(&json!("idempotency_key")), required);
        }
    }

    #[test]
    fn every_schema_is_valid_2020_12_and_closed() {
        for tool in tools(Keys::Optional).iter().chain(tools(Keys::Mandatory)) {
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
