//! The side agents see: tools, their arguments and their answers.
//!
//! One validator for arguments (`tool/`), one mapping from outcome to answer (`answer`), one order of steps (`actor`).

mod actor;
mod agent;
mod answer;
mod authorize;
mod call;
mod catalogue;
mod config;
#[cfg(feature = "conformance")]
mod conformance;
mod direct;
mod handle;
mod handler;
mod journal;
mod keyed;
mod limited;
mod metrics;
mod progress;
mod server;
mod shard;
mod tool;

pub use agent::{Agent, Leaving, Reads, SUPPORTED_VERSIONS};
pub use call::{Call, Keyed, Lookup, Memory, Report, Status};
pub use config::{ChannelRule, Config};
pub use direct::{Announced, Direct};
pub use handle::Handle;
pub use metrics::register_metrics;
pub use server::Server;
pub use shard::{Parts, Shards};
