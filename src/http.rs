//! The listener: `/mcp` for agents, `/healthz`, `/readyz`, `/metrics` and the keys for operators.
//!
//! Every request gets an answer in JSON that says what was wrong, and every wait on a client has a limit.

mod admin;
mod answered;
mod bearer;
mod body;
mod compat;
mod config;
mod connections;
mod fault;
mod front;
mod guard;
mod last_word;
mod listener;
mod metadata;
mod metrics;
mod ops;
mod page;
mod room;
mod router;
mod tls;

pub use admin::Admin;
pub use config::{AdminConfig, Config};
pub use front::Front;
pub use guard::{reads_host, reads_origin};
pub use listener::{BindError, Listener};
pub use metrics::register_metrics;
pub use ops::{Ops, Readiness};
pub use router::{Operators, admin_router, router};
pub use tls::{Tls, TlsError};
