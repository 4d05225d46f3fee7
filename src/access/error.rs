//! What is wrong with a file of tokens, and where.
//!
//! No text quotes the file: a token may stand where a hash or a name belongs.

use std::io;

use super::jwt::{JWKS_BYTES_MAX, JwksMistake};
use super::token::{TOKENS_FILE_BYTES_MAX, TOKENS_MAX};
use crate::domain::PrincipalError;

/// Why a tokens file is not used.
#[derive(Debug, thiserror::Error)]
pub enum TokensError {
    /// The file cannot be read.
    #[error("the tokens file `{path}` cannot be read, {cause}; right is a file that this process may read")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system said.
        cause: io::Error,
    },
    /// The file cannot be written.
    #[error("the tokens file `{path}` cannot be written, {cause}; no token was made")]
    Unwritable {
        /// The file.
        path: String,
        /// What the system said.
        cause: io::Error,
    },
    /// The file is too large.
    #[error(
        "the tokens file `{path}` is larger than {TOKENS_FILE_BYTES_MAX} bytes; remove what is not needed"
    )]
    TooLarge {
        /// The file.
        path: String,
    },
    /// A line of it is wrong.
    #[error("{path}:{line}: {mistake}")]
    Line {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        mistake: Mistake,
    },
}

/// Why the keys of the issuer are not used.
#[derive(Debug, thiserror::Error)]
pub enum JwksError {
    /// The file cannot be read.
    #[error(
        "the key set `{path}` (auth.jwks_file) cannot be read, {cause}; right is a file that this process may read"
    )]
    Unreadable {
        /// The file.
        path: String,
        /// What the system said.
        cause: io::Error,
    },
    /// The URL cannot be used.
    #[error("nothing can be fetched from `{url}` (auth.jwks_url): {cause}")]
    Url {
        /// The URL.
        url: String,
        /// Why.
        cause: String,
    },
    /// It does not come.
    #[error("the key set at `{url}` (auth.jwks_url) cannot be fetched: {cause}")]
    Unreachable {
        /// The URL.
        url: String,
        /// Why.
        cause: String,
    },
    /// Something else comes.
    #[error(
        "the key set at `{url}` (auth.jwks_url) cannot be fetched: the answer is {status}, right is 200; no redirect is followed"
    )]
    Status {
        /// The URL.
        url: String,
        /// The status of HTTP.
        status: u16,
    },
    /// It is too large.
    #[error("the key set `{place}` is larger than {JWKS_BYTES_MAX} bytes")]
    TooLarge {
        /// The file or the URL.
        place: String,
    },
    /// It cannot be used.
    #[error("the key set `{place}` cannot be used: {mistake}")]
    Wrong {
        /// The file or the URL.
        place: String,
        /// What is wrong with it.
        mistake: JwksMistake,
    },
}

/// Why nobody can be let in.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The tokens file is not used.
    #[error(transparent)]
    Tokens(#[from] TokensError),
    /// The keys of the issuer are not used.
    #[error(transparent)]
    Jwks(#[from] JwksError),
}

/// Why the file of `admin.token_file` is not used. Never with the token.
#[derive(Debug, thiserror::Error)]
pub enum AdminTokenError {
    /// The file cannot be read.
    #[error(
        "the file `{path}` (admin.token_file) cannot be read, {cause}; right is a file that this process may read"
    )]
    Unreadable {
        /// The file.
        path: String,
        /// What the system said.
        cause: io::Error,
    },
    /// What is there is no token.
    #[error(
        "the file `{path}` (admin.token_file) has no token, {reason}; right is one line of at least 16 visible ASCII \
         characters, such as `openssl rand -hex 32` writes"
    )]
    Unfit {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: &'static str,
    },
}

/// What is wrong with a line, and what would be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mistake {
    /// It is not UTF-8.
    #[error("the line is not UTF-8; write `NAME sha256:HASH`")]
    NotText,
    /// It has less than two words.
    #[error(
        "a line has at least two words, this one has {0}; write `NAME sha256:HASH`, and comments on lines of their own"
    )]
    Words(usize),
    /// The first word is no name.
    #[error("the first word is not a name: {0}")]
    Name(PrincipalError),
    /// The second word is no hash.
    #[error(
        "the second word is not a hash; write `sha256:` and 64 hexadecimal digits, as `kubemq-mcp token new` prints them"
    )]
    Hash,
    /// A further word is nothing that can be said of a token.
    #[error(
        "word {0} says nothing; after the hash may stand `expires=`, `scope=`, `group=`, `read-only` and `revoked`, and comments \
         on lines of their own"
    )]
    Attribute(usize),
    /// A further word says again what is said already.
    #[error("word {0} says again what is said before; remove one of the two")]
    Repeated(usize),
    /// The end of a token is no time.
    #[error("word {0} is not a time; write it in UTC and in full, such as `expires=2027-01-01T00:00:00Z`")]
    Expires(usize),
    /// A scope or a group cannot be read.
    #[error(
        "word {0} has no name that can be read; write `scope=` or `group=` and at most 256 visible characters"
    )]
    ScopeOrGroup(usize),
    /// The hash stands on an earlier line.
    #[error("the hash of line {first} stands here again; a token has one name, remove one of the two lines")]
    Twice {
        /// The earlier line, from 1.
        first: usize,
    },
    /// There are too many.
    #[error("this is more than {TOKENS_MAX} tokens; remove those that nobody uses")]
    TooMany,
}
