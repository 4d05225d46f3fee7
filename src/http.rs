//! The listener.

mod config;

pub use config::{AdminConfig, Config};
