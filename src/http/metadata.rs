//! The metadata of RFC 9728: what the endpoint is called and where a token for it is to be had. It needs no token.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, Response, StatusCode, header};

use super::fault::{Fault, INVALID_REQUEST};
use super::front::Front;
use super::page;

/// How long a client may keep it, in seconds.
const CACHE: &str = "max-age=300";

/// Serves the metadata, to web pages of allowed origins as well.
pub(super) async fn serve(State(front): State<Front>, request: Request) -> Response<Body> {
    let origin = request.headers().get(header::ORIGIN).cloned();
    let answer = if page::is_asking(request.method(), request.headers()) {
        page::may_call("GET")
    } else {
        answer(&front, request.method())
    };
    let mut answer = front.finish(answer, Some(request.headers()));
    if let Some(origin) = origin {
        page::may_read(&mut answer, origin);
    }
    answer
}

fn answer(front: &Front, method: &Method) -> Response<Body> {
    let Some(metadata) = front.metadata() else {
        let message = "there is no metadata of this resource: `auth.resource` is not set";
        return Fault::new(StatusCode::NOT_FOUND, INVALID_REQUEST, message).response();
    };
    if ![Method::GET, Method::HEAD].contains(method) {
        let message = format!("{method} is not served here; GET the metadata");
        let mut refused = Fault::new(StatusCode::METHOD_NOT_ALLOWED, INVALID_REQUEST, message).response();
        refused.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET"));
        return refused;
    }
    let mut response = Response::new(Body::from(metadata.to_owned()));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(CACHE));
    response
}
