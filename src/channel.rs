//! One actor per channel.

mod config;

pub use config::Config;
