//! What plain clients send, made into what rmcp expects, and what rmcp answers, made into what every client reads.
//!
//! Pure functions: `front` does the reading and the sending. Nothing here matches a text of rmcp: a refused body is
//! judged again, so that an upgrade of rmcp cannot change an answer.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use super::fault::{
    Fault, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, UNSUPPORTED_VERSION,
};
use crate::mcp::{Announced, Reads, SUPPORTED_VERSIONS};

/// The header that carries the protocol version, both ways.
pub const VERSION_HEADER: &str = "mcp-protocol-version";
/// The header of the old sessions, which there are none of.
pub const SESSION_HEADER: &str = "mcp-session-id";
/// The first version without a handshake and without sessions.
const MODERN: &str = "2026-07-28";
/// What is said to a client that named no version.
const VERSION_DEFAULT: &str = "2025-11-25";

/// Whether the body is announced as JSON.
pub fn announces_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()) else {
        return false;
    };
    let media = value.split(';').next().unwrap_or_default().trim();
    media.eq_ignore_ascii_case("application/json")
}

/// Whether the client reads a stream. It must say so: `*/*` is what a client sends that thinks of one object.
pub fn reads(headers: &HeaderMap) -> Reads {
    let mut accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    if accepted.any(|value| value.contains("text/event-stream")) { Reads::Stream } else { Reads::Json }
}

/// The headers that decide whether a call is a plain one; `None` when one of them is unreadable, comes twice, or mirrors an
/// argument.
pub fn announced(headers: &HeaderMap) -> Option<Announced<'_>> {
    if headers.keys().any(|name| name.as_str().starts_with("mcp-param-")) {
        return None;
    }
    let one = |name: &str| {
        let mut values = headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (None, _) => Some(None),
            (Some(value), None) => value.to_str().ok().map(Some),
            (Some(_), Some(_)) => None,
        }
    };
    Some(Announced { version: one(VERSION_HEADER)?, method: one("mcp-method")?, name: one("mcp-name")? })
}

/// What rmcp insists on.
pub const ACCEPT_BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// Says why rmcp did not take a body that was announced as JSON.
pub fn unread(body: &[u8]) -> Fault {
    let bad = |code, message: &str| Fault::new(StatusCode::BAD_REQUEST, code, message);
    let value: Value = match serde_json::from_slice(body) {
        Ok(value) => value,
        Err(_) if body.is_empty() => return bad(PARSE_ERROR, "the body is empty; send one JSON-RPC message"),
        Err(error) => return bad(PARSE_ERROR, &format!("the body is not JSON: {error}")),
    };
    let Value::Object(message) = &value else {
        let batch = "a batch is not served; send one JSON-RPC message per request";
        let other = "the body must be one JSON-RPC message, an object";
        return bad(INVALID_REQUEST, if value.is_array() { batch } else { other });
    };
    let id = message.get("id");
    let readable = id.filter(|id| is_id(id)).cloned();
    if readable.is_some() && is_request_but_for_its_params(message) {
        let problem = "`params` must be an object";
        return Fault { id: readable, ..bad(INVALID_PARAMS, problem) };
    }
    let problem = match (message.get("jsonrpc"), message.get("method"), id) {
        (Some(Value::String(version)), _, _) if version != "2.0" => "`jsonrpc` must be \"2.0\"",
        (Some(Value::String(_)), Some(Value::String(method)), _) if method.is_empty() => {
            "`method` must not be empty"
        }
        (Some(Value::String(_)), Some(Value::String(_)), Some(_)) if readable.is_none() => {
            "`id` must be a string or an integer"
        }
        (Some(Value::String(_)), Some(Value::String(_)), _) => "the message is not a request that MCP knows",
        (Some(Value::String(_)), Some(_), _) => "`method` must be a string",
        (Some(Value::String(_)), None, _) => "`method` is missing; only requests and notifications are taken",
        _ => "`jsonrpc` must be \"2.0\"",
    };
    Fault { id: readable, ..bad(INVALID_REQUEST, problem) }
}

fn is_id(value: &Value) -> bool {
    value.is_string() || value.is_i64() || value.is_u64()
}

