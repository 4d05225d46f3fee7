//! The token that `call` and `stdio --connect` show to a connector: from a file or the environment, never from an
//! argument, which everybody on the machine could read in the list of processes.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use reqwest::header::HeaderValue;

/// The environment variable with the token, for when no file is named.
pub const TOKEN_VARIABLE: &str = "KUBEMQ_MCP_TOKEN";

/// Longest token, in bytes: what the head of a request has room for by far.
const TOKEN_BYTES_MAX: usize = 8192;

/// Where the token is.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Source {
    /// A file with the bearer token; without it the environment variable KUBEMQ_MCP_TOKEN is used, if there is one
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// Why there is no token to show. Never with the token.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// The file cannot be read.
    #[error("the token file {} cannot be read: {cause}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// What is there is not a token.
    #[error("the token in {place} cannot be sent: {reason}")]
    Unfit {
        /// The file or the variable.
        place: String,
        /// What is wrong with it.
        reason: &'static str,
    },
}

impl Source {
    /// Reads the token. `variable` is the value of [`TOKEN_VARIABLE`]; an empty one is none.
    ///
    /// # Errors
    /// When the file cannot be read, or when what is there is not a token.
    pub fn token(&self, variable: Option<OsString>) -> Result<Option<Token>, CredentialError> {
        if let Some(file) = &self.token_file {
            return Token::of_file(file).map(Some);
        }
        let Some(text) = variable.filter(|text| !text.is_empty()) else { return Ok(None) };
        Token::parse(&text.to_string_lossy(), TOKEN_VARIABLE.into()).map(Some)
    }
}

fn read(file: &Path) -> io::Result<Vec<u8>> {
    let limit = u64::try_from(TOKEN_BYTES_MAX).expect("a small number");
    let mut bytes = Vec::new();
    // Room for a line break, and for one byte that makes it too long.
    File::open(file)?.take(limit + 3).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A bearer token that fits into a header. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Reads a token from a file.
    ///
    /// # Errors
    /// When the file cannot be read, or when what is there is not a token.
    pub fn of_file(file: &Path) -> Result<Self, CredentialError> {
        let unreadable = |cause| CredentialError::Unreadable { file: file.to_owned(), cause };
        let bytes = read(file).map_err(unreadable)?;
        // Editors and shells end the file with a line break that belongs to no token.
        let text = std::str::from_utf8(&bytes).map(|text| text.trim_end_matches(['\r', '\n']));
        Self::parse(text.unwrap_or("\u{fffd}"), file.display().to_string())
    }

    fn parse(text: &str, place: String) -> Result<Self, CredentialError> {
        let reason = match text {
            "" => "it is empty",
            _ if text.len() > TOKEN_BYTES_MAX => "it is longer than any token",
            _ if !text.bytes().all(|byte| byte.is_ascii_graphic()) => {
                "it has a space, a line end or a character beyond ASCII"
            }
            _ => return Ok(Self(text.into())),
        };
        Err(CredentialError::Unfit { place, reason })
    }

    /// The token itself, for the wire only.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The value of the `Authorization` header; logs of the HTTP client do not show it.
    pub fn header(&self) -> HeaderValue {
        let mut value =
            HeaderValue::from_str(&format!("Bearer {}", self.0)).expect("visible ASCII is a header");
        value.set_sensitive(true);
        value
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_file(content: &[u8]) -> Result<Option<Token>, CredentialError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        Source { token_file: Some(file.path().to_owned()) }.token(Some("of the environment".into()))
    }

    #[test]
    fn the_file_goes_over_the_environment_and_its_last_line_break_is_no_part_of_the_token() {
        for content in ["t0ken", "t0ken\n", "t0ken\r\n"] {
            assert_eq!(of_file(content.as_bytes()).unwrap().unwrap().expose(), "t0ken");
        }
        let environment = |text: &str| Source::default().token(Some(text.into())).unwrap();
        assert_eq!(environment("t0ken").unwrap().expose(), "t0ken");
        assert_eq!((environment(""), Source::default().token(None).unwrap()), (None, None));
    }

    #[test]
    fn what_is_not_a_token_is_refused_without_being_shown() {
        let long = "x".repeat(TOKEN_BYTES_MAX);
        assert!(of_file(format!("{long}\n").as_bytes()).is_ok());
        for (content, part) in [
            (Vec::new(), "empty"),
            (b"\n".to_vec(), "empty"),
            (b"hunter2 x".to_vec(), "a space"),
            (b"hunter2\nx\n".to_vec(), "a line end"),
            (b"hunter2\xff".to_vec(), "beyond ASCII"),
            (format!("hunter2{long}").into_bytes(), "longer"),
        ] {
            let error = of_file(&content).unwrap_err();
            let told = format!("{error} {error:?}");
            assert!(told.contains(part) && !told.contains("hunter2"), "{told}");
        }
        let error = Source::default().token(Some("hunter2 x".into())).unwrap_err().to_string();
        assert!(error.starts_with("the token in KUBEMQ_MCP_TOKEN cannot be sent: "), "{error}");
        let nowhere = Source { token_file: Some("/nowhere/token".into()) };
        assert!(matches!(nowhere.token(None), Err(CredentialError::Unreadable { .. })));
    }

    #[test]
    fn neither_the_token_nor_its_header_shows_itself() {
        let token = of_file(b"hunter2").unwrap().unwrap();
        assert_eq!(token.header().to_str().unwrap(), "Bearer hunter2");
        assert!(!format!("{token:?} {:?}", token.header()).contains("hunter2"));
    }
}
