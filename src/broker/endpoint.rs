//! A plain gRPC connection to the broker, for subscriptions.
//!
//! The official client's subscriptions die for good on a broker restart, hang on unsubscribe and spin on a clean end of
//! stream, so ours stand on the generated client.

use std::sync::Arc;
use std::time::Duration;

use kubemq::proto::kubemq::kubemq_client::KubemqClient;
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};

use super::address::Address;
use super::config::Config;
use super::credential::Credential;
use super::tls::Tls;

/// Largest request a responder takes, in bytes: what the broker itself takes by default.
const REQUEST_BYTES_MAX: usize = 100 * 1024 * 1024;

/// The generated client, showing our token.
pub(super) type Stub = KubemqClient<InterceptedService<Channel, ShowToken>>;

/// Shows the current token with every call.
#[derive(Clone)]
pub(super) struct ShowToken(Arc<Credential>);

impl Interceptor for ShowToken {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(token) = self.0.header() {
            request.metadata_mut().insert("authorization", token);
        }
        Ok(request)
    }
}

/// Connects, within `connect_seconds`.
///
/// # Errors
/// The address is not reachable, or the broker's certificate is not trusted.
pub(super) async fn connect(
    config: &Config,
    address: &Address,
    tls: Option<&Tls>,
    credential: Arc<Credential>,
) -> Result<Stub, tonic::transport::Error> {
    let scheme = if tls.is_some() { "https" } else { "http" };
    let mut endpoint = Endpoint::from_shared(format!("{scheme}://{address}"))?
        .tcp_nodelay(true)
        .connect_timeout(config.connect_patience())
        .http2_keep_alive_interval(Duration::from_secs(config.keepalive_seconds.into()))
        .keep_alive_timeout(Duration::from_secs(config.keepalive_timeout_seconds.into()))
        .keep_alive_while_idle(true);
    if let Some(tls) = tls {
        endpoint = endpoint.tls_config(tls.for_endpoint(address))?;
    }
    let channel = endpoint.connect().await?;
    Ok(KubemqClient::with_interceptor(channel, ShowToken(credential))
        .max_decoding_message_size(REQUEST_BYTES_MAX)
        .max_encoding_message_size(REQUEST_BYTES_MAX))
}
