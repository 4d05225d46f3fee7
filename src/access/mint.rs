//! Makes a new token.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::token::{Grant, Hash};
use crate::domain::Principal;

/// Random bytes of a token: as many as its hash has, so that neither is easier to guess than the other.
const RANDOM_BYTES: usize = 32;

/// What a token begins with, so that whoever finds one in a text knows what it is.
const PREFIX: &str = "kmcp_";

/// A token that nobody knows yet. `Debug` does not show it.
pub struct Minted(String);

/// The system gave no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("the system gives no random bytes, {0}; no token was made")]
pub struct MintError(getrandom::Error);

impl Minted {
    /// Makes one from the system's own randomness.
    ///
    /// # Errors
    /// When the system has none.
    pub fn fresh() -> Result<Self, MintError> {
        let mut bytes = [0; RANDOM_BYTES];
        getrandom::fill(&mut bytes).map_err(MintError)?;
        Ok(Self(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))))
    }

    /// The token itself, to be shown once.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The line of the tokens file that gives it to `principal`.
    pub fn line(&self, principal: &Principal) -> String {
        self.line_of(&Grant::to(principal.clone()))
    }

    /// The line of the tokens file that says this of it.
    pub fn line_of(&self, grant: &Grant) -> String {
        grant.line(Hash::of(&self.0))
    }
}

impl fmt::Debug for Minted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Minted(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::super::Tokens;
    use super::*;

    #[test]
    fn a_new_token_is_long_random_and_known_by_its_line() {
        let (one, two) = (Minted::fresh().unwrap(), Minted::fresh().unwrap());
        assert_ne!(one.expose(), two.expose());
        assert_eq!(one.expose().len(), PREFIX.len() + 43);
        assert!(one.expose().starts_with(PREFIX) && one.expose().is_ascii());
        let alice = Principal::named("alice");
        let tokens = Tokens::parse(one.line(&alice).as_bytes()).unwrap();
        assert_eq!((tokens.grant(one.expose()), tokens.grant(two.expose())), (Some(&Grant::to(alice)), None));
        assert!(!format!("{one:?} {}", one.line(&Principal::named("a"))).contains(one.expose()));
    }
}
