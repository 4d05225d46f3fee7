//! Why there is no answer to print, what to do, and whether the call may have had an effect.
//!
//! Only what is known to have stopped before the tool is told as such; anything else may have had an effect.

use std::error::Error;
use std::io;

use rmcp::model::{ErrorCode, ErrorData};
use rmcp::service::{ClientInitializeError, ServiceError};
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use crate::cli::credential::CredentialError;
use crate::cli::trust::TrustError;
use crate::cli::web;

/// Codes with which a server refuses a call before any tool runs.
const REFUSALS: [ErrorCode; 6] = [
    ErrorCode::PARSE_ERROR,
    ErrorCode::INVALID_REQUEST,
    ErrorCode::METHOD_NOT_FOUND,
    ErrorCode::INVALID_PARAMS,
    ErrorCode::HEADER_MISMATCH,
    ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY,
];

/// Why there is no answer to print.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The body cannot be read.
    #[error("the body cannot be read from {name}: {cause}")]
    BodyUnreadable {
        /// Where it should come from.
        name: String,
        /// What the system said.
        cause: io::Error,
    },
    /// The body is larger than any connector takes.
    #[error("the body from {name} is larger than {limit} bytes, which no connector takes")]
    BodyTooLarge {
        /// Where it comes from.
        name: String,
        /// The limit.
        limit: u64,
    },
    /// The body is not UTF-8.
    #[error(
        "the body from {name} is not UTF-8, and arguments of a tool are text: encode it, for example as base64"
    )]
    BodyNotText {
        /// Where it comes from.
        name: String,
    },
    /// One key was given two values.
    #[error("the tag `{0}` is given twice: keep one")]
    TagTwice(String),
    /// There is no token to send where one should be.
    #[error(transparent)]
    Token(#[from] CredentialError),
    /// There is nobody to trust.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The address is not one for HTTP.
    #[error("`{url}` is not an address for HTTP: write one such as http://127.0.0.1:9090/mcp")]
    Url {
        /// The address.
        url: String,
    },
    /// The connection was refused.
    #[error("nothing listens on {url}: start `kubemq-mcp serve`, or name another address with --url")]
    NothingListens {
        /// The address.
        url: String,
    },
    /// The server was not reached for another reason.
    #[error("{url} cannot be reached, {cause}: check the address")]
    Unreachable {
        /// The address.
        url: String,
        /// What the system said.
        cause: String,
    },
    /// The server does not let us in.
    #[error("{url} asks for another token: give one with --token-file, or in KUBEMQ_MCP_TOKEN")]
    Unauthorized {
        /// The address.
        url: String,
    },
    /// The greeting of the protocol got no answer.
    #[error("{url} took the connection and said nothing for {seconds} s: the call was not sent, try again")]
    Silent {
        /// The address.
        url: String,
        /// How long we waited.
        seconds: u64,
    },
    /// The greeting of the protocol got a wrong answer.
    #[error(
        "{url} does not answer as an MCP server does, {cause}: the call was not sent, check the path (/mcp)"
    )]
    NotMcp {
        /// The address.
        url: String,
        /// What it did.
        cause: String,
    },
    /// The server refused before any tool ran.
    #[error("the server refused the call, so nothing was sent to KubeMQ: {message} ({code})")]
    Refused {
        /// What it said.
        message: String,
        /// The JSON-RPC code.
        code: i32,
    },
    /// The call left and no answer came.
    #[error(
        "the call was sent and has no answer, {cause}: it may have taken effect, look before you call again"
    )]
    AnswerLost {
        /// What came instead.
        cause: String,
    },
    /// The server wants input before it goes on.
    #[error("the tool asks for input that a command line cannot give: call it from an agent")]
    AsksBack,
    /// The answer is there and cannot be printed.
    #[error("the tool has answered, but the answer cannot be printed: {0}")]
    Output(io::Error),
}

impl CallError {
    /// The greeting failed, so the call was not sent.
    pub(super) fn not_greeted(url: &str, error: ClientInitializeError) -> Self {
        match error {
            ClientInitializeError::TransportError { error, .. } => Self::stopped_before(url, &error)
                .unwrap_or_else(|| Self::NotMcp { url: url.into(), cause: root_cause(error.error.as_ref()) }),
            ClientInitializeError::LegacyFallbackFailed { fallback, .. } => Self::not_greeted(url, *fallback),
            ClientInitializeError::JsonRpcError(ErrorData { code, message, .. }) => {
                Self::Refused { message: message.into(), code: code.0 }
            }
            other => Self::NotMcp { url: url.into(), cause: other.to_string() },
        }
    }

    /// The call failed after the greeting.
    pub(super) fn not_answered(url: &str, error: ServiceError) -> Self {
        match error {
            ServiceError::McpError(ErrorData { code, message, .. }) if REFUSALS.contains(&code) => {
                Self::Refused { message: message.into(), code: code.0 }
            }
            ServiceError::TransportSend(error) => Self::stopped_before(url, &error)
                .unwrap_or_else(|| Self::AnswerLost { cause: root_cause(error.error.as_ref()) }),
            other => Self::AnswerLost { cause: other.to_string() },
        }
    }

    /// The failures that are known to have stopped before the server looked at the call.
    fn stopped_before(url: &str, error: &DynamicTransportError) -> Option<Self> {
        let url = url.to_owned();
        match error.error.downcast_ref::<StreamableHttpError<reqwest::Error>>()? {
            StreamableHttpError::AuthRequired(_) | StreamableHttpError::InsufficientScope(_) => {
                Some(Self::Unauthorized { url })
            }
            StreamableHttpError::Client(error) if error.is_connect() && web::is_refused(error) => {
                Some(Self::NothingListens { url })
            }
            StreamableHttpError::Client(error) if error.is_connect() => {
                Some(Self::Unreachable { url, cause: web::root_cause(error) })
            }
            _ => None,
        }
    }
}

fn root_cause(error: &(dyn Error + 'static)) -> String {
    // The library does not give this one as its source, though it holds all that is worth knowing.
    match error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
        Some(StreamableHttpError::Client(inner)) => web::root_cause(inner),
        _ => web::root_cause(error),
    }
}
