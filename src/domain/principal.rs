//! Who calls. Taken from a verified token, never from an argument.

use std::fmt;
use std::sync::Arc;

/// The name a caller is known by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Principal(Arc<str>);

impl Principal {
    /// The caller that showed no token.
    pub fn anonymous() -> Self {
        Self("anonymous".into())
    }

    /// The caller that a token or a record names.
    pub fn named(name: &str) -> Self {
        Self(name.into())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
