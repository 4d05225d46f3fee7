//! The embedded development broker: an in-memory stand-in for KubeMQ, speaking its gRPC protocol.
//!
//! It answers like the real one, codes and texts included, and keeps nothing. It knows the generated protobuf and
//! nothing of ours: a stand-in that shares code with what it checks proves nothing.
//!
//! ```text
//!  caller --SendRequest--> validation -> cache -> routes -> inbox of each chosen subscriber --stream--> responder
//!     ^                                    pending                                                         |
//!     +---------- first reply wins ----------+------------------------------------------SendResponse-------+
//! ```

mod admin;
mod cache;
mod config;
mod connection;
mod counter;
mod delivery;
mod directory;
mod error;
mod fault;
mod figures;
mod hub;
mod identifier;
mod listing;
mod oversize;
mod pending;
mod reply;
mod request;
mod routes;
mod server;
mod service;
mod subscription;
mod validation;
mod wall_clock;

pub use config::Config;
pub use error::StartError;
pub use figures::Figures;
pub use server::EmbeddedBroker;
