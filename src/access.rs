//! Who calls: tokens and JWTs, what names their owners, and what a caller without one may do.
//!
//! A principal comes from a credential that was verified here, never from what a caller says of itself.

mod admin;
mod algorithm;
mod callers;
mod challenge;
mod config;
mod error;
mod fetch;
mod file;
mod jwks;
mod jwt;
mod limit;
mod metrics;
mod mint;
mod policy;
mod refusal;
mod register;
mod scope;
mod token;

pub use admin::AdminToken;
pub use algorithm::Algorithm;
pub use callers::{CREDENTIAL_BYTES_MAX, Callers};
pub use challenge::{Challenge, METADATA_PATH};
pub use config::{Config, Mode};
pub use error::{AdminTokenError, JwksError, LoadError, Mistake, TokensError};
pub use fetch::is_loopback;
pub use file::{Stamp, append, stamp};
pub use jwt::JwksMistake;
pub use limit::{Allowance, Excess, LimitConfig, Limits, Rate};
pub use metrics::register_metrics;
pub use mint::{MintError, Minted};
pub use policy::{Allowed, Basis, Bounds, Denied, ENTRIES_MAX, Entry, Policy, Reason, Service, ToolSet, Who};
pub use refusal::{Presented, Refusal};
pub use scope::is_scope;
pub use token::{Grant, Hash, TOKENS_FILE_BYTES_MAX, TOKENS_MAX, Tokens, is_group};
