//! Which path is served by whom.

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{any, get};

use super::admin::{self, Admin};
use super::fault::{Fault, INVALID_REQUEST};
use super::front::{self, Front};
use super::guard;
use super::metadata;
use super::ops::{self, Ops};
use crate::access::METADATA_PATH;

/// What operators ask.
pub struct Operators {
    /// Health and metrics.
    pub ops: Ops,
    /// Keys.
    pub admin: Admin,
}

/// The routes of `server.listen`. Those of operators are among them unless they have an address of their own.
pub fn router(front: Front, operators: Option<Operators>) -> Router {
    let mut router = Router::new().route("/mcp", any(front::serve));
    // RFC 9728 puts the path of the resource behind the well-known one; some clients ask without it.
    for path in [METADATA_PATH.to_owned(), format!("{METADATA_PATH}/mcp")] {
        router = router.route(&path, any(metadata::serve));
    }
    router = router.fallback(unknown_path);
    let guarded = router.with_state(front.clone());
    let all = match operators {
        Some(operators) => guarded.merge(operator_routes(operators)),
        None => guarded,
    };
    all.layer(from_fn_with_state(front, guard::checked))
}

/// The routes of `admin.listen`: scrapers and probes come by address, so any `Host` is answered here, but for keys.
pub fn admin_router(operators: Operators) -> Router {
    operator_routes(operators)
}

fn operator_routes(Operators { ops, admin }: Operators) -> Router {
    Router::new()
        .route("/healthz", get(ops::healthz))
        .route("/readyz", get(ops::readyz))
        .route("/metrics", get(ops::metrics))
        .with_state(ops)
        .merge(admin::routes(admin))
}

async fn unknown_path(State(front): State<Front>, uri: Uri) -> Response {
    let path: String = uri.path().chars().take(80).collect();
    let message = format!("nothing is served at {path}; the endpoint is /mcp");
    front.finish(Fault::new(StatusCode::NOT_FOUND, INVALID_REQUEST, message).response(), None)
}
