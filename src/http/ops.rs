//! What operators and orchestrators ask: alive, ready, figures.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::future::BoxFuture;
use serde::Serialize;

/// Whether the connector can do its work, and what is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Readiness {
    /// Everything below is well.
    pub ready: bool,
    /// Whether it is stopping: what is in flight may end, nothing new should come.
    pub draining: bool,
    /// Whether the broker answers.
    pub broker_up: bool,
    /// The broker's address, or addresses.
    pub broker: String,
    /// What the broker said of itself, or why it is not reachable.
    pub broker_detail: String,
    /// Whether the actors take their mail.
    pub actors_answer: bool,
    /// Whether keys can be recorded.
    pub store_up: bool,
    /// Why they cannot, or why no new ones can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store_detail: Option<String>,
    /// Whether the audit can be written; true without one.
    pub audit_up: bool,
    /// Why it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audit_detail: Option<String>,
    /// What an operator must know: that the broker is the embedded one, for development, and keeps nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
}

/// Where the answers come from.
#[derive(Clone)]
pub struct Ops {
    /// Looks whether the connector is ready.
    pub readiness: Arc<dyn Fn() -> BoxFuture<'static, Readiness> + Send + Sync>,
    /// Writes the metrics in Prometheus' text format.
    pub metrics: Arc<dyn Fn() -> String + Send + Sync>,
}

/// Alive: the process answers. Nothing else is asked, so that a broker's failure never restarts the connector.
pub(super) async fn healthz() -> &'static str {
    "ok\n"
}

/// Ready: the broker is reachable, the actors answer and the store can be written; 503 otherwise.
pub(super) async fn readyz(State(ops): State<Ops>) -> Response {
    let readiness = (ops.readiness)().await;
    let status = if readiness.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(readiness)).into_response()
}

/// The figures.
pub(super) async fn metrics(State(ops): State<Ops>) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], (ops.metrics)()).into_response()
}
