//! Fetches a key set over HTTP: once, without a redirect, bounded in bytes and in time.

use std::error::Error;
use std::time::Duration;

use reqwest::header::{ACCEPT, HeaderValue};
use reqwest::{Client, StatusCode, Url};

use super::error::JwksError;
use super::jwt::JWKS_BYTES_MAX;

/// How long a fetch may take in all.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Where a key set is published.
pub struct Place {
    client: Client,
    url: Url,
}

impl Place {
    /// Makes the client for a URL.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new(url: &str) -> Result<Self, JwksError> {
        // Another part of the process may have installed it before; either way there is one.
        _ = rustls::crypto::ring::default_provider().install_default();
        let shown = || url.to_owned();
        let parsed =
            Url::parse(url).map_err(|cause| JwksError::Url { url: shown(), cause: cause.to_string() })?;
        let is_here = is_loopback(&parsed);
        // A redirect would let somebody else name the keys. A proxy cannot reach what listens only here.
        let client = Client::builder()
            .timeout(FETCH_TIMEOUT)
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .https_only(!is_here);
        let client = if is_here { client.no_proxy() } else { client };
        let client = client.build().map_err(|cause| JwksError::Url { url: shown(), cause: root(&cause) })?;
        Ok(Self { client, url: parsed })
    }

    /// Where it is.
    pub fn as_str(&self) -> &str {
        self.url.as_str()
    }

    /// Fetches it.
    ///
    /// # Errors
    /// When it does not come, comes late, or is too large.
    pub async fn fetch(&self) -> Result<Vec<u8>, JwksError> {
        let url = || self.url.to_string();
        let lost = |cause: reqwest::Error| JwksError::Unreachable { url: url(), cause: root(&cause) };
        let accept = HeaderValue::from_static("application/jwk-set+json, application/json");
        let mut response =
            self.client.get(self.url.clone()).header(ACCEPT, accept).send().await.map_err(lost)?;
        if response.status() != StatusCode::OK {
            return Err(JwksError::Status { url: url(), status: response.status().as_u16() });
        }
        let mut bytes = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(lost)? {
            if bytes.len() + piece.len() > JWKS_BYTES_MAX {
                return Err(JwksError::TooLarge { place: url() });
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes)
    }
}

/// Whether a URL leads to this machine.
pub fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(|host| {
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.to_canonical().is_loopback())
    })
}

/// What went wrong first; what is above it only repeats the address.
fn root(error: &(dyn Error + 'static)) -> String {
    std::iter::successors(Some(error), |&error| error.source()).last().unwrap_or(error).to_string()
}
