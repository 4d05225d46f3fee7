//! `/mcp`: reads a request within its limits, hands it to rmcp, and sees that the answer is one every client reads.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;

use super::Config;
use super::bearer;
use super::body;
use super::compat::{self, ACCEPT_BOTH, SESSION_HEADER, VERSION_HEADER};
use super::fault::{Fault, INVALID_REQUEST};
use super::guard::Guard;
use super::last_word::Heard;
use super::page;
use super::room::{Room, Share};
use crate::access::Callers;
use crate::mcp::{Agent, Direct, Leaving, Server};

/// The endpoint; a clone is a few counts.
#[derive(Clone)]
pub struct Front {
    server: Server,
    service: StreamableHttpService<Server, NeverSessionManager>,
    guard: Arc<Guard>,
    callers: Callers,
    limit: body::Limit,
    room: Room,
}

impl Front {
    /// The endpoint in front of `server`, for `callers`.
    pub fn new(server: Server, callers: Callers, config: &Config) -> Self {
        let mut rmcp = StreamableHttpServerConfig::default();
        rmcp.legacy_session_mode = false;
        rmcp.json_response = true;
        // Host and Origin are checked in `guard`, before every route and with answers in JSON; the size here.
        rmcp.allowed_hosts = Vec::new();
        rmcp.max_request_body_bytes = config.body_bytes_max;
        let made = server.clone();
        let service = StreamableHttpService::new(move || Ok(made.clone()), Arc::default(), rmcp);
        Self {
            server,
            service,
            guard: Arc::new(Guard::new(&config.allowed_hosts, &config.allowed_origins)),
            callers,
            limit: body::Limit {
                bytes_max: config.body_bytes_max,
                patience: Duration::from_secs(config.body_seconds),
            },
            room: Room::new(config.bodies_bytes_max),
        }
    }

    /// The check of `Host` and `Origin`.
    pub(super) fn guard(&self) -> &Guard {
        &self.guard
    }

    /// What RFC 9728 says of the endpoint, as JSON.
    pub(super) fn metadata(&self) -> Option<&str> {
        self.callers.metadata()
    }

    /// Answers one message whose transport is not HTTP. `headers` are those that HTTP would have carried.
    pub async fn exchange(&self, headers: HeaderMap, body: Bytes, agent: Agent) -> Response<Body> {
        let mut request = Request::new(());
        *request.method_mut() = Method::POST;
        *request.headers_mut() = headers;
        let headers = request.headers_mut();
        headers.insert(header::CONTENT_TYPE, "application/json".parse().expect("a plain header"));
        headers.insert(header::HOST, "localhost".parse().expect("a plain header"));
        self.answer(request, body, agent).await
    }

    async fn answer(&self, request: Request<()>, body: Bytes, agent: Agent) -> Response<Body> {
        let plain = compat::announced(request.headers())
            .and_then(|announced| Direct::read(announced, agent.reads, &body));
        match plain {
            Some(direct) => {
                let (parts, ()) = request.into_parts();
                // The call has what it needs; a body that waits with it would be kept for nothing.
                drop(body);
                let mut response = Response::new(Body::from(self.server.direct(direct, agent).await));
                let json = HeaderValue::from_static("application/json");
                response.headers_mut().insert(header::CONTENT_TYPE, json);
                self.finish(response, Some(&parts.headers))
            }
            // In a box: what rmcp keeps for a call must not make the plain ones as large.
            None => Box::pin(self.answer_by_rmcp(request, body, agent)).await,
        }
    }

    async fn answer_by_rmcp(&self, request: Request<()>, body: Bytes, agent: Agent) -> Response<Body> {
        let (mut parts, ()) = request.into_parts();
        let asked = parts.headers.clone();
        parts.headers.insert(header::ACCEPT, ACCEPT_BOTH);
        parts.extensions.insert(agent);
        let response = self.service.handle(Request::from_parts(parts, Full::new(body.clone()))).await;
        let (mut parts, answered) = response.into_parts();
        let failed = parts.status.is_client_error() || parts.status.is_server_error();
        let json = parts.headers.get(header::CONTENT_TYPE).is_some_and(|media| media == "application/json");
        if failed && !json {
            let text = answered.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
            let fault = compat::refused(parts.status, &asked, &body, &String::from_utf8_lossy(&text));
            return self.finish(fault.response(), Some(&asked));
        }
        if json && may_initialize(&asked, &body) {
            let bytes = answered.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
            let version = negotiated(&bytes);
            parts.headers.insert(VERSION_HEADER, compat::answered_version(&asked, version.as_deref()));
            return self.finish(Response::from_parts(parts, Body::from(bytes)), Some(&asked));
        }
        self.finish(Response::from_parts(parts, Body::new(answered)), Some(&asked))
    }

