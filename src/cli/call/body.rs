//! Where the body of a call comes from.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::str::FromStr;

use super::error::CallError;

/// Largest body that is read. No connector takes a larger one: it is the upper end of `tool.body_bytes_max`.
const BODY_BYTES_MAX: u64 = 67_108_864;

/// Where the body of a call comes from. A text that starts with `@` can be given through standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// The command line itself.
    Text(String),
    /// A file, `@FILE`.
    File(PathBuf),
    /// Standard input, `-`.
    Input,
}

impl FromStr for Body {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text.strip_prefix('@') {
            Some(path) => Self::File(path.into()),
            None if text == "-" => Self::Input,
            None => Self::Text(text.into()),
        })
    }
}

impl Body {
    /// Reads the body.
    ///
    /// # Errors
    /// When it cannot be read, is too large, or is not UTF-8: an argument of a tool is text.
    pub fn read(&self, input: &mut impl Read) -> Result<String, CallError> {
        match self {
            Self::Text(text) => Ok(text.clone()),
            Self::Input => read_text(input, "standard input"),
            Self::File(path) => {
                let name = path.display().to_string();
                let mut file = File::open(path).map_err(|cause| unreadable(&name, cause))?;
                read_text(&mut file, &name)
            }
        }
    }
}

fn read_text(source: &mut impl Read, name: &str) -> Result<String, CallError> {
    let mut bytes = Vec::new();
    let read = source.take(BODY_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(|cause| unreadable(name, cause))?;
    if bytes.len() as u64 > BODY_BYTES_MAX {
        return Err(CallError::BodyTooLarge { name: name.into(), limit: BODY_BYTES_MAX });
    }
    String::from_utf8(bytes).map_err(|_| CallError::BodyNotText { name: name.into() })
}

fn unreadable(name: &str, cause: io::Error) -> CallError {
    CallError::BodyUnreadable { name: name.into(), cause }
}
