//! Who a caller is, by the credential it shows: the one door of this layer.
//!
//! Whatever is not certain is refused. A caller that shows something wrong is never taken for one that shows nothing.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use super::challenge::{self, Challenge};
use super::config::{Config, Mode};
use super::error::LoadError;
use super::jwks::Jwks;
use super::metrics::Metrics;
use super::refusal::{Presented, Refusal, Refused};
use super::register::Register;
use super::scope;
use crate::clock;
use crate::domain::Subject;

/// Between two looks at a file: as long as a token that was taken back may still work.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Largest token or JWT, in bytes. What is larger is refused before anything is made of it.
pub const CREDENTIAL_BYTES_MAX: usize = 16_384;

/// Everybody who may call; a clone is one count.
#[derive(Clone)]
pub struct Callers {
    inner: Arc<Inner>,
}

struct Inner {
    nameless: Nameless,
    authority: Authority,
    scopes_required: Vec<String>,
    challenge: Challenge,
    metadata: Option<String>,
}

/// Who says whose credential it is.
enum Authority {
    /// Nobody: there are no credentials, and everybody is anonymous.
    Nobody,
    Tokens(Arc<Register>),
    Issuer(Arc<Jwks>),
}

/// What becomes of a caller that shows nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nameless {
    Served,
    Refused,
}

impl Callers {
    /// Reads what credentials are checked against.
    ///
    /// # Errors
    /// When it cannot be read or is wrong: nobody could be let in.
    pub async fn load(config: &Config) -> Result<Self, LoadError> {
        let authority = match config.mode {
            Mode::None => Authority::Nobody,
            Mode::Tokens => Authority::Tokens(Arc::new(Register::load(Path::new(&config.tokens_file))?)),
            Mode::Jwt => Authority::Issuer(Jwks::load(config).await?),
        };
        let nameless = if config.serves_anonymous() { Nameless::Served } else { Nameless::Refused };
        Ok(Self {
            inner: Arc::new(Inner {
                nameless,
                authority,
                scopes_required: config.scopes_required.clone(),
                challenge: Challenge::new(config),
                metadata: challenge::metadata(config),
            }),
        })
    }

    /// Who that is.
    ///
    /// Where there are no credentials everybody is anonymous, whatever is shown: many clients send a header that was meant
    /// for somebody else.
    ///
    /// # Errors
    /// When the caller is not served, which is counted and logged.
    pub async fn identify(&self, presented: Presented<'_>) -> Result<Subject, Refusal> {
        self.judge(presented).await.map_err(|refused| {
            Metrics::get().token_refused(refused.refusal);
            refused.tell();
            refused.refusal
        })
    }

    async fn judge(&self, presented: Presented<'_>) -> Result<Subject, Refused> {
        if matches!(self.inner.authority, Authority::Nobody) {
            return Ok(Subject::anonymous());
        }
        let token = match presented {
            Presented::Nothing if self.inner.nameless == Nameless::Served => return Ok(Subject::anonymous()),
            Presented::Nothing => return Err(Refusal::Missing.into()),
            Presented::Unreadable => return Err(Refusal::Malformed.into()),
            Presented::Token(token) if token.len() > CREDENTIAL_BYTES_MAX => {
                return Err(Refusal::TooLarge.into());
            }
            Presented::Token(token) => token,
        };
        let subject = match &self.inner.authority {
            Authority::Nobody => Subject::anonymous(),
            Authority::Tokens(register) => register.judge(token, clock::now())?,
            Authority::Issuer(issuer) => issuer.judge(token).await?,
        };
        if !scope::suffices(&subject.scopes, &self.inner.scopes_required) {
            return Err(Refused::known(Refusal::Scope, subject.principal));
        }
        Ok(subject)
    }

    /// What a refused caller is told of how to get in.
    pub fn challenge(&self) -> &Challenge {
        &self.inner.challenge
    }

    /// What RFC 9728 says of the endpoint, as JSON; nothing where it has no name to be known by.
    pub fn metadata(&self) -> Option<&str> {
        self.inner.metadata.as_deref()
    }

    /// Takes changes of what credentials are checked against into use, until dropped.
    pub async fn keep_up(self) {
        let mut looks = tokio::time::interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            match &self.inner.authority {
                Authority::Nobody => return,
                Authority::Tokens(register) => {
                    let register = Arc::clone(register);
                    // On a thread of its own: a file system that hangs must not hold up a call. An error is a panic, which
                    // the log has; the next look is due all the same.
                    let _ = tokio::task::spawn_blocking(move || register.look()).await;
                }
                Authority::Issuer(issuer) => issuer.look().await,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Hash;
    use super::*;
    use crate::domain::Principal;

    async fn callers(content: &str, change: impl FnOnce(&mut Config)) -> (tempfile::TempDir, Callers) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tokens");
        std::fs::write(&path, content).unwrap();
        let tokens_file = path.to_str().unwrap().into();
        let mut config = Config { mode: Mode::Tokens, tokens_file, ..Config::default() };
        change(&mut config);
        (directory, Callers::load(&config).await.unwrap())
    }

    fn line(name: &str, token: &str) -> String {
        format!("{name} {}\n", Hash::of(token))
    }

    fn named(name: &str) -> Result<Subject, Refusal> {
        Ok(Subject::named(Principal::named(name)))
    }

    #[tokio::test]
    async fn without_credentials_everybody_is_anonymous_whatever_is_shown() {
        let callers = Callers::load(&Config::default()).await.unwrap();
        for shown in [Presented::Nothing, Presented::Token("any"), Presented::Unreadable] {
            assert_eq!(callers.identify(shown).await, Ok(Subject::anonymous()));
        }
    }

    #[tokio::test]
    async fn a_token_names_its_owner_and_anything_else_that_is_shown_is_refused() {
        let large = "x".repeat(CREDENTIAL_BYTES_MAX + 1);
        for token_required in [false, true] {
            let content = line("a", "one") + &line("b", "two");
            let (_directory, callers) =
                callers(&content, |config| config.token_required = token_required).await;
            assert_eq!(callers.identify(Presented::Token("one")).await, named("a"));
            assert_eq!(callers.identify(Presented::Token("two")).await, named("b"));
            assert_eq!(callers.identify(Presented::Token("three")).await, Err(Refusal::Unknown));
            assert_eq!(callers.identify(Presented::Token(&large)).await, Err(Refusal::TooLarge));
            assert_eq!(callers.identify(Presented::Unreadable).await, Err(Refusal::Malformed));
            let nameless = if token_required { Err(Refusal::Missing) } else { named("anonymous") };
            assert_eq!(callers.identify(Presented::Nothing).await, nameless);
        }
    }

    #[tokio::test]
    async fn a_token_without_a_scope_that_is_required_is_refused() {
        let content =
            format!("{} scope=r\n{} scope=r scope=w\n", line("a", "one").trim(), line("b", "two").trim());
        let (_directory, callers) =
            callers(&content, |config| config.scopes_required = vec!["r".into(), "w".into()]).await;
        assert_eq!(callers.identify(Presented::Token("one")).await, Err(Refusal::Scope));
        let both = callers.identify(Presented::Token("two")).await.unwrap();
        assert_eq!((both.principal.as_str(), &*both.scopes), ("b", &["r".into(), "w".into()][..]));
        assert_eq!(callers.challenge().scopes(), "r w");
    }
}
