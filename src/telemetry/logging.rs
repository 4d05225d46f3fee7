//! The log: lines for people or JSON for machines, on standard error. Standard output belongs to answers.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::{Config, Format};

/// What rmcp logs of each request, and at debug level the whole of it, secrets included. Nothing of it is needed: one line
/// per call is ours.
const ALWAYS_OFF: [&str; 2] = ["rmcp=off", "h2=warn"];

/// Why the log cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The level is neither a level nor a filter.
    #[error(
        "log.level `{level}` is neither error, warn, info, debug or trace nor a filter such as `info,kubemq_mcp=debug`"
    )]
    Level {
        /// What was configured.
        level: String,
        /// What the parser said.
        source: tracing_subscriber::filter::ParseError,
    },
}

/// Installs the log. Later calls in one process (as in tests) leave the first in place.
///
/// # Errors
/// When the level cannot be read.
pub fn install_log(config: &Config) -> Result<(), LogError> {
    let mut filter = EnvFilter::try_new(&config.level)
        .map_err(|source| LogError::Level { level: config.level.clone(), source })?;
    for directive in ALWAYS_OFF {
        filter = filter.add_directive(directive.parse().expect("a fixed directive parses"));
    }
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false);
    let registry = tracing_subscriber::registry().with(filter);
    // An error means that a log is installed already.
    let _ = match config.format {
        Format::Text => registry.with(lines.with_ansi(false)).try_init(),
        Format::Json => registry.with(lines.json().flatten_event(true)).try_init(),
    };
    Ok(())
}
