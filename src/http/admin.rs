//! What operators ask of keys, and what they decide about them: show, list, resolve, forget.
//!
//! Who may is decided in `gate` before anything is read. Whatever changes a key leaves a line in the log, with the key's
//! digest and never the key.

mod answer;
mod ask;
mod gate;
mod given;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, Response, StatusCode, Uri, header};
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::Value;

use super::fault::{Fault, INVALID_REQUEST};
use super::room::Room;
use super::{Config, body};
use crate::access::AdminToken;
use crate::audit::{Audit, Line, What};
use crate::clock;
use crate::idempotency::{Closed, Consent, Handle, Record, Refusal};
use ask::{Forget, Resolve, Whose};
use gate::Gate;

/// Largest body of a request: the longest key, name and reason, each character written as JSON's longest escape.
const BODY_BYTES_MAX: usize = 16_384;

/// The endpoints of keys; a clone is a few counts.
#[derive(Clone)]
pub struct Admin {
    keys: Handle,
    audit: Audit,
    gate: Arc<Gate>,
    limit: body::Limit,
    room: Room,
}

impl Admin {
    /// The endpoints over `keys`. With a token they are open to whoever shows it, otherwise to this machine.
    pub fn new(keys: Handle, token: Option<AdminToken>, audit: Audit, config: &Config) -> Self {
        let patience = Duration::from_secs(config.body_seconds);
        let gate = Arc::new(Gate::new(token, config));
        Self {
            keys,
            audit,
            gate,
            limit: body::Limit { bytes_max: BODY_BYTES_MAX, patience },
            room: Room::new(config.bodies_bytes_max),
        }
    }

    async fn list(&self, query: &str) -> Result<Value, Fault> {
        let listed = self.keys.list(ask::list(query)?).await.map_err(answer::closed)?;
        Ok(answer::listed(&listed))
    }

    async fn show(&self, query: &str) -> Result<Value, Fault> {
        let whose = ask::show(query)?;
        let shown = self.keys.show(whose.identity()).await.map_err(answer::closed)?;
        shown.map(|record| answer::record(&record)).ok_or_else(|| answer::refused(Refusal::Absent))
    }

    async fn resolve(&self, body: &[u8]) -> Result<Value, Fault> {
        let Resolve { whose, settlement, by, why } = ask::resolve(body)?;
        let governed = self.keys.resolve(whose.identity(), settlement).await;
        let record = governed.map_err(|closed| unclear(&whose, closed))?.map_err(answer::refused)?;
        tracing::warn!(
            principal = record.principal.as_str(),
            key = record.key.digest(),
            channel = record.channel.as_str(),
            request_id = record.request_id.as_str(),
            outcome = record.state_name().as_str(),
            by,
            why,
            "an operator has resolved a key in doubt"
        );
        self.note("resolve", &record, |line| {
            line.with("by", by.as_str().into()).with("why", why.as_str().into())
        });
        Ok(answer::record(&record))
    }

    async fn forget(&self, body: &[u8]) -> Result<Value, Fault> {
        let Forget { whose, consent } = ask::forget(body)?;
        let governed = self.keys.forget(whose.identity(), consent).await;
        let record = governed.map_err(|closed| unclear(&whose, closed))?.map_err(answer::refused)?;
        tracing::warn!(
            principal = record.principal.as_str(),
            key = record.key.digest(),
            channel = record.channel.as_str(),
            request_id = record.request_id.as_str(),
            state = record.state_name().as_str(),
            may_run_again = consent == Consent::MayRunAgain,
            "an operator has made a key forgotten"
        );
        let may_run_again = consent == Consent::MayRunAgain;
        self.note("forget", &record, |line| line.with("may_run_again", may_run_again.into()));
        Ok(answer::forgotten(&record))
    }

    /// Notes in the audit what an operator has changed.
    fn note(&self, action: &'static str, record: &Record, more: impl FnOnce(Line) -> Line) {
        self.audit.note(|| {
            let line = Line::new(What::Operator, clock::now())
                .with("action", action.into())
                .with("principal", record.principal.as_str().into())
                .with("channel", record.channel.as_str().into())
                .request(Some(&record.request_id))
                .key(Some(&record.key))
                .with("state", record.state_name().as_str().into());
            more(line)
        });
    }

    async fn change(self, request: Request) -> Result<Value, Fault> {
        let (parts, body) = request.into_parts();
        let body = body::read(&parts.headers, body, self.limit, &mut self.room.share()).await?;
        // A task of its own: an operator who leaves meanwhile has changed the key all the same, and the log must say so.
        let changing = tokio::spawn(async move {
            match parts.uri.path() {
                FORGET => self.forget(&body).await,
                _ => self.resolve(&body).await,
            }
        });
        changing.await.unwrap_or_else(|_| Err(answer::died()))
    }
}

const RESOLVE: &str = "/admin/key/resolve";
const FORGET: &str = "/admin/key/forget";

/// The routes, all behind the gate.
pub(super) fn routes(admin: Admin) -> Router {
    Router::new()
        .route("/admin/keys", get(list).fallback(only_get))
        .route("/admin/key", get(show).fallback(only_get))
        .route(RESOLVE, post(change).fallback(only_post))
        .route(FORGET, post(change).fallback(only_post))
        .route_layer(from_fn_with_state(admin.clone(), gate::checked))
        .with_state(admin)
}

async fn list(State(admin): State<Admin>, uri: Uri) -> Response<Body> {
    answered(admin.list(uri.query().unwrap_or_default()).await)
}

async fn show(State(admin): State<Admin>, uri: Uri) -> Response<Body> {
    answered(admin.show(uri.query().unwrap_or_default()).await)
}

async fn change(State(admin): State<Admin>, request: Request) -> Response<Body> {
    answered(admin.change(request).await)
}

async fn only_get(method: Method) -> Response<Body> {
    wrong_method(&method, "GET")
}

async fn only_post(method: Method) -> Response<Body> {
    wrong_method(&method, "POST")
}

fn wrong_method(method: &Method, right: &'static str) -> Response<Body> {
    let message = format!("{method} is not served here, {right} is");
    let mut response = Fault::new(StatusCode::METHOD_NOT_ALLOWED, INVALID_REQUEST, message).response();
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(right));
    response
}

/// The store does not say whether it has changed a key.
fn unclear(whose: &Whose, closed: Closed) -> Fault {
    let reason = closed.whole();
    let (principal, key) = (whose.principal.as_str(), whose.key.digest());
    tracing::warn!(principal, key, reason, "whether an operator has changed a key is not known");
    answer::unclear(closed)
}

fn answered(result: Result<Value, Fault>) -> Response<Body> {
    let mut response = result.map_or_else(answer::failed, |value| Json(value).into_response());
    // Keys are their agents' secrets, and what becomes of them changes.
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