fn is_request_but_for_its_params(message: &serde_json::Map<String, Value>) -> bool {
    let named = message.get("method").and_then(Value::as_str).is_some_and(|method| !method.is_empty());
    let params = message.get("params").is_some_and(|params| !params.is_object());
    named && params && message.get("jsonrpc").is_some_and(|version| version == "2.0")
}

/// The id of a message, where it can be read.
fn readable_id(body: &[u8]) -> Option<Value> {
    let message: Value = serde_json::from_slice(body).ok()?;
    message.get("id").filter(|id| is_id(id)).cloned()
}

/// Says in JSON what rmcp said in plain text.
pub fn refused(status: StatusCode, headers: &HeaderMap, body: &[u8], text: &str) -> Fault {
    if status == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        return unread(body);
    }
    if status.is_server_error() {
        return Fault::new(status, INTERNAL_ERROR, "a bug of the connector ended this request; see its log");
    }
    if let Some(requested) = unsupported_version(headers) {
        let supported: Vec<&str> = SUPPORTED_VERSIONS.iter().map(|version| version.as_str()).collect();
        let message =
            format!("protocol version {requested} is not served; the versions are {}", supported.join(", "));
        let data = json!({ "supported": supported, "requested": requested });
        return Fault { data, id: readable_id(body), ..Fault::new(status, UNSUPPORTED_VERSION, message) };
    }
    Fault { id: readable_id(body), ..Fault::new(status, INVALID_REQUEST, text) }
}

fn unsupported_version(headers: &HeaderMap) -> Option<String> {
    let named = headers.get(VERSION_HEADER)?;
    let text = String::from_utf8_lossy(named.as_bytes());
    let served = SUPPORTED_VERSIONS.iter().any(|version| version.as_str() == text.trim());
    (!served).then(|| text.chars().take(40).collect())
}

/// The version that an answer says it is in.
pub fn answered_version(request: &HeaderMap, negotiated: Option<&str>) -> HeaderValue {
    let named = request.get(VERSION_HEADER).and_then(|value| value.to_str().ok()).map(str::trim);
    let served = |text: &&str| SUPPORTED_VERSIONS.iter().any(|version| version.as_str() == *text);
    let version = negotiated.filter(served).or(named.filter(served)).unwrap_or(VERSION_DEFAULT);
    HeaderValue::from_str(version).expect("a version is a date")
}

/// The session id to send back: the client's own, in the versions that had sessions.
pub fn echoed_session(request: &HeaderMap) -> Option<HeaderValue> {
    let modern = request.get(VERSION_HEADER).is_some_and(|version| version.as_bytes() >= MODERN.as_bytes());
    request.get(SESSION_HEADER).filter(|_| !modern).cloned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_refused_body_is_told_what_is_wrong_with_it() {
        let told = |body: &str| {
            let fault = unread(body.as_bytes());
            (fault.code, fault.id, fault.message)
        };
        assert_eq!(told("").0, PARSE_ERROR);
        assert_eq!(told("{").0, PARSE_ERROR);
        assert!(told("[]").2.contains("batch"));
        for (body, part) in [
            ("5", "an object"),
            ("{}", "`jsonrpc`"),
            (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, "`jsonrpc`"),
            (r#"{"jsonrpc":"2.0","id":1,"method":""}"#, "`method` must not be empty"),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, "`id`"),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, "`id`"),
            (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, "`method` must be a string"),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "`method` is missing"),
        ] {
            let (code, _, message) = told(body);
            assert_eq!(code, INVALID_REQUEST, "{body}");
            assert!(message.contains(part), "{body}: {message}");
        }
        assert_eq!(told(r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#).1, Some(json!("a")));
    }

    #[test]
    fn a_client_reads_a_stream_only_when_it_says_so() {
        let headers =
            |accept: &'static str| HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]);
        assert_eq!(reads(&headers("application/json, text/event-stream;q=0.5")), Reads::Stream);
        assert_eq!(reads(&headers("application/json")), Reads::Json);
        assert_eq!(reads(&headers("*/*")), Reads::Json);
        assert_eq!(reads(&HeaderMap::new()), Reads::Json);
    }

    proptest! {
        #[test]
        fn any_body_is_judged_without_a_panic(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            let fault = unread(&body);
            prop_assert!(fault.code == PARSE_ERROR || fault.code == INVALID_REQUEST);
            prop_assert!(!fault.message.is_empty());
        }
    }
}
