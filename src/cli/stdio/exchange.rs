//! One message out, its answers back: with the connector in this process, or with one that runs elsewhere.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use sse_stream::SseStream;

use crate::cli::credential::Token;
use crate::cli::web::{self, Unfit};
use crate::domain::Subject;
use crate::http::Front;
use crate::mcp::{Agent, Leaving, Reads};
use reqwest::Certificate;

/// Whom the messages are exchanged with.
#[derive(Clone)]
pub enum Exchange {
    /// The connector in this process.
    Local(Box<Front>),
    /// A connector that runs elsewhere.
    Remote {
        /// The client with its connections.
        client: reqwest::Client,
        /// The address of its endpoint.
        url: reqwest::Url,
        /// What shows it who we are.
        authorization: Option<HeaderValue>,
    },
}

/// Why the running connector gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    /// The address is none.
    #[error("`{url}` is not the URL of a connector, such as http://127.0.0.1:9090/mcp: {reason}")]
    Url {
        /// What was given.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Nobody answers there.
    #[error(
        "no connector answers at {url}: start one with `kubemq-mcp serve`, or name another with --connect ({reason})"
    )]
    Unreachable {
        /// The address.
        url: String,
        /// What the network said.
        reason: String,
    },
    /// The connector does not let us in.
    #[error(
        "{url} asks for another token: give one with --token-file, or in KUBEMQ_MCP_TOKEN; nothing was sent"
    )]
    Unauthorized {
        /// The address.
        url: String,
    },
    /// The message left, and its answer did not come, or not to its end.
    #[error(
        "the message was sent and has no answer, {0}: it may have taken effect, look before you send another like it"
    )]
    AnswerLost(String),
    /// What came is no answer to the message.
    #[error(
        "the message was sent and {status} came instead of an answer: it may have taken effect, look before you send \
         another like it; if it never works, check the address of --connect"
    )]
    NotAnswered {
        /// The HTTP status that came.
        status: StatusCode,
    },
}

/// What came for one message.
pub struct Answers {
    /// The HTTP status.
    pub status: StatusCode,
    /// Each text without a line break. They need not be messages.
    pub texts: BoxStream<'static, Result<String, ExchangeError>>,
}

impl Exchange {
    /// With the connector in this process.
    pub fn local(front: Front) -> Self {
        Self::Local(Box::new(front))
    }

    /// With the connector at `url`, which is shown `token` and may be signed by one of `authorities`.
    ///
    /// # Errors
    /// When that is no HTTP address.
    pub fn remote(
        url: &str,
        token: Option<&Token>,
        authorities: &[Certificate],
    ) -> Result<Self, ExchangeError> {
        let wrong = |unfit| {
            let reason = match unfit {
                Unfit::Address => "it is no address for HTTP".to_owned(),
                Unfit::Client(error) => error.to_string(),
            };
            ExchangeError::Url { url: url.to_owned(), reason }
        };
        let (client, url) = web::client(url, authorities).map_err(wrong)?;
        // The wait for an answer has no limit here: the connector has.
        Ok(Self::Remote { client, url, authorization: token.map(Token::header) })
    }

    /// Sends one message. Dropping the answers, or the wait for them, tells the service that the agent has left.
    ///
    /// # Errors
    /// When the running connector cannot be reached.
    pub async fn send(&self, headers: HeaderMap, line: Bytes) -> Result<Answers, ExchangeError> {
        match self {
            Self::Local(front) => {
                // Whoever started this process is the only one who can speak to it.
                let subject = Subject::anonymous();
                let agent = Agent { subject, reads: Reads::Stream, leaving: Leaving::Cancels };
                let response = front.exchange(headers, line, agent).await;
                let (parts, body) = response.into_parts();
                Ok(answers(
                    parts.status,
                    &parts.headers,
                    body.into_data_stream().map_err(|error| error.to_string()),
                ))
            }
            Self::Remote { client, url, authorization } => {
                let mut request = client
                    .post(url.clone())
                    .headers(headers)
                    .header(header::CONTENT_TYPE, "application/json")
                    .header(header::ACCEPT, "application/json, text/event-stream")
                    .body(line);
                if let Some(value) = authorization {
                    request = request.header(header::AUTHORIZATION, value.clone());
                }
                let response = request.send().await.map_err(|error| not_answered(url, &error))?;
                let (status, headers) = (response.status(), response.headers().clone());
                // Its body names no request, so the agent would wait for an answer for ever.
                if status == StatusCode::UNAUTHORIZED {
                    return Err(ExchangeError::Unauthorized { url: url.to_string() });
                }
                Ok(answers(
                    status,
                    &headers,
                    response.bytes_stream().map_err(|error| web::root_cause(&error)),
                ))
            }
        }
    }
}

/// Only a connection that was never made is proof that nothing was sent.
fn not_answered(url: &reqwest::Url, error: &reqwest::Error) -> ExchangeError {
    let reason = web::root_cause(error);
    if error.is_connect() {
        ExchangeError::Unreachable { url: url.to_string(), reason }
    } else {
        ExchangeError::AnswerLost(reason)
    }
}

fn answers<Bodies>(status: StatusCode, headers: &HeaderMap, body: Bodies) -> Answers
where
    Bodies: futures_util::Stream<Item = Result<Bytes, String>> + Send + 'static,
{
    let media = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let texts = if media.starts_with("text/event-stream") {
        SseStream::from_bytes_stream(body.map_err(std::io::Error::other))
            .map_err(|error| ExchangeError::AnswerLost(error.to_string()))
            .try_filter_map(|event| async move { Ok(event.data.filter(|data| !data.is_empty())) })
            .map_ok(one_line)
            .boxed()
    } else {
        futures_util::stream::once(whole(body))
            .try_filter(|text| std::future::ready(!text.is_empty()))
            .boxed()
    };
    Answers { status, texts }
}

async fn whole<Bodies>(body: Bodies) -> Result<String, ExchangeError>
where
    Bodies: futures_util::Stream<Item = Result<Bytes, String>>,
{
    let pieces: Vec<Bytes> = body.try_collect().await.map_err(ExchangeError::AnswerLost)?;
    let text =
        String::from_utf8(pieces.concat()).map_err(|error| ExchangeError::AnswerLost(error.to_string()))?;
    Ok(one_line(text))
}

/// JSON keeps its meaning when the line breaks between its parts go; those in its texts are escaped already.
fn one_line(text: String) -> String {
    if text.contains(['\n', '\r']) { text.replace(['\n', '\r'], " ") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a process of its own, as nextest runs it, nobody else has chosen a crypto provider before.
    #[test]
    fn a_running_connector_is_named_by_an_http_url() {
        assert!(Exchange::remote("http://127.0.0.1:9090/mcp", None, &[]).is_ok());
        for url in ["127.0.0.1:9090", "ftp://127.0.0.1/mcp", ""] {
            assert!(Exchange::remote(url, None, &[]).is_err(), "{url}");
        }
    }
}
