//! Lets AI agents call the services behind a KubeMQ cluster. The map of the crate; `docs/ARCHITECTURE.md` walks it.

pub mod broker;
pub mod domain;
pub mod embedded;
