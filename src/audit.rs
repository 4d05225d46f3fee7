//! Who did what, one line each: before a command leaves, and when a call has ended.
//!
//! A line has names, times and outcomes; never a body, a tag, a key or a token. A command whose intent cannot be written
//! is not sent: an effect that nobody can account for is worse than one that waits.

mod config;
mod file;
mod handle;
mod line;
mod metrics;
mod writer;

pub use config::Config;
pub use file::OpenError;
pub use handle::{Audit, PATIENCE, Unavailable};
pub use line::{Line, What};
pub use metrics::register_metrics;
