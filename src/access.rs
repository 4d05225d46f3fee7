//! Who calls: tokens, the file that names their owners, and what a caller without one may do.
//!
//! A principal comes from a token that was verified here, never from what a caller says of itself.

mod admin;
mod callers;
mod config;
mod error;
mod file;
mod metrics;
mod mint;
mod token;

pub use admin::AdminToken;
pub use callers::{Callers, Presented, Refusal};
pub use config::Config;
pub use error::{AdminTokenError, Mistake, TokensError};
pub use file::append;
pub use metrics::register_metrics;
pub use mint::{MintError, Minted};
pub use token::{Hash, TOKENS_FILE_BYTES_MAX, TOKENS_MAX, Tokens};
