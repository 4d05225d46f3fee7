//! An HTTP client that sends a request once: no redirect, no second try, no proxy on the way to this machine.

use std::error::Error;
use std::io;
use std::time::Duration;

use reqwest::{Certificate, Client, Url};

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Why there is no client for an address.
#[derive(Debug)]
pub enum Unfit {
    /// The address is not one for HTTP.
    Address,
    /// The client cannot be made.
    Client(reqwest::Error),
}

/// Makes a client for what is at `url`, which trusts `authorities` beside those of the system.
///
/// # Errors
/// When that is no address for HTTP.
pub fn client(url: &str, authorities: &[Certificate]) -> Result<(Client, Url), Unfit> {
    let parsed = Url::parse(url).map_err(|_| Unfit::Address)?;
    if !["http", "https"].contains(&parsed.scheme()) {
        return Err(Unfit::Address);
    }
    // Another part of the process may have installed it before; either way there is one.
    _ = rustls::crypto::ring::default_provider().install_default();
    // A proxy cannot reach what listens only here.
    let is_here = parsed.host_str().is_some_and(|host| ["localhost", "127.0.0.1", "[::1]"].contains(&host));
    // A redirect would turn the request into another one, or carry the token to another server.
    let client = Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .tls_certs_merge(authorities.iter().cloned());
    let client = if is_here { client.no_proxy() } else { client };
    Ok((client.build().map_err(Unfit::Client)?, parsed))
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

/// What went wrong first; what is above it only repeats the address.
pub fn root_cause(error: &(dyn Error + 'static)) -> String {
    causes(error).last().unwrap_or(error).to_string()
}

/// Whether nobody listens.
pub fn is_refused(error: &(dyn Error + 'static)) -> bool {
    causes(error)
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}
