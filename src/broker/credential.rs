//! The token we show to the broker, and its change while we run.
//!
//! The official client asks its credential provider again only near an expiry that a file does not tell, so a changed
//! file means a new client here. A file that cannot be read is an error at start; later the old token stays.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::SystemTime;

use tonic::metadata::{Ascii, MetadataValue};

use super::config::Config;
use super::error::ConfigError;
use super::secret::Secret;

/// Where the official client itself looks for a token; honoured here too, so that both our doors show the same one.
const LIBRARY_VARIABLE: &str = "KUBEMQ_AUTH_TOKEN";

/// The current token and where it comes from.
pub(super) struct Credential {
    file: Option<PathBuf>,
    token: RwLock<Option<Secret>>,
    seen: Mutex<Option<Stamp>>,
}

/// What tells a changed file cheaply.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    bytes: u64,
}

/// What looking at the file again brought.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reload {
    /// The same token.
    Unchanged,
    /// Another token, now in use.
    Changed,
}

impl Credential {
    /// Takes the token from the configuration, its file or the environment, in this order.
    pub(super) fn load(config: &Config) -> Result<Self, ConfigError> {
        if !config.auth_token_file.is_empty() {
            let path = Path::new(&config.auth_token_file);
            let stamp = stamp_of(path).ok();
            let token = read(path)?;
            let (token, seen) = (RwLock::new(Some(token)), Mutex::new(stamp));
            return Ok(Self { file: Some(path.to_owned()), token, seen });
        }
        let token = match config.auth_token.is_empty() {
            false => Some(config.auth_token.clone()),
            true => std::env::var(LIBRARY_VARIABLE).ok().filter(|text| !text.is_empty()).map(Secret::from),
        };
        if let Some(token) = &token {
            check("auth_token", token)?;
        }
        Ok(Self { file: None, token: RwLock::new(token), seen: Mutex::new(None) })
    }

    /// The token to show now.
    pub(super) fn token(&self) -> Option<Secret> {
        self.token.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The same as the value of the `authorization` header.
    pub(super) fn header(&self) -> Option<MetadataValue<Ascii>> {
        // Checked when it was read, so that a token never fails here.
        self.token().and_then(|token| token.expose().parse().ok())
    }

    /// Looks whether the file has changed, and takes its token if so.
    ///
    /// # Errors
    /// The file cannot be read or holds no token; the old token stays in use, and the same content is not tried again.
    pub(super) fn reload(&self) -> Result<Reload, ConfigError> {
        let Some(path) = &self.file else { return Ok(Reload::Unchanged) };
        let stamp = stamp_of(path).ok();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if *seen == stamp {
            return Ok(Reload::Unchanged);
        }
        // Kept before the content is read: a bad file is then told once, not at every look.
        *seen = stamp;
        let fresh = Some(read(path)?);
        let mut token = self.token.write().unwrap_or_else(PoisonError::into_inner);
        if *token == fresh {
            return Ok(Reload::Unchanged);
        }
        *token = fresh;
        Ok(Reload::Changed)
    }
}

fn stamp_of(path: &Path) -> std::io::Result<Stamp> {
    let metadata = std::fs::metadata(path)?;
    Ok(Stamp { modified: metadata.modified().ok(), bytes: metadata.len() })
}

fn read(path: &Path) -> Result<Secret, ConfigError> {
    const KEY: &str = "auth_token_file";
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Unreadable {
        key: KEY,
        path: shown.clone(),
        source,
    })?;
    // Editors and `echo` end the file with a line break that belongs to no token.
    let token = Secret::from(text.trim_end_matches(['\r', '\n']));
    if token.is_empty() {
        return Err(ConfigError::Content { key: KEY, path: shown, right: "token in it" });
    }
    check(KEY, &token)?;
    Ok(token)
}

fn check(key: &'static str, token: &Secret) -> Result<(), ConfigError> {
    token.expose().parse::<MetadataValue<Ascii>>().map(drop).map_err(|_| ConfigError::Token { key })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_file(text: &str) -> (tempfile::NamedTempFile, Result<Credential, ConfigError>) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let config = Config { auth_token_file: file.path().to_str().unwrap().into(), ..Config::default() };
        (file, Credential::load(&config))
    }

    #[test]
    fn the_line_break_at_the_end_of_the_file_is_no_part_of_the_token() {
        let (_file, credential) = of_file("raw.token\r\n");
        assert_eq!(credential.unwrap().token(), Some("raw.token".into()));
    }

    #[test]
    fn a_file_without_a_token_is_an_error_at_start() {
        let (file, credential) = of_file("\n");
        let text = credential.err().unwrap().to_string();
        let path = file.path().display();
        assert_eq!(text, format!("`broker.auth_token_file` is `{path}`, which has no token in it"));
        let config = Config { auth_token_file: "/nowhere/token".into(), ..Config::default() };
        assert!(matches!(Credential::load(&config), Err(ConfigError::Unreadable { .. })));
    }

    #[test]
    fn a_token_that_no_header_carries_is_refused_without_being_shown() {
        let config = Config { auth_token: "two\nlines".into(), ..Config::default() };
        let text = Credential::load(&config).err().unwrap().to_string();
        assert!(text.contains("`broker.auth_token`") && !text.contains("lines "), "{text}");
    }

    #[test]
    fn a_changed_file_is_taken_and_a_bad_one_is_told_once() {
        let (file, credential) = of_file("one");
        let credential = credential.unwrap();
        assert_eq!(credential.reload().unwrap(), Reload::Unchanged);
        std::fs::write(file.path(), "second").unwrap();
        assert_eq!(credential.reload().unwrap(), Reload::Changed);
        assert_eq!(credential.token(), Some("second".into()));
        std::fs::write(file.path(), "").unwrap();
        assert!(credential.reload().is_err());
        assert_eq!(credential.reload().unwrap(), Reload::Unchanged);
        assert_eq!(credential.token(), Some("second".into()));
    }
}
