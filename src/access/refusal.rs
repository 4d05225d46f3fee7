//! Why a caller is not served. The reasons are for operators; a caller hears only what it may.

use crate::domain::Principal;

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
    /// What was shown is a token, but no JWT.
    NoJwt,
    /// A token is needed and none was shown.
    Missing,
    /// It is larger than any token.
    TooLarge,
    /// Its time is over.
    Expired,
    /// Its time has not come.
    NotYetValid,
    /// It was taken back.
    Revoked,
    /// It is signed in a way that is not allowed.
    Algorithm,
    /// It is signed with a key that the issuer does not publish.
    UnknownKey,
    /// The signature is not that of its key.
    Signature,
    /// Somebody else issued it.
    Issuer,
    /// It is for somebody else.
    Audience,
    /// A claim is missing or is not what it must be.
    Claims,
    /// It was not issued for this.
    Scope,
}

impl Refusal {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::Unknown,
        Self::Malformed,
        Self::NoJwt,
        Self::Missing,
        Self::TooLarge,
        Self::Expired,
        Self::NotYetValid,
        Self::Revoked,
        Self::Algorithm,
        Self::UnknownKey,
        Self::Signature,
        Self::Issuer,
        Self::Audience,
        Self::Claims,
        Self::Scope,
    ];

    /// The word for logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Malformed => "malformed",
            Self::NoJwt => "no_jwt",
            Self::Missing => "missing",
            Self::TooLarge => "too_large",
            Self::Expired => "expired",
            Self::NotYetValid => "not_yet_valid",
            Self::Revoked => "revoked",
            Self::Algorithm => "algorithm",
            Self::UnknownKey => "unknown_key",
            Self::Signature => "signature",
            Self::Issuer => "issuer",
            Self::Audience => "audience",
            Self::Claims => "claims",
            Self::Scope => "scope",
        }
    }
}

/// A refusal, and whose credential it was where that is certain: never from one that was not verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub refusal: Refusal,
    pub principal: Option<Principal>,
}

impl Refused {
    /// Refuses somebody by name.
    pub fn known(refusal: Refusal, principal: Principal) -> Self {
        Self { refusal, principal: Some(principal) }
    }

    /// Writes the one line that the log has of it.
    pub fn tell(&self) {
        let reason = self.refusal.as_str();
        match &self.principal {
            Some(principal) => {
                tracing::warn!(reason, principal = principal.as_str(), "request refused for its token");
            }
            None => tracing::warn!(reason, "request refused for its token"),
        }
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, principal: None }
    }
}
