//! The options of the audit: `[audit]`.

use serde::Deserialize;

use super::file::{self, OpenError};

/// Where the lines go, and how long they are kept.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The file; empty for no audit, `-` for standard output.
    pub path: String,
    /// Whether each batch of lines is made durable before a command leaves.
    pub sync: bool,
    /// Size at which a file is put aside.
    pub file_bytes_max: u64,
    /// Age at which a file is put aside.
    pub rotate_seconds: u64,
    /// Files put aside that are kept.
    pub files_kept_max: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            path: String::new(),
            sync: false,
            file_bytes_max: 104_857_600,
            rotate_seconds: 86_400,
            files_kept_max: 30,
        }
    }
}

impl Config {
    /// Looks whether it could be written. A file that is not there is not made.
    ///
    /// # Errors
    /// When it could not.
    pub fn check(&self) -> Result<(), OpenError> {
        file::check(self)
    }

    /// Whether there is an audit.
    pub fn is_on(&self) -> bool {
        !self.path.is_empty()
    }
}
