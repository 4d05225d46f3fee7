//! Refusals of the HTTP layer: a status, and a JSON-RPC error that says the same.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};

use super::metrics::Metrics;

/// Why a request got no further than HTTP.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// The HTTP status.
    pub status: StatusCode,
    /// The JSON-RPC error code.
    pub code: i32,
    /// One sentence: what was wrong and what would be right.
    pub message: String,
    /// Members of `error.data`; `Null` for none.
    pub data: Value,
    /// The request's id, where it could be read.
    pub id: Option<Value>,
}

/// JSON that cannot be parsed.
pub const PARSE_ERROR: i32 = -32700;
/// JSON that is not a request.
pub const INVALID_REQUEST: i32 = -32600;
/// A request whose `params` are no object.
pub const INVALID_PARAMS: i32 = -32602;
/// A bug of ours.
pub const INTERNAL_ERROR: i32 = -32603;
/// A protocol version that is not served.
pub const UNSUPPORTED_VERSION: i32 = -32022;

impl Fault {
    /// A refusal without data and without an id.
    pub fn new(status: StatusCode, code: i32, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), data: Value::Null, id: None }
    }

    /// The answer, counted as a refusal.
    pub fn response(self) -> Response<Body> {
        Metrics::get().requests_refused.increment(1);
        self.answer()
    }

    /// The answer.
    pub fn answer(self) -> Response<Body> {
        let mut error = json!({ "code": self.code, "message": self.message });
        if !self.data.is_null() {
            error["data"] = self.data;
        }
        let mut body = json!({ "jsonrpc": "2.0", "error": error });
        if let Some(id) = self.id {
            body["id"] = id;
        }
        let mut response = Response::new(Body::from(body.to_string()));
        *response.status_mut() = self.status;
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if self.status == StatusCode::METHOD_NOT_ALLOWED {
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
        }
        response
    }
}
