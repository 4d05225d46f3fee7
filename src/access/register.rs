//! The tokens file in use, while it changes.
//!
//! A file that is wrong at start stops the start. Later the old tokens stay: a slip of an editor must not lock
//! everybody out.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::SystemTime;

use super::error::TokensError;
use super::file::{self, Stamp};
use super::metrics::Metrics;
use super::refusal::{Refusal, Refused};
use super::token::Tokens;
use crate::domain::Subject;

/// The tokens of a file.
pub struct Register {
    path: PathBuf,
    tokens: RwLock<Tokens>,
    seen: Mutex<Option<Stamp>>,
}

/// What a look at the file brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// It is as it was.
    Unchanged,
    /// Its tokens are those in use.
    Taken,
    /// It is wrong, and the old tokens stay.
    Refused,
}

impl Register {
    /// Reads the file.
    ///
    /// # Errors
    /// When it cannot be read or is wrong.
    pub fn load(path: &Path) -> Result<Self, TokensError> {
        // Before the content, so that a change between the two is seen at the next look.
        let seen = Mutex::new(file::stamp(path));
        let tokens = file::read(path)?;
        tell(path, &tokens);
        Ok(Self { path: path.to_owned(), tokens: RwLock::new(tokens), seen })
    }

    /// Whose token that is, at this time.
    pub fn judge(&self, token: &str, now: SystemTime) -> Result<Subject, Refused> {
        let tokens = self.tokens.read().unwrap_or_else(PoisonError::into_inner);
        let grant = tokens.grant(token).ok_or(Refused::from(Refusal::Unknown))?;
        grant.judge(now).map_err(|refusal| Refused::known(refusal, grant.subject.principal.clone()))
    }

    /// Reads the file again if it has changed. It blocks. One that is wrong is told and counted once, not at every look.
    pub fn look(&self) -> Look {
        let stamp = file::stamp(&self.path);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if *seen == stamp {
            return Look::Unchanged;
        }
        *seen = stamp;
        match file::read(&self.path) {
            Ok(tokens) => {
                tell(&self.path, &tokens);
                *self.tokens.write().unwrap_or_else(PoisonError::into_inner) = tokens;
                Look::Taken
            }
            Err(error) => {
                Metrics::get().files_refused.increment(1);
                tracing::error!(%error, "tokens file not taken, the old tokens stay");
                Look::Refused
            }
        }
    }
}

fn tell(path: &Path, tokens: &Tokens) {
    let file = path.display();
    tracing::info!(%file, tokens = tokens.len(), principals = tokens.principals(), "tokens file read");
}

#[cfg(test)]
mod tests {
    use super::super::{Hash, append};
    use super::*;
    use crate::clock;
    use crate::domain::Principal;

    fn register(content: &str) -> (tempfile::TempDir, PathBuf, Register) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tokens");
        std::fs::write(&path, content).unwrap();
        let register = Register::load(&path).unwrap();
        (directory, path, register)
    }

    fn line(name: &str, token: &str) -> String {
        format!("{name} {}\n", Hash::of(token))
    }

    fn named(name: &str) -> Result<Subject, Refused> {
        Ok(Subject::named(Principal::named(name)))
    }

    #[test]
    fn a_changed_file_is_taken_and_a_wrong_one_leaves_the_old_tokens() {
        let (_directory, path, register) = register(&line("a", "one"));
        let shows = |token| register.judge(token, clock::now());
        let unknown = || Err(Refused::from(Refusal::Unknown));
        assert_eq!(register.look(), Look::Unchanged);
        append(&path, line("a", "second").trim()).unwrap();
        assert_eq!(register.look(), Look::Taken);
        assert_eq!((shows("one"), shows("second")), (named("a"), named("a")));
        std::fs::write(&path, line("a", "second")).unwrap();
        assert_eq!(register.look(), Look::Taken);
        assert_eq!(shows("one"), unknown());
        for wrong in [Some("nonsense"), None] {
            match wrong {
                Some(text) => std::fs::write(&path, text).unwrap(),
                None => std::fs::remove_file(&path).unwrap(),
            }
            assert_eq!((register.look(), register.look()), (Look::Refused, Look::Unchanged), "told once");
            assert_eq!(shows("second"), named("a"));
        }
        std::fs::write(&path, "# nobody\n").unwrap();
        assert_eq!(register.look(), Look::Taken);
        assert_eq!(shows("second"), unknown());
    }

    #[test]
    fn a_wrong_file_stops_the_start() {
        let loaded = Register::load(Path::new("/nowhere/tokens"));
        assert!(matches!(loaded, Err(TokensError::Unreadable { .. })));
    }
}
