//! What came back for one message: a pure reading, so that each request gets one answer and the agent reads MCP only.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

/// One text from the service, as far as the agent's end has to know it.
#[derive(Debug, PartialEq)]
pub enum Came {
    /// A request or notification of the service: passed on.
    Passing,
    /// The answer: passed on.
    Answer,
    /// An error that names no request, though it is the one that was asked; passed on under that name.
    Unnamed(Value),
    /// No message, or the answer to something that was not asked: kept from the agent.
    Foreign,
}

#[derive(Deserialize)]
struct Members {
    id: Option<Value>,
    method: Option<IgnoredAny>,
    error: Option<Value>,
}

/// Reads one text that came for the request `asked`, or for a message without an id.
pub fn read(text: &str, asked: Option<&Value>) -> Came {
    // A list would pass for the members in their order.
    if !text.trim_start().starts_with('{') {
        return Came::Foreign;
    }
    let Ok(Members { id, method, error }) = serde_json::from_str(text) else { return Came::Foreign };
    match (method, id, error) {
        (Some(_), _, _) => Came::Passing,
        (None, id, _) if id.as_ref() == asked => Came::Answer,
        (None, None, Some(error)) => Came::Unnamed(error),
        (None, _, _) => Came::Foreign,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn came(text: &Value) -> Came {
        read(&text.to_string(), Some(&json!(1)))
    }

    #[test]
    fn only_the_answer_to_what_was_asked_is_the_answer() {
        assert_eq!(came(&json!({ "jsonrpc": "2.0", "id": 1, "result": {} })), Came::Answer);
        assert_eq!(came(&json!({ "jsonrpc": "2.0", "id": 1, "error": {} })), Came::Answer);
        assert_eq!(came(&json!({ "jsonrpc": "2.0", "id": 2, "result": {} })), Came::Foreign);
        assert_eq!(came(&json!({ "jsonrpc": "2.0", "method": "notifications/progress" })), Came::Passing);
        assert_eq!(came(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })), Came::Passing);
    }

    #[test]
    fn an_error_without_a_name_is_that_of_what_was_asked() {
        let error = json!({ "code": -32600, "message": "too large" });
        let unnamed = json!({ "jsonrpc": "2.0", "error": error });
        assert_eq!(came(&unnamed), Came::Unnamed(error.clone()));
        assert_eq!(
            came(&json!({ "jsonrpc": "2.0", "id": null, "error": error.clone() })),
            Came::Unnamed(error)
        );
        assert_eq!(read(&unnamed.to_string(), None), Came::Answer);
    }

    #[test]
    fn what_is_no_object_is_no_message() {
        for text in ["", "<html>", "null", "[1]", "[null, null, {}]", "{", "\"text\"", "{}"] {
            assert_eq!(read(text, Some(&json!(1))), Came::Foreign, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in any::<String>()) {
            let _ = read(&text, None);
        }
    }
}
