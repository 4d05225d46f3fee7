//! Who calls, and what its credential says of it.

use std::sync::Arc;

use super::Principal;

/// A caller with what its verified credential says of it. A clone is three counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Its name.
    pub principal: Principal,
    /// What the credential was issued for; a static token has none.
    pub scopes: Arc<[String]>,
    /// The groups that the credential names; a static token has none.
    pub groups: Arc<[String]>,
    /// Whether the credential is for queries only.
    pub read_only: bool,
}

impl Subject {
    /// A caller of whom nothing but the name is known.
    pub fn named(principal: Principal) -> Self {
        Self { principal, scopes: Arc::default(), groups: Arc::default(), read_only: false }
    }

    /// The caller that showed no credential.
    pub fn anonymous() -> Self {
        Self::named(Principal::anonymous())
    }
}
