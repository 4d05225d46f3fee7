//! The embedded development broker.

mod config;

pub use config::Config;
