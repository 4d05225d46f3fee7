//! One actor per KubeMQ channel: everything in flight on it, and nothing else.
//!
//! A waiter is never lost: it gets the broker's answer, or a fault, or learns that the actor died.

mod actor;
mod config;
mod error;
mod handle;
mod metrics;
mod pending;
mod places;
mod registry;

pub use config::Config;
pub use error::{AskError, ReserveError};
pub use handle::{Asked, Handle, Ticket};
pub use metrics::register_metrics;
pub use registry::{Registry, Seats};
