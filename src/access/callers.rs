//! Who a caller is, by the token it shows, while the tokens file changes.
//!
//! A file that is wrong at start stops the start. Later the old tokens stay: a slip of an editor must not lock
//! everybody out.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use super::config::Config;
use super::error::TokensError;
use super::file::{self, Stamp};
use super::metrics::Metrics;
use super::token::Tokens;
use crate::domain::Subject;

/// Between two looks at the file: as long as a token that was taken back may still work.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Everybody who may call; a clone is one count.
#[derive(Clone)]
pub struct Callers {
    inner: Arc<Inner>,
}

struct Inner {
    nameless: Nameless,
    /// Nothing when there are no tokens at all.
    known: Option<Known>,
}

struct Known {
    path: PathBuf,
    tokens: RwLock<Tokens>,
    seen: Mutex<Option<Stamp>>,
}

/// What becomes of a caller that shows no token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nameless {
    Served,
    Refused,
}

/// What a look at the file brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Unchanged,
    Taken,
    Refused,
}

/// What a caller shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Presented<'a> {
    /// Nothing.
    Nothing,
    /// A token.
    Token(&'a str),
    /// Something that is no token, or several of them.
    Unreadable,
}

/// Why a caller is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// Nobody has this token.
    Unknown,
    /// What was shown is no token.
    Malformed,
    /// A token is needed and none was shown.
    Missing,
}

impl Refusal {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Unknown, Self::Malformed, Self::Missing];

    /// The word for logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Malformed => "malformed",
            Self::Missing => "missing",
        }
    }
}

impl Callers {
    /// Reads the tokens file, if there is one.
    ///
    /// # Errors
    /// When it cannot be read or is wrong.
    pub fn load(config: &Config) -> Result<Self, TokensError> {
        let nameless = if config.token_required { Nameless::Refused } else { Nameless::Served };
        if config.tokens_file.is_empty() {
            assert!(
                nameless == Nameless::Served,
                "the configuration asks for a file when a token is required"
            );
            return Ok(Self { inner: Arc::new(Inner { nameless, known: None }) });
        }
        let path = PathBuf::from(&config.tokens_file);
        // Before the content, so that a change between the two is seen at the next look.
        let seen = Mutex::new(file::stamp(&path));
        let tokens = file::read(&path)?;
        tell(&path, &tokens);
        let known = Some(Known { path, tokens: RwLock::new(tokens), seen });
        Ok(Self { inner: Arc::new(Inner { nameless, known }) })
    }

    /// Who that is.
    ///
    /// Without a tokens file everybody is anonymous, whatever is shown: many clients send a header that was meant for
    /// somebody else.
    ///
    /// # Errors
    /// When the caller is not served, which is counted.
    pub fn identify(&self, presented: Presented<'_>) -> Result<Subject, Refusal> {
        let Some(known) = &self.inner.known else { return Ok(Subject::anonymous()) };
        let found = match presented {
            Presented::Nothing if self.inner.nameless == Nameless::Served => Ok(Subject::anonymous()),
            Presented::Nothing => Err(Refusal::Missing),
            Presented::Unreadable => Err(Refusal::Malformed),
            Presented::Token(token) => {
                let tokens = known.tokens.read().unwrap_or_else(PoisonError::into_inner);
                tokens.principal(token).map(Subject::named).ok_or(Refusal::Unknown)
            }
        };
        found.inspect_err(|refusal| Metrics::get().token_refused(*refusal))
    }

    /// Takes changes of the file into use, until dropped.
    pub async fn keep_up(self) {
        if self.inner.known.is_none() {
            return;
        }
        let mut looks = tokio::time::interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            let callers = self.clone();
            // On a thread of its own: a file system that hangs must not hold up a call. An error is a panic, which the
            // log has; the next look is due all the same.
            let _ = tokio::task::spawn_blocking(move || callers.look()).await;
        }
    }

    /// Reads the file again if it has changed. One that is wrong is told and counted once, not at every look.
    fn look(&self) -> Look {
        let Some(known) = &self.inner.known else { return Look::Unchanged };
        let stamp = file::stamp(&known.path);
        let mut seen = known.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if *seen == stamp {
            return Look::Unchanged;
        }
        *seen = stamp;
        match file::read(&known.path) {
            Ok(tokens) => {
                tell(&known.path, &tokens);
                *known.tokens.write().unwrap_or_else(PoisonError::into_inner) = tokens;
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
    use crate::domain::Principal;

    fn callers(content: &str, token_required: bool) -> (tempfile::TempDir, PathBuf, Callers) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tokens");
        std::fs::write(&path, content).unwrap();
        let config = Config { tokens_file: path.to_str().unwrap().into(), token_required };
        let callers = Callers::load(&config).unwrap();
        (directory, path, callers)
    }

    fn line(name: &str, token: &str) -> String {
        format!("{name} {}\n", Hash::of(token))
    }

    fn named(name: &str) -> Result<Subject, Refusal> {
        Ok(Subject::named(Principal::named(name)))
    }

    #[test]
    fn without_a_file_everybody_is_anonymous_whatever_is_shown() {
        let callers = Callers::load(&Config::default()).unwrap();
        for shown in [Presented::Nothing, Presented::Token("any"), Presented::Unreadable] {
            assert_eq!(callers.identify(shown), Ok(Subject::anonymous()));
        }
    }

    #[test]
    fn a_token_names_its_owner_and_anything_else_that_is_shown_is_refused() {
        for token_required in [false, true] {
            let (_directory, _, callers) = callers(&(line("a", "one") + &line("b", "two")), token_required);
            assert_eq!(callers.identify(Presented::Token("one")), named("a"));
            assert_eq!(callers.identify(Presented::Token("two")), named("b"));
            assert_eq!(callers.identify(Presented::Token("three")), Err(Refusal::Unknown));
            assert_eq!(callers.identify(Presented::Unreadable), Err(Refusal::Malformed));
            let nameless = if token_required { Err(Refusal::Missing) } else { named("anonymous") };
            assert_eq!(callers.identify(Presented::Nothing), nameless);
        }
    }

    #[test]
    fn a_changed_file_is_taken_and_a_wrong_one_leaves_the_old_tokens() {
        let (_directory, path, callers) = callers(&line("a", "one"), true);
        assert_eq!(callers.look(), Look::Unchanged);
        append(&path, line("a", "second").trim()).unwrap();
        assert_eq!(callers.look(), Look::Taken);
        assert_eq!(callers.identify(Presented::Token("one")), named("a"));
        assert_eq!(callers.identify(Presented::Token("second")), named("a"));
        std::fs::write(&path, line("a", "second")).unwrap();
        assert_eq!(callers.look(), Look::Taken);
        assert_eq!(callers.identify(Presented::Token("one")), Err(Refusal::Unknown));
        for wrong in [Some("nonsense"), None] {
            match wrong {
                Some(text) => std::fs::write(&path, text).unwrap(),
                None => std::fs::remove_file(&path).unwrap(),
            }
            assert_eq!((callers.look(), callers.look()), (Look::Refused, Look::Unchanged), "told once");
            assert_eq!(callers.identify(Presented::Token("second")), named("a"));
        }
        std::fs::write(&path, "# nobody\n").unwrap();
        assert_eq!(callers.look(), Look::Taken);
        assert_eq!(callers.identify(Presented::Token("second")), Err(Refusal::Unknown));
    }

    #[test]
    fn a_wrong_file_stops_the_start() {
        let config = Config { tokens_file: "/nowhere/tokens".into(), token_required: false };
        assert!(matches!(Callers::load(&config), Err(TokensError::Unreadable { .. })));
    }
}
