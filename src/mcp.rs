//! The side agents see.

mod config;

pub use config::{ChannelRule, Config};
