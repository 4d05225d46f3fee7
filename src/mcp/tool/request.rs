//! The arguments of `query_send` and `command_send`: the published ones, and the idempotency key of a command.
//!
//! Everything wrong with a call is said at once, so that an agent mends it in one step.

use serde_json::{Map, Value};

use super::argument::{self, clipped, shown};
use super::key::{KeyArgument, KeyOfRefused};
use crate::access::Bounds;
use crate::domain::{Cause, Channel, ChannelError, Ending, Kind, Request, RequestId, Tags, Timeout, Tool};
use crate::mcp::call::Keyed;
use crate::mcp::config::{ChannelRule, Config, Terms, terms};

/// The arguments of `query_send`, in the order of the published table.
const QUERY_ARGUMENTS: [&str; 5] = ["channel", "body", "metadata", "tags", "timeout_seconds"];

/// The arguments of `command_send`: the published ones, and ours.
const COMMAND_ARGUMENTS: [&str; 6] =
    ["channel", "body", "metadata", "tags", "timeout_seconds", argument::IDEMPOTENCY_KEY];

/// The published default of `timeout_seconds`.
pub fn timeout_seconds_default(kind: Kind) -> u64 {
    match kind {
        Kind::Command => 10,
        Kind::Query => 30,
    }
}

/// A call that can be sent.
#[derive(Debug, PartialEq)]
pub struct Parsed {
    /// What goes to the responder, the tag with the key included.
    pub request: Request,
    /// The key, when there is one.
    pub keyed: Option<Keyed>,
}

/// A call that cannot be sent: the channel as far as it was written, and why.
#[derive(Debug, PartialEq)]
pub struct Refusal {
    /// The channel as the agent wrote it, clipped.
    pub channel: Option<String>,
    /// `invalid_arguments` or `reserved_channel`.
    pub ending: Ending,
    /// The key that came with it.
    pub key: KeyOfRefused,
    /// The time it would have had; `None` when the arguments named none that is valid.
    pub timeout: Option<Timeout>,
}

/// Reads the arguments of a call.
///
/// # Errors
/// Names every argument that is wrong, with its rule, what came, and what would be right.
pub fn parse(
    tool: Tool,
    arguments: Option<Map<String, Value>>,
    config: &Config,
    rules: &[ChannelRule],
    bounds: Bounds,
) -> Result<Parsed, Refusal> {
    let body_bytes_max =
        bounds.body_bytes_max.map_or(config.body_bytes_max, |bound| bound.min(config.body_bytes_max));
    let mut arguments = arguments.unwrap_or_default();
    let mut problems = Vec::new();
    let kind = tool.kind();

    // Before anything is judged: a limit that was changed since must not hide what the first call did.
    let key = KeyArgument::take(tool, &mut arguments, &mut problems);
    let written = argument::take(&mut arguments, "channel");
    let channel_text = written.as_ref().and_then(Value::as_str).map(clipped);
    let channel = match channel(written) {
        Ok(channel) => Some(channel),
        Err(ChannelProblem::Reserved) => {
            // No command to it was ever sent, so its key cannot be known.
            let ending = Ending::new(Cause::ReservedChannel, "");
            return Err(Refusal { channel: channel_text, ending, key: KeyOfRefused::None, timeout: None });
        }
        Err(ChannelProblem::Other(problem)) => {
            problems.push(problem);
            None
        }
    };
    let body = match argument::take(&mut arguments, "body") {
        None => Err("`body` is required: the payload for the responder, as a string".to_owned()),
        Some(value) => argument::text("body", value, body_bytes_max),
    };
    let metadata = match argument::take(&mut arguments, "metadata") {
        None => Ok(String::new()),
        Some(value) => argument::text("metadata", value, config.metadata_bytes_max)
            .and_then(|text| strict(kind, || argument::visible("metadata", &text)).map(|()| text)),
    };
    let tags = tags(kind, argument::take(&mut arguments, "tags"), config);
    let asked = match argument::take(&mut arguments, "timeout_seconds") {
        None => Ok(timeout_seconds_default(kind)),
        Some(value) => argument::positive_integer("timeout_seconds", &value),
    };
    if let (Ok(body), Ok(metadata)) = (&body, &metadata)
        && body.is_empty()
        && metadata.is_empty()
    {
        problems.push("`body` and `metadata` must not both be empty".to_owned());
    }
    let terms = channel.as_ref().map(|channel| terms(config, rules, bounds, channel));
    let mut noted = |problem: String| problems.push(problem);
    let body = body.map_err(&mut noted).ok();
    let metadata = metadata.map_err(&mut noted).ok();
    let tags = tags.map_err(&mut noted).ok();
    let asked = asked.map_err(&mut noted).ok();
    if let Some(problem) = key.missing(kind, terms) {
        noted(problem);
    }
    let tags = tags.and_then(|tags| key.tagged(tags, config).map_err(&mut noted).ok());
    // What is left is what no tool has. One problem per name, but a flood of names is cut.
    for name in arguments.keys().take(UNKNOWN_NAMED_MAX) {
        noted(argument::unknown(name, arguments_of(kind)));
    }

    let timeout = match (asked, terms) {
        (Some(asked), Some(Terms { timeout_seconds_max, .. })) => {
            Timeout::capped_at(asked, timeout_seconds_max).ok()
        }
        _ => None,
    };
    let key = key.of_call(terms);
    match (channel, body, metadata, tags, timeout) {
        (Some(channel), Some(body), Some(metadata), Some(tags), Some(timeout)) if problems.is_empty() => {
            let (id, body) = (RequestId::fresh(), body.into_bytes());
            let request = Request { id, kind, channel, body, metadata, tags, timeout };
            Ok(Parsed { request, keyed: key.clear() })
        }
        _ => Err(Refusal {
            channel: channel_text,
            ending: Ending::new(Cause::InvalidArguments, problems.join("; ")),
            key,
            timeout,
        }),
    }
}

