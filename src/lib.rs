//! Lets AI agents call the services behind a KubeMQ cluster. The map of the crate; `docs/ARCHITECTURE.md` walks it.

pub mod access;
pub mod app;
pub mod audit;
pub mod broker;
pub mod channel;
pub mod cli;
pub mod clock;
pub mod config;
pub mod domain;
pub mod embedded;
pub mod http;
pub mod idempotency;
pub mod mcp;
pub mod telemetry;
