//! Why the connection to the broker cannot be set up at all.
//!
//! Each text names the key, its value and what would be right. None shows a token.

use std::io;

use super::AddressError;

/// A mistake in the section `[broker]`, found at start.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// `broker.address` is not a list of addresses.
    #[error(
        "`broker.address` is `{value}`: {mistake}; right is `embedded` or `host:port`, several with commas"
    )]
    Address {
        /// What stands there.
        value: String,
        /// What is wrong with it.
        mistake: AddressError,
    },
    /// No address was given where one is needed.
    #[error("`broker.address` names no broker; right is `embedded` or `host:port`, several with commas")]
    NoAddress,
    /// A number or text is outside its range.
    #[error("`broker.{key}` is `{value}`; right is {right}")]
    OutOfRange {
        /// The option.
        key: &'static str,
        /// What stands there.
        value: String,
        /// What may stand there.
        right: &'static str,
    },
    /// Two options do not go together.
    #[error("`broker.{key}` and `broker.{other}` do not go together: {right}")]
    Conflict {
        /// The first option.
        key: &'static str,
        /// The other one.
        other: &'static str,
        /// What would be right.
        right: &'static str,
    },
    /// A file that an option names cannot be read.
    #[error("`broker.{key}` is `{path}`, which cannot be read; right is a file that this process may read")]
    Unreadable {
        /// The option.
        key: &'static str,
        /// The file.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A file does not hold what it should.
    #[error("`broker.{key}` is `{path}`, which has no {right}")]
    Content {
        /// The option.
        key: &'static str,
        /// The file.
        path: String,
        /// What it should hold.
        right: &'static str,
    },
    /// A token cannot be sent in a header. The token itself is not shown.
    #[error(
        "`broker.{key}` holds a text that no header can carry; right is one line of visible ASCII characters"
    )]
    Token {
        /// The option.
        key: &'static str,
    },
    /// The system has no certificates to trust.
    #[error("the system has no trusted certificates; right is a file in `broker.tls_ca_file`")]
    NoSystemRoots,
    /// A variable of the environment contradicts the configuration.
    #[error(
        "the variable `{variable}` turns encryption on, but `broker.tls` is `false`; \
         right is `true`, or the variable unset"
    )]
    Environment {
        /// The variable.
        variable: &'static str,
    },
    /// The client library refused the whole of it.
    #[error("the connection to `{address}` cannot be set up: {reason}; look at the `broker.tls_*` options")]
    Client {
        /// Where it was to go.
        address: String,
        /// What the library says.
        reason: String,
    },
}
