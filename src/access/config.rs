//! The options of access: where the tokens are, and whether one is needed.

use serde::Deserialize;

/// The section `[access]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The file that names the callers by the hashes of their tokens; empty for none.
    pub tokens_file: String,
    /// Whether a call over HTTP without a token is refused. Only with a file.
    pub token_required: bool,
}
