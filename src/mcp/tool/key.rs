//! The idempotency key of a command: the argument, what it stands for, and the tag that carries it on.

use serde_json::{Map, Value};

use super::argument::{self, IDEMPOTENCY_KEY, clipped};
use crate::domain::{Channel, Fingerprint, KEY_CHARACTERS_MAX, Key, Kind, Tags, Tool};
use crate::mcp::call::Keyed;
use crate::mcp::config::{Config, Terms};

/// The key of a call as it came.
pub(super) struct KeyArgument {
    key: Option<Key>,
    meant: Option<Fingerprint>,
    came: bool,
}

/// The key of a call that cannot be sent. What an earlier call with it did is told all the same.
#[derive(Debug, PartialEq)]
pub enum KeyOfRefused {
    /// None came, or none that can be one.
    None,
    /// One came, but what it stands for cannot be told.
    Unclear,
    /// One came, and it is clear what it stands for.
    Clear(Keyed),
}

impl KeyOfRefused {
    /// The key, if it is clear what it stands for.
    pub(super) fn clear(self) -> Option<Keyed> {
        match self {
            Self::Clear(keyed) => Some(keyed),
            Self::None | Self::Unclear => None,
        }
    }
}

impl KeyArgument {
    /// Takes it out of the arguments of a command, and reads what the others mean by it.
    pub fn take(tool: Tool, arguments: &mut Map<String, Value>, problems: &mut Vec<String>) -> Self {
        let none = Self { key: None, meant: None, came: false };
        if tool.kind() == Kind::Query {
            return none;
        }
        match argument::key(arguments) {
            Ok(None) => none,
            Ok(Some(key)) => Self { key: Some(key), meant: meant(tool, arguments), came: true },
            Err(problem) => {
                problems.push(problem);
                Self { came: true, ..none }
            }
        }
    }

    /// What is wrong when it is missing.
    pub fn missing(&self, kind: Kind, terms: Option<Terms>) -> Option<String> {
        let required = kind == Kind::Command && terms.is_some_and(|terms| terms.require_key);
        (required && !self.came).then(|| {
            format!(
                "`{IDEMPOTENCY_KEY}` is required here: 1 to {KEY_CHARACTERS_MAX} characters, a fresh one for each \
                 intended effect and the same one on a retry"
            )
        })
    }

    /// Adds the tag that carries it to the responder.
    pub fn tagged(&self, mut tags: Tags, config: &Config) -> Result<Tags, String> {
        let name = &config.idempotency_key_tag;
        let Some(key) = self.key.as_ref().filter(|_| !name.is_empty()) else { return Ok(tags) };
        let before = tags.insert(name.clone(), key.as_str().to_owned());
        if before.is_some_and(|before| before != key.as_str()) {
            let name = clipped(name);
            return Err(format!(
                "`tags.{name}` carries `{IDEMPOTENCY_KEY}` to the responder and must not say something else"
            ));
        }
        Ok(tags)
    }

    /// The key, with what it stands for.
    pub fn of_call(self, terms: Option<Terms>) -> KeyOfRefused {
        match (self.key, self.meant, terms) {
            (None, _, _) => KeyOfRefused::None,
            (Some(key), Some(fingerprint), Some(Terms { resend, .. })) => {
                KeyOfRefused::Clear(Keyed { key, fingerprint, resend })
            }
            (Some(_), _, _) => KeyOfRefused::Unclear,
        }
    }
}

