//! The one token of operators, in a file of its own.
//!
//! Whoever shows it governs the keys of everybody, so it is kept as its hash only and compared in constant time. A file
//! that is wrong at start stops the start; later the old token stays, as with the tokens of callers.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::error::AdminTokenError;
use super::file::{self, Stamp};
use super::metrics::Metrics;
use super::refusal::{Presented, Refusal, Refused};
use super::token::Hash;

/// Shortest token, in bytes: it opens the endpoint to every address, and nothing slows down a caller who guesses.
const TOKEN_BYTES_MIN: usize = 16;

/// Longest token, in bytes: what the head of a request has room for by far.
const TOKEN_BYTES_MAX: usize = 8192;

/// The token that operators show.
pub struct AdminToken {
    path: PathBuf,
    kept: Mutex<Kept>,
}

#[derive(Clone, Copy)]
struct Kept {
    seen: Option<Stamp>,
    hash: Hash,
}

impl AdminToken {
    /// Reads the token.
    ///
    /// # Errors
    /// When the file cannot be read, or when what is there is no token.
    pub fn load(path: &Path) -> Result<Self, AdminTokenError> {
        // Before the content, so that a change between the two is seen at the next look.
        let seen = file::stamp(path);
        let hash = read(path)?;
        Ok(Self { path: path.to_owned(), kept: Mutex::new(Kept { seen, hash }) })
    }

    /// Reads the file again if it has changed. It blocks; one that is wrong is told once, and the old token stays.
    pub fn look(&self) {
        let stamp = file::stamp(&self.path);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.seen == stamp {
            return;
        }
        kept.seen = stamp;
        match read(&self.path) {
            Ok(hash) => {
                kept.hash = hash;
                tracing::info!(file = %self.path.display(), "the operators' token was read");
            }
            Err(error) => tracing::error!(%error, "the operators' token was not taken, the old one stays"),
        }
    }

    /// Lets an operator in.
    ///
    /// # Errors
    /// When it is not this token, which is counted.
    pub fn admit(&self, presented: Presented<'_>) -> Result<(), Refusal> {
        let right = self.kept.lock().unwrap_or_else(PoisonError::into_inner).hash;
        let admitted = match presented {
            Presented::Nothing => Err(Refusal::Missing),
            Presented::Unreadable => Err(Refusal::Malformed),
            Presented::Token(token) if Hash::of(token).is(right) => Ok(()),
            Presented::Token(_) => Err(Refusal::Unknown),
        };
        admitted.inspect_err(|refusal| {
            Metrics::get().token_refused(*refusal);
            Refused::from(*refusal).tell();
        })
    }
}

fn read(path: &Path) -> Result<Hash, AdminTokenError> {
    let shown = || path.display().to_string();
    let bytes = content(path).map_err(|cause| AdminTokenError::Unreadable { path: shown(), cause })?;
    // Editors and shells end the file with a line break that belongs to no token.
    let text = std::str::from_utf8(&bytes).map(|text| text.trim_end_matches(['\r', '\n']));
    let reason = match text {
        Ok("") => "it is empty",
        Ok(text) if !text.bytes().all(|byte| byte.is_ascii_graphic()) => {
            "it has a space, a second line or a character beyond ASCII"
        }
        Ok(text) if text.len() < TOKEN_BYTES_MIN => "it is shorter than 16 characters",
        Ok(text) if text.len() > TOKEN_BYTES_MAX => "it is longer than any token",
        Ok(text) => return Ok(Hash::of(text)),
        Err(_) => "it is not text",
    };
    Err(AdminTokenError::Unfit { path: shown(), reason })
}

fn content(path: &Path) -> io::Result<Vec<u8>> {
    let limit = u64::try_from(TOKEN_BYTES_MAX).expect("a small number");
    let file = File::open(path)?;
    file::warn_of_others(path, &file)?;
    let mut bytes = Vec::new();
    // Room for a line break, and for one byte that makes it too long.
    file.take(limit + 3).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RIGHT: &str = "0123456789abcdef";

    fn written(content: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        file
    }

    #[test]
    fn only_this_token_is_let_in() {
        for content in [RIGHT.to_owned(), format!("{RIGHT}\n"), format!("{RIGHT}\r\n")] {
            let file = written(content.as_bytes());
            let token = AdminToken::load(file.path()).unwrap();
            assert_eq!(token.admit(Presented::Token(RIGHT)), Ok(()));
            assert_eq!(token.admit(Presented::Token("0123456789abcdee")), Err(Refusal::Unknown));
            assert_eq!(token.admit(Presented::Token("")), Err(Refusal::Unknown));
            assert_eq!(token.admit(Presented::Nothing), Err(Refusal::Missing));
            assert_eq!(token.admit(Presented::Unreadable), Err(Refusal::Malformed));
        }
    }

    #[test]
    fn what_is_no_token_is_refused_without_being_shown() {
        let long = "x".repeat(TOKEN_BYTES_MAX);
        for (content, part) in [
            (String::new(), "empty"),
            ("hunter2".into(), "shorter than 16"),
            ("hunter2 hunter2 hunter2".into(), "a space"),
            ("hunter2hunter2hunter2\nhunter2".into(), "a second line"),
            (format!("hunter2{long}"), "longer"),
        ] {
            let error = AdminToken::load(written(content.as_bytes()).path()).err().unwrap().to_string();
            assert!(error.contains(part) && !error.contains("hunter2"), "{error}");
        }
        assert!(
            AdminToken::load(written(&[0xff; 20]).path()).err().unwrap().to_string().contains("not text")
        );
        let nowhere = AdminToken::load(Path::new("/nowhere/token"));
        assert!(matches!(nowhere, Err(AdminTokenError::Unreadable { .. })));
    }

    #[test]
    fn a_changed_file_is_taken_and_a_wrong_one_leaves_the_old_token() {
        let file = written(RIGHT.as_bytes());
        let token = AdminToken::load(file.path()).unwrap();
        std::fs::write(file.path(), "fedcba9876543210-new").unwrap();
        token.look();
        assert_eq!(token.admit(Presented::Token("fedcba9876543210-new")), Ok(()));
        assert_eq!(token.admit(Presented::Token(RIGHT)), Err(Refusal::Unknown));
        std::fs::write(file.path(), "").unwrap();
        token.look();
        assert_eq!(token.admit(Presented::Token("fedcba9876543210-new")), Ok(()));
    }
}
