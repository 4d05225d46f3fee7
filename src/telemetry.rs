//! Sets up logging and metrics, once per process.

mod config;
mod logging;
mod recorder;

pub use config::{Config, Format};
pub use logging::{LogError, install_log};
pub use recorder::{Figures, install_recorder};