/// What the arguments ask for, whatever limits hold today; `None` when one of them is not of its type.
fn meant(tool: Tool, arguments: &Map<String, Value>) -> Option<Fingerprint> {
    let optional = |name: &str| arguments.get(name).filter(|value| !value.is_null());
    let channel = Channel::parse(arguments.get("channel")?.as_str()?).ok()?;
    let body = arguments.get("body")?.as_str()?;
    let metadata = optional("metadata").map_or(Some(""), Value::as_str)?;
    let tags = match optional("tags") {
        None => Tags::new(),
        Some(value) => value
            .as_object()?
            .iter()
            .map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .collect::<Option<Tags>>()?,
    };
    Some(Fingerprint::of(tool, &channel, body.as_bytes(), metadata, &tags))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::access::Bounds;
    use crate::mcp::tool::request::{Parsed, Refusal, parse};

    fn keyed(arguments: &Value, config: &Config) -> Result<Parsed, Refusal> {
        parse(Tool::CommandSend, arguments.as_object().cloned(), config, &[], Bounds::default())
    }

    #[test]
    fn a_key_travels_to_the_responder_as_a_tag_and_is_no_part_of_the_fingerprint() {
        let call = |key: &str| json!({"channel": "c", "body": "b", "idempotency_key": key});
        let first = keyed(&call("k-1"), &Config::default()).unwrap();
        assert_eq!(first.request.tags.get("x-idempotency-key").map(String::as_str), Some("k-1"));
        let second = keyed(&call("k-2"), &Config::default()).unwrap();
        assert_eq!(first.keyed.unwrap().fingerprint, second.keyed.unwrap().fingerprint);
        let silent = Config { idempotency_key_tag: String::new(), ..Config::default() };
        assert!(keyed(&call("k-1"), &silent).unwrap().request.tags.is_empty());
    }

    #[test]
    fn a_tag_that_contradicts_the_key_is_refused() {
        let call = json!({"channel": "c", "body": "b", "idempotency_key": "k",
            "tags": {"x-idempotency-key": "other"}});
        let refusal = keyed(&call, &Config::default()).unwrap_err();
        assert!(refusal.ending.detail.contains("`tags.x-idempotency-key`"), "{refusal:?}");
    }

    #[test]
    fn a_key_has_1_to_128_characters_and_is_a_string() {
        for (key, problem) in [
            (json!(""), "must not be empty"),
            (json!("k".repeat(129)), "must be at most 128 characters long, got 129"),
            (json!(7), "must be a string, got 7"),
        ] {
            let call = json!({"channel": "c", "body": "b", "idempotency_key": key});
            let refusal = keyed(&call, &Config::default()).unwrap_err();
            assert!(refusal.ending.detail.contains("`idempotency_key`"), "{refusal:?}");
            assert!(refusal.ending.detail.contains(problem), "{refusal:?}");
            assert_eq!(refusal.key, KeyOfRefused::None);
        }
        let absent = json!({"channel": "c", "body": "b", "idempotency_key": null});
        assert_eq!(keyed(&absent, &Config::default()).unwrap().keyed, None);
    }

    #[test]
    fn a_query_takes_no_key() {
        let call = json!({"channel": "c", "body": "b", "idempotency_key": "k"});
        let refusal =
            parse(Tool::QuerySend, call.as_object().cloned(), &Config::default(), &[], Bounds::default())
                .unwrap_err();
        assert!(refusal.ending.detail.contains("unknown argument `idempotency_key`"), "{refusal:?}");
    }

    #[test]
    fn a_missing_key_is_named_where_keys_are_mandatory() {
        let strict = Config { require_key: true, ..Config::default() };
        let call = json!({"channel": "c", "body": "b"});
        let refusal = keyed(&call, &strict).unwrap_err();
        assert!(refusal.ending.detail.contains("`idempotency_key` is required"), "{refusal:?}");
        assert!(parse(Tool::QuerySend, call.as_object().cloned(), &strict, &[], Bounds::default()).is_ok());
    }

    #[test]
    fn a_refused_call_still_says_what_its_key_stands_for() {
        let valid = json!({"channel": "c", "body": "body", "idempotency_key": "k"});
        let known = keyed(&valid, &Config::default()).unwrap().keyed.unwrap();
        let tight = Config { body_bytes_max: 1, ..Config::default() };
        let mut late = valid.clone();
        late["timeout_seconds"] = json!("x");
        for (call, config) in [(&valid, &tight), (&late, &Config::default())] {
            assert_eq!(keyed(call, config).unwrap_err().key, KeyOfRefused::Clear(known.clone()));
        }
        let unclear = json!({"channel": "c", "body": 7, "idempotency_key": "k"});
        assert_eq!(keyed(&unclear, &Config::default()).unwrap_err().key, KeyOfRefused::Unclear);
    }
}
