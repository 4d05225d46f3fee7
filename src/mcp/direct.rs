//! A plain `tools/call`, read in one pass: the common case, without the machinery that rmcp builds for each request.
//!
//! rmcp keeps some 50 KB for a call that waits; here it is a tenth. Everything unusual (another method, an unknown tool or
//! member, progress, any header that does not match) is left to rmcp, unchanged, so that there is one place for each rule.
//! A property test holds both paths to the same bytes.

use rmcp::model::{JsonObject, ProtocolVersion, RequestId, RequestMetaObject};
use serde::Deserialize;

use super::agent::{Protocol, Reads, SUPPORTED_VERSIONS};
use crate::domain::Tool;

/// The headers that decide about a call. Each is `None` when absent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Announced<'a> {
    /// `MCP-Protocol-Version`.
    pub version: Option<&'a str>,
    /// `Mcp-Method`.
    pub method: Option<&'a str>,
    /// `Mcp-Name`.
    pub name: Option<&'a str>,
}

/// A call that needs nothing but its answer.
#[derive(Debug)]
pub struct Direct {
    pub(super) id: RequestId,
    pub(super) tool: Tool,
    pub(super) arguments: Option<JsonObject>,
    pub(super) protocol: Protocol,
}

/// Unknown members are left to rmcp, and so are members that come twice.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message<'a> {
    jsonrpc: &'a str,
    id: RequestId,
    method: &'a str,
    params: Params<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Params<'a> {
    name: &'a str,
    arguments: Option<JsonObject>,
    #[serde(rename = "_meta")]
    meta: Option<RequestMetaObject>,
}

impl Direct {
    /// Reads a body whose answer goes to an agent that reads so. `None`: rmcp shall look at it.
    pub fn read(announced: Announced<'_>, reads: Reads, body: &[u8]) -> Option<Self> {
        // Texts with escapes do not borrow; names without them are all that matters here.
        let message: Message<'_> = serde_json::from_slice(body).ok()?;
        if message.jsonrpc != "2.0" || message.method != "tools/call" {
            return None;
        }
        let Params { name, arguments, meta } = message.params;
        let tool = Tool::parse(name)?;
        let tells_progress =
            reads == Reads::Stream && meta.as_ref().is_some_and(|meta| meta.0.contains_key("progressToken"));
        if tells_progress {
            return None;
        }
        let protocol = match meta.as_ref().map(RequestMetaObject::protocol_version) {
            None | Some(None) if is_legacy(announced, meta.as_ref()) => Protocol::Legacy,
            Some(Some(version)) if is_modern(announced, name, &version, meta.as_ref()?) => Protocol::Modern,
            _ => return None,
        };
        Some(Self { id: message.id, tool, arguments, protocol })
    }
}

/// A member of the protocol's own in `_meta` is a matter for rmcp, whatever it is.
fn is_legacy(announced: Announced<'_>, meta: Option<&RequestMetaObject>) -> bool {
    let own = |meta: &RequestMetaObject| meta.0.keys().any(|key| key.starts_with("io.modelcontextprotocol/"));
    let legacy = |own: &&ProtocolVersion| Protocol::of(Some(own)) == Protocol::Legacy;
    let mut versions = SUPPORTED_VERSIONS.iter().filter(legacy);
    let served = announced.version.is_none_or(|version| versions.any(|own| own.as_str() == version));
    served && announced.method.is_none() && announced.name.is_none() && !meta.is_some_and(own)
}

fn is_modern(
    announced: Announced<'_>,
    name: &str,
    version: &ProtocolVersion,
    meta: &RequestMetaObject,
) -> bool {
    *version == ProtocolVersion::V_2026_07_28
        && announced.version == Some(version.as_str())
        && announced.method == Some("tools/call")
        && announced.name == Some(name)
        && meta.missing_required_keys(version).is_empty()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(announced: Announced<'_>, body: &Value) -> Option<Protocol> {
        Direct::read(announced, Reads::Stream, body.to_string().as_bytes()).map(|direct| direct.protocol)
    }

    fn call(meta: Value) -> Value {
        let mut call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "query_send", "arguments": { "channel": "c", "body": "b" } } });
        if !meta.is_null() {
            call["params"]["_meta"] = meta;
        }
        call
    }

    const MODERN: Announced<'static> =
        Announced { version: Some("2026-07-28"), method: Some("tools/call"), name: Some("query_send") };

    fn modern_meta() -> Value {
        json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}
        })
    }

    #[test]
    fn the_plain_call_of_both_eras_is_taken() {
        assert_eq!(read(Announced::default(), &call(Value::Null)), Some(Protocol::Legacy));
        let versioned = Announced { version: Some("2025-11-25"), ..Announced::default() };
        assert_eq!(read(versioned, &call(json!({}))), Some(Protocol::Legacy));
        assert_eq!(read(MODERN, &call(modern_meta())), Some(Protocol::Modern));
    }

    #[test]
    fn whatever_is_unusual_is_left_to_rmcp() {
        let plain = Announced::default();
        let with = |pointer: &str, value: Value| {
            let mut call = call(json!({}));
            *call.pointer_mut(pointer).unwrap() = value;
            call
        };
        for body in [
            with("/id", Value::Null),
            with("/id", json!(1.5)),
            with("/jsonrpc", json!("1.0")),
            with("/method", json!("tools/list")),
            with("/params/name", json!("nope")),
            with("/params/arguments", json!([])),
            with("/params", json!([])),
            call(json!({ "progressToken": 1 })),
            call(modern_meta()),
            json!([call(Value::Null)]),
        ] {
            assert_eq!(read(plain, &body), None, "{body}");
        }
        let mut extra = call(Value::Null);
        extra["params"]["inputResponses"] = json!({});
        assert_eq!(read(plain, &extra), None);
        for announced in [
            Announced { version: Some("2025-03-26"), ..plain },
            Announced { version: Some("2026-07-28"), ..plain },
            Announced { method: Some("tools/call"), ..plain },
        ] {
            assert_eq!(read(announced, &call(Value::Null)), None, "{announced:?}");
        }
        for announced in [
            Announced { name: Some("command_send"), ..MODERN },
            Announced { method: None, ..MODERN },
            Announced { version: Some("2025-11-25"), ..MODERN },
        ] {
            assert_eq!(read(announced, &call(modern_meta())), None, "{announced:?}");
        }
        let capable = "io.modelcontextprotocol/clientCapabilities";
        let mut meta = modern_meta();
        meta[capable] = json!([]);
        assert_eq!(read(MODERN, &call(meta)), None);
    }

    #[test]
    fn an_agent_that_reads_no_stream_needs_no_progress() {
        let body = call(json!({ "progressToken": 1 })).to_string();
        assert!(Direct::read(Announced::default(), Reads::Json, body.as_bytes()).is_some());
    }
}