fn arguments_of(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Query => &QUERY_ARGUMENTS,
        Kind::Command => &COMMAND_ARGUMENTS,
    }
}

/// Unknown arguments that one answer names.
const UNKNOWN_NAMED_MAX: usize = 8;

enum ChannelProblem {
    Reserved,
    Other(String),
}

fn channel(value: Option<Value>) -> Result<Channel, ChannelProblem> {
    match value {
        None => Err(ChannelProblem::Other("`channel` is required: the KubeMQ channel, as a string".into())),
        Some(Value::String(text)) => Channel::parse(&text).map_err(|error| match error {
            ChannelError::Reserved => ChannelProblem::Reserved,
            other => ChannelProblem::Other(format!("`channel` {other}")),
        }),
        Some(other) => {
            Err(ChannelProblem::Other(format!("`channel` must be a string, got {}", shown(&other))))
        }
    }
}

/// A rule of commands only: what a query asks for may be repeated, and is nobody's record.
fn strict(kind: Kind, rule: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    match kind {
        Kind::Command => rule(),
        Kind::Query => Ok(()),
    }
}

fn tags(kind: Kind, value: Option<Value>, config: &Config) -> Result<Tags, String> {
    let Some(value) = value else { return Ok(Tags::new()) };
    let Value::Object(pairs) = value else {
        return Err(format!("`tags` must be an object of strings, got {}", shown(&value)));
    };
    if pairs.len() > config.tags_max {
        return Err(format!("`tags` must have at most {} entries, got {}", config.tags_max, pairs.len()));
    }
    let mut tags = Tags::new();
    for (key, value) in pairs {
        if key.is_empty() || key.len() > config.tag_key_bytes_max {
            let (limit, length) = (config.tag_key_bytes_max, key.len());
            return Err(format!("a key in `tags` must be 1 to {limit} bytes long, got {length}"));
        }
        let name = format!("tags.{}", clipped(&key));
        strict(kind, || argument::exact(&name, &key))?;
        let text = argument::text(&name, value, config.tag_value_bytes_max)?;
        strict(kind, || argument::visible(&name, &text))?;
        tags.insert(key, text);
    }
    Ok(tags)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(tool: Tool, arguments: &Value) -> Result<Request, Refusal> {
        parse(tool, arguments.as_object().cloned(), &Config::default(), &[], Bounds::default())
            .map(|parsed| parsed.request)
    }

    fn problem(arguments: &Value) -> String {
        read(Tool::CommandSend, arguments).expect_err("the arguments are wrong").ending.detail
    }

    #[test]
    fn the_published_call_is_read_as_it_is() {
        let request = read(
            Tool::CommandSend,
            &json!({
                "channel": "example-commands", "body": "do-work", "timeout_seconds": 10,
                "metadata": "cmd-meta", "tags": {"action": "process"}
            }),
        )
        .unwrap();
        assert_eq!(request.kind, Kind::Command);
        assert_eq!(request.channel.as_str(), "example-commands");
        assert_eq!(request.body, b"do-work");
        assert_eq!(request.metadata, "cmd-meta");
        assert_eq!(request.tags.get("action").map(String::as_str), Some("process"));
        assert_eq!(request.timeout.seconds(), 10);
    }

    #[test]
    fn the_default_timeouts_are_the_published_ones() {
        let arguments = json!({"channel": "c", "body": "b"});
        assert_eq!(read(Tool::CommandSend, &arguments).unwrap().timeout.seconds(), 10);
        assert_eq!(read(Tool::QuerySend, &arguments).unwrap().timeout.seconds(), 30);
    }

    #[test]
    fn every_problem_of_a_call_is_said_at_once() {
        let text = problem(&json!({"chanel": "c", "timeout_seconds": 0, "tags": {"a": 1}, "metadata": 5}));
        for part in [
            "`channel` is required",
            "`body` is required",
            "`metadata` must be a string, got 5",
            "`tags.a` must be a string, got 1",
            "`timeout_seconds` must be an integer of at least 1, got 0",
            "unknown argument `chanel`, did you mean `channel`?",
        ] {
            assert!(text.contains(part), "{part} is not in: {text}");
        }
    }

    #[test]
    fn a_reserved_channel_is_a_cause_of_its_own() {
        let refusal = read(Tool::CommandSend, &json!({"channel": "_AGENTS_.x", "body": "b"})).unwrap_err();
        assert_eq!(refusal.ending.cause, Cause::ReservedChannel);
        assert_eq!(refusal.channel.as_deref(), Some("_AGENTS_.x"));
    }

    #[test]
    fn null_means_absent_for_what_is_optional_only() {
        let optional =
            json!({"channel": "c", "body": "b", "metadata": null, "tags": null, "timeout_seconds": null});
        assert!(read(Tool::QuerySend, &optional).is_ok());
        assert!(problem(&json!({"channel": "c", "body": null})).contains("`body` is required"));
    }

    #[test]
    fn sizes_are_limited_and_named() {
        let long = "x".repeat(1_048_577);
        assert!(
            problem(&json!({"channel": "c", "body": long}))
                .contains("`body` must be at most 1048576 bytes long, got 1048577")
        );
        let tags: Map<String, Value> = (0..65).map(|number| (format!("k{number}"), json!("v"))).collect();
        assert!(
            problem(&json!({"channel": "c", "body": "b", "tags": tags}))
                .contains("at most 64 entries, got 65")
        );
        assert!(
            problem(&json!({"channel": "c", "body": "b", "tags": {"k": "v".repeat(4097)}}))
                .contains("`tags.k` must be at most 4096 bytes long")
        );
    }

    #[test]
    fn a_command_takes_no_control_characters_and_no_surplus_blanks_and_a_query_does() {
        let with = |name: &str, value: Value| {
            let mut call = json!({"channel": "c", "body": "line\nline"});
            call[name] = value;
            call
        };
        for (call, part) in [
            (
                with("metadata", json!("a\u{0}b")),
                "`metadata` of a command must not have control characters, got \\u{0}",
            ),
            (
                with("tags", json!({"t": "a\nb"})),
                "`tags.t` of a command must not have control characters, got \\n",
            ),
            (with("tags", json!({"t\r": "v"})), "of a command must not have control characters, got \\r"),
            (with("tags", json!({" t": "v"})), "must not begin or end with a blank; `t` would be right"),
            (
                with("idempotency_key", json!("k ")),
                "`idempotency_key` must not begin or end with a blank; `k` would be right",
            ),
            (
                with("idempotency_key", json!("a\tb")),
                "`idempotency_key` of a command must not have control characters",
            ),
        ] {
            assert!(problem(&call).contains(part), "{part} is not in: {}", problem(&call));
        }
        assert!(read(Tool::CommandSend, &with("metadata", json!("größe"))).is_ok(), "a body may be anything");
        for call in [with("metadata", json!("a\u{0}b")), with("tags", json!({" t": "a\nb"}))] {
            assert!(read(Tool::QuerySend, &call).is_ok(), "{call}");
        }
    }

    #[test]
    fn an_empty_body_needs_metadata() {
        assert!(problem(&json!({"channel": "c", "body": ""})).contains("must not both be empty"));
        assert!(read(Tool::QuerySend, &json!({"channel": "c", "body": "", "metadata": "m"})).is_ok());
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,20}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 20, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map(".{0,8}", inner, 0..4)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_arguments_are_judged_without_a_panic(
            channel in any_json(), body in any_json(), metadata in any_json(),
            tags in any_json(), timeout in any_json(), extra in any_json(),
        ) {
            let arguments = json!({
                "channel": channel, "body": body, "metadata": metadata,
                "tags": tags, "timeout_seconds": timeout, "extra": extra,
            });
            if let Err(refusal) = read(Tool::CommandSend, &arguments) {
                let reserved = refusal.ending.cause == Cause::ReservedChannel;
                prop_assert!(reserved || !refusal.ending.detail.is_empty());
            }
        }

        #[test]
        fn what_was_valid_arrives_unchanged(
            channel in "[a-z]{1,8}(\\.[a-z]{1,8}){0,2}", body in ".{1,200}", metadata in ".{0,50}",
            tags in proptest::collection::btree_map("[a-zA-Z0-9_-]{1,20}", ".{0,50}", 0..8), timeout in 1u64..400,
        ) {
            let request = read(Tool::QuerySend, &json!({
                "channel": channel, "body": body, "metadata": metadata, "tags": tags, "timeout_seconds": timeout,
            })).unwrap();
            prop_assert_eq!(request.channel.as_str(), channel);
            prop_assert_eq!(request.body, body.into_bytes());
            prop_assert_eq!(request.metadata, metadata);
            prop_assert_eq!(request.tags, tags);
            prop_assert_eq!(u64::from(request.timeout.seconds()), timeout.min(300));
        }
    }
}
