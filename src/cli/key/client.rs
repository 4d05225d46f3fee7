//! One request to the admin endpoint, and what its answer means.

use std::time::Duration;

use reqwest::header::AUTHORIZATION;
use reqwest::{Certificate, RequestBuilder, Response, Url};
use serde_json::Value;

use super::error::AdminError;
use super::print::shown;
use crate::cli::credential::Token;
use crate::cli::web::{self, Unfit};

/// How long an answer may take: the store has 30 seconds to say something, and the network gets the rest.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(45);

/// Largest answer that is read: far more than the largest piece of a list.
const ANSWER_BYTES_MAX: usize = 67_108_864;

/// The admin endpoint of one connector.
pub struct Client {
    http: reqwest::Client,
    base: Url,
    token: Option<Token>,
}

/// Whether a request changes a key.
#[derive(Clone, Copy, PartialEq)]
enum Purpose {
    Looks,
    Changes,
}

impl Client {
    /// A client of the endpoint at `url`.
    ///
    /// # Errors
    /// When that is no address for HTTP.
    pub fn new(url: &str, token: Option<Token>, authorities: &[Certificate]) -> Result<Self, AdminError> {
        let unfit = |unfit| match unfit {
            Unfit::Address => AdminError::Url { url: url.into() },
            Unfit::Client(error) => AdminError::Unreachable { url: url.into(), cause: error.to_string() },
        };
        let (http, base) = web::client(url, authorities).map_err(unfit)?;
        Ok(Self { http, base, token })
    }

    /// Asks.
    ///
    /// # Errors
    /// When there is no answer, or one that says no.
    pub async fn get(&self, path: &str, pairs: &[(&str, &str)]) -> Result<Value, AdminError> {
        let mut url = self.at(path);
        url.query_pairs_mut().extend_pairs(pairs);
        self.answer(self.http.get(url), Purpose::Looks).await
    }

    /// Tells.
    ///
    /// # Errors
    /// When there is no answer, or one that says no.
    pub async fn post(&self, path: &str, body: Value) -> Result<Value, AdminError> {
        self.answer(self.http.post(self.at(path)).json(&body), Purpose::Changes).await
    }

    fn at(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        url
    }

    async fn answer(&self, mut request: RequestBuilder, purpose: Purpose) -> Result<Value, AdminError> {
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token.header());
        }
        let lost = |cause| AdminError::Lost { url: self.url(), cause, changes: purpose == Purpose::Changes };
        let asking = async {
            let response = request.send().await.map_err(|error| self.not_sent(&error, lost))?;
            let status = response.status().as_u16();
            let body = read(response).await.map_err(lost)?;
            self.meaning(status, serde_json::from_slice(&body).unwrap_or(Value::Null))
        };
        let answered = tokio::time::timeout(ANSWER_TIMEOUT, asking).await;
        answered.unwrap_or_else(|_| Err(lost(format!("none within {} s", ANSWER_TIMEOUT.as_secs()))))
    }

    fn not_sent(&self, error: &reqwest::Error, lost: impl Fn(String) -> AdminError) -> AdminError {
        let (url, cause) = (self.url(), web::root_cause(error));
        match error.is_connect() {
            true if web::is_refused(error) => AdminError::NothingListens { url },
            true => AdminError::Unreachable { url, cause },
            false => lost(cause),
        }
    }

    fn meaning(&self, status: u16, body: Value) -> Result<Value, AdminError> {
        let url = self.url();
        let (message, reason) = (body["error"]["message"].as_str(), body["error"]["data"]["reason"].as_str());
        Err(match (status, reason, message) {
            (200, _, _) if body.is_object() => return Ok(body),
            (401, ..) if self.token.is_some() => AdminError::TokenWrong { url },
            (401, ..) => AdminError::TokenNeeded { url },
            (403, _, Some(message)) => AdminError::Forbidden { url, message: shown(message) },
            (404, Some("absent"), _) => AdminError::Absent { principal: String::new() },
            (404, ..) => AdminError::NoKeys { url },
            (409, Some("needs_consent"), _) => AdminError::NeedsConsent,
            (_, _, Some(message)) => AdminError::Refused { message: shown(message) },
            _ => AdminError::Foreign { url, status },
        })
    }

    /// The address as it was given, without a password in it.
    fn url(&self) -> String {
        let mut url = self.base.clone();
        // Both fail only where there can be none.
        let _ = url.set_password(None);
        let _ = url.set_username("");
        url.as_str().trim_end_matches('/').to_owned()
    }
}

async fn read(mut response: Response) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|error| web::root_cause(&error))? {
        if bytes.len() + piece.len() > ANSWER_BYTES_MAX {
            return Err(format!("it is larger than {ANSWER_BYTES_MAX} bytes"));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}
