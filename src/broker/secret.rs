//! A text that no log and no error shows.

use std::fmt;

use serde::Deserialize;

/// The credential shown to the broker. `Debug` says only whether there is one.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The text itself, for the wire only.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.is_empty() { "none" } else { "hidden" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_never_shown() {
        let secret = Secret::from("s3cret");
        assert_eq!(format!("{secret:?} {:?}", Secret::default()), "hidden none");
        assert_eq!(secret.expose(), "s3cret");
    }
}
