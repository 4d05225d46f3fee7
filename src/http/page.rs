//! Web pages: what a browser has to hear before it lets a page of another origin call, and read the answer.
//!
//! The guard has judged the origin before, so whoever comes here may.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};

/// What a page may send beside what every page may.
const HEADERS_ALLOWED: &str = "content-type, authorization, accept, mcp-protocol-version, mcp-method, mcp-name, \
                               mcp-session-id, last-event-id";

/// What a page may read beside what every page may.
const HEADERS_EXPOSED: &str = "mcp-protocol-version, mcp-session-id, www-authenticate";

/// How long a browser may remember the answer to its question, in seconds.
const REMEMBERED_SECONDS: &str = "600";

/// Whether a browser asks on behalf of a page if it may call. Such a question has no token and no body.
pub fn is_asking(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::OPTIONS
        && headers.contains_key(header::ORIGIN)
        && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// It may, with this method.
pub fn may_call(method: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(method));
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(HEADERS_ALLOWED));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(REMEMBERED_SECONDS));
    response
}

/// Lets the page at this origin read an answer.
pub fn may_read(response: &mut Response<Body>, origin: HeaderValue) {
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(HEADERS_EXPOSED));
    headers.append(header::VARY, HeaderValue::from_static("origin"));
}