    /// Adds the headers that every answer has.
    pub(super) fn finish(&self, mut response: Response<Body>, asked: Option<&HeaderMap>) -> Response<Body> {
        let none = HeaderMap::new();
        let asked = asked.unwrap_or(&none);
        let headers = response.headers_mut();
        if !headers.contains_key(VERSION_HEADER) {
            headers.insert(VERSION_HEADER, compat::answered_version(asked, None));
        }
        if let Some(session) = compat::echoed_session(asked) {
            headers.insert(SESSION_HEADER, session);
        }
        response
    }
}

/// Serves `/mcp`.
pub(super) async fn serve(State(front): State<Front>, request: Request) -> Response<Body> {
    let Some(origin) = request.headers().get(header::ORIGIN).cloned() else {
        return serve_anybody(front, request).await;
    };
    let mut response = if page::is_asking(request.method(), request.headers()) {
        front.finish(page::may_call("POST"), Some(request.headers()))
    } else {
        serve_anybody(front, request).await
    };
    page::may_read(&mut response, origin);
    response
}

async fn serve_anybody(front: Front, request: Request) -> Response<Body> {
    let (mut parts, body) = request.into_parts();
    let subject = match front.callers.identify(bearer::presented(&parts.headers)).await {
        Ok(subject) => subject,
        Err(refusal) => {
            body::discard(body, front.limit).await;
            let refused = bearer::refused(refusal, front.callers.challenge());
            return front.finish(refused, Some(&parts.headers));
        }
    };
    // Nothing behind this line has a use for the token.
    parts.headers.remove(header::AUTHORIZATION);
    let asked = parts.headers.clone();
    // Held until the answer is made: what came in the body is kept as long.
    let mut share = front.room.share();
    match read(&front, &parts.method, &asked, body, &mut share).await {
        Ok(body) => {
            if let Some(heard) = parts.extensions.remove::<Heard>() {
                heard.whole();
            }
            let (reads, leaving) = (compat::reads(&asked), Leaving::CancelsByVersion);
            let agent = Agent { subject, reads, leaving };
            front.answer(Request::from_parts(parts, ()), body, agent).await
        }
        Err(fault) => front.finish(fault.response(), Some(&asked)),
    }
}

async fn read(
    front: &Front,
    method: &Method,
    headers: &HeaderMap,
    body: Body,
    share: &mut Share,
) -> Result<Bytes, Fault> {
    if method != Method::POST {
        let message = format!("{method} is not served here; POST one JSON-RPC message");
        return Err(Fault::new(StatusCode::METHOD_NOT_ALLOWED, INVALID_REQUEST, message));
    }
    body::read(headers, body, front.limit, share).await.map_err(|fault| match fault.status {
        StatusCode::PAYLOAD_TOO_LARGE => {
            Fault { message: format!("{} (http.body_bytes_max)", fault.message), ..fault }
        }
        _ => fault,
    })
}

/// Longest body that is searched for a handshake, in bytes: a handshake is far smaller.
const HANDSHAKE_BYTES_MAX: usize = 65_536;

/// Whether the answer may be that of a handshake. Only then is it read again for the version that was agreed on.
fn may_initialize(headers: &HeaderMap, body: &[u8]) -> bool {
    const METHOD: &[u8] = b"\"initialize\"";
    !headers.contains_key(VERSION_HEADER)
        && body.len() <= HANDSHAKE_BYTES_MAX
        && body.windows(METHOD.len()).any(|window| window == METHOD)
}

fn negotiated(answer: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(answer).ok()?;
    value["result"]["protocolVersion"].as_str().map(str::to_owned)
}
