//! The whole configuration, composed of each layer's own.
//!
//! The file is weakest, then the environment, then the flags of the command line. What is wrong in any of them is
//! told at once, with its place, and nothing starts: a connector that runs with a limit nobody meant is worse than
//! one that does not run.

mod conflict;
mod document;
mod draft;
mod environment;
mod error;
mod file;
mod nearest;
mod rule;
mod setting;
mod table;
mod value;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Deserialize;

pub use document::{render_file, render_table};
pub use environment::lookalikes;
pub use error::{ConfigError, Place, Problem};

use crate::access::{Policy, Service};
use crate::{access, app, audit, broker, channel, embedded, http, idempotency, mcp, telemetry};
use draft::Draft;
use file::Presence;

/// The file that is read when none is named, in the directory we are started in.
pub const USUAL_FILE: &str = "config.toml";

/// Everything that can be set.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The process.
    pub server: app::Config,
    /// The log.
    pub log: telemetry::Config,
    /// The listener.
    pub http: http::Config,
    /// What operators ask: health, metrics, keys.
    pub admin: http::AdminConfig,
    /// Who calls.
    pub auth: access::Config,
    /// How much each caller may do.
    pub limits: access::LimitConfig,
    /// Who did what.
    pub audit: audit::Config,
    /// The connection to the broker.
    pub broker: broker::Config,
    /// The embedded broker.
    pub embedded: embedded::Config,
    /// What may wait for replies.
    pub channel: channel::Config,
    /// What one tool call may be.
    pub tool: mcp::Config,
    /// What is remembered of commands with a key.
    pub store: idempotency::Config,
    /// What holds on some channels only; the first entry that matches wins.
    pub channels: Vec<mcp::ChannelRule>,
    /// Who may do what.
    pub policy: Vec<access::Entry>,
}

/// Where a configuration comes from, weakest first.
#[derive(Clone, Debug, Default)]
pub struct Sources<E> {
    /// A file that somebody named, and that must be there. Without one, [`USUAL_FILE`] is read if it is there.
    pub file: Option<PathBuf>,
    /// The environment, such as `std::env::vars_os()`.
    pub environment: E,
    /// Flags of the command line that stand for options.
    pub flags: Vec<Flag>,
}

/// A flag of the command line that stands for an option.
#[derive(Clone, Debug)]
pub struct Flag {
    /// The option, `section.key`.
    pub key: &'static str,
    /// The flag as its user knows it, `--listen`.
    pub name: &'static str,
    /// The value as it was given.
    pub value: String,
}

impl Config {
    /// Reads the file and lays the environment and the flags over it.
    ///
    /// # Errors
    /// All problems of all sources.
    ///
    /// # Panics
    /// When a flag stands for an option that does not exist, which is a slip in our own command line.
    pub fn load<E>(sources: Sources<E>) -> Result<Self, ConfigError>
    where
        E: IntoIterator<Item = (OsString, OsString)>,
    {
        let mut draft = Draft::default();
        match &sources.file {
            Some(path) => file::read(&mut draft, path, Presence::Required),
            None => file::read(&mut draft, Path::new(USUAL_FILE), Presence::Optional),
        }
        environment::read(&mut draft, sources.environment);
        for flag in sources.flags {
            let setting = table::find(flag.key).expect("our flags stand for options that exist");
            draft.set_text(setting, Place::Flag(flag.name.into()), &flag.value);
        }
        draft.finish()
    }

    /// Who may do what, of all that is said of it.
    pub fn policy(&self) -> Policy {
        let service = if self.server.read_only { Service::ReadOnly } else { Service::Whole };
        Policy::new(self.policy.clone(), service)
    }
}
