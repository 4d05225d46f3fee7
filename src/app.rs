//! The composition root.

mod config;

pub use config::Config;
