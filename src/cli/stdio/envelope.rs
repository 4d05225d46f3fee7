//! What a line says about itself, as far as HTTP has to know: a pure reading of one message.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use base64::Engine;
use serde_json::{Value, json};

/// The member of `_meta` that makes a request one of protocol 2026-07-28 or later.
const VERSION_MEMBER: &str = "io.modelcontextprotocol/protocolVersion";

/// One message from the agent.
#[derive(Debug, PartialEq)]
pub enum Envelope {
    /// Nothing to do.
    Blank,
    /// Not JSON, or not a message; the answer to give.
    Unreadable(Value),
    /// The agent gives up the request with this id.
    Cancelled(Value),
    /// To be passed on. `id` is absent for a notification.
    Message {
        /// The request's id.
        id: Option<Value>,
        /// What HTTP carries beside the body.
        headers: HeaderMap,
        /// Whether the answer settles the protocol version of what follows.
        handshake: bool,
    },
}

/// Reads one line. `agreed` is the version of an earlier handshake.
pub fn read(line: &[u8], agreed: Option<&str>) -> Envelope {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Envelope::Blank;
    }
    let message: Value = match serde_json::from_slice(line) {
        Ok(message) => message,
        Err(error) => {
            return Envelope::Unreadable(refusal(-32700, &format!("the line is not JSON: {error}"), None));
        }
    };
    let id = message.get("id").cloned();
    let Some(method) = message.get("method").and_then(Value::as_str) else {
        // An answer to a request of ours, which there are none of, or no message at all: the service says so.
        return Envelope::Message { id, headers: HeaderMap::new(), handshake: false };
    };
    let params = message.get("params").unwrap_or(&Value::Null);
    if method == "notifications/cancelled" {
        return params.get("requestId").cloned().map_or(Envelope::Blank, Envelope::Cancelled);
    }
    let declared = params.get("_meta").and_then(|meta| meta.get(VERSION_MEMBER)).and_then(Value::as_str);
    let mut headers = HeaderMap::new();
    let mut put = |name: &'static str, value: &str| {
        headers.insert(HeaderName::from_static(name), header_value(value));
    };
    match declared {
        Some(version) => {
            put("mcp-protocol-version", version);
            put("mcp-method", method);
            if let Some(name) = params.get("name").and_then(Value::as_str)
                && method == "tools/call"
            {
                put("mcp-name", name);
            }
        }
        None => {
            if let Some(version) = agreed.filter(|_| method != "initialize") {
                put("mcp-protocol-version", version);
            }
        }
    }
    Envelope::Message { id, headers, handshake: method == "initialize" }
}

/// A JSON-RPC error of this end.
pub fn refusal(code: i32, message: &str, id: Option<&Value>) -> Value {
    let mut refusal = json!({ "jsonrpc": "2.0", "error": { "code": code, "message": message } });
    if let Some(id) = id {
        refusal["id"] = id.clone();
    }
    refusal
}

/// A header that carries any text: what is not plain goes as base64, as protocol 2026-07-28 says.
fn header_value(text: &str) -> HeaderValue {
    let plain = text.trim() == text && text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    let shown = if plain {
        text.to_owned()
    } else {
        format!("=?base64?{}?=", base64::engine::general_purpose::STANDARD.encode(text))
    };
    HeaderValue::from_str(&shown).expect("printable ASCII is a header")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn headers(line: &Value, agreed: Option<&str>) -> Vec<(String, String)> {
        let Envelope::Message { headers, .. } = read(line.to_string().as_bytes(), agreed) else {
            panic!("a message is expected")
        };
        let pair = |(name, value): (&HeaderName, &HeaderValue)| {
            (name.to_string(), value.to_str().unwrap().to_owned())
        };
        headers.iter().map(pair).collect()
    }

    #[test]
    fn a_modern_request_gets_the_headers_that_mirror_it() {
        let line = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "query_send", "_meta": {VERSION_MEMBER: "2026-07-28"}}});
        let mut got = headers(&line, Some("2025-11-25"));
        got.sort();
        let expected = [
            ("mcp-method", "tools/call"),
            ("mcp-name", "query_send"),
            ("mcp-protocol-version", "2026-07-28"),
        ];
        assert_eq!(got, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn an_older_request_carries_the_version_that_was_agreed_on() {
        let line = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
        assert_eq!(
            headers(&line, Some("2025-11-25")),
            [("mcp-protocol-version".into(), "2025-11-25".into())]
        );
        assert_eq!(headers(&line, None), []);
        let handshake = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize"});
        assert_eq!(headers(&handshake, Some("2025-11-25")), []);
    }

    #[test]
    fn a_cancel_names_its_request_and_a_garbage_line_is_answered() {
        let cancel =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "a"}});
        assert_eq!(read(cancel.to_string().as_bytes(), None), Envelope::Cancelled(json!("a")));
        let Envelope::Unreadable(answer) = read(b"{nonsense", None) else { panic!("an answer is expected") };
        assert_eq!(answer["error"]["code"], -32700);
        assert_eq!(read(b" \r", None), Envelope::Blank);
    }

    proptest! {
        #[test]
        fn any_line_is_read_without_a_panic(line in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&line, Some("2025-11-25"));
        }

        #[test]
        fn any_name_fits_into_a_header(name in any::<String>()) {
            let line = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
                "name": name, "_meta": {VERSION_MEMBER: "2026-07-28"}}});
            let _ = headers(&line, None);
        }
    }
}
