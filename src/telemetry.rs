//! Tracing and metrics.

mod config;

pub use config::{Config, Format};
