//! One official client for one address: our requests in, our replies and faults out.
//!
//! It never retries, and the client library retries no unary call either.

use std::time::Duration;

use kubemq::{Command, KubemqClient, KubemqError, Query};
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::address::Address;
use super::config::Config;
use super::error::ConfigError;
use super::fault::{Elapsed, Limits, decide};
use super::secret::Secret;
use super::symptom::Symptom;
use super::tls::Tls;
use super::{BrokerInfo, Fault};
use crate::domain::{Kind, Reply, Request, RequestId, Tags};

/// Room for a reply's metadata, tags, ids and error text beside its body, in bytes.
const REPLY_ENVELOPE_BYTES: usize = 256 * 1024;

/// The client library's own deadline. It is only a last resort against a leak: far longer than the longest call (300
/// seconds and the gateway buffer), so that it never cuts one whose outcome the broker would still tell.
const LIBRARY_PATIENCE: Duration = Duration::from_secs(3_600);

/// A lazily connected client.
pub(super) struct Client {
    library: KubemqClient,
    address: Address,
    limits: Limits,
}

impl Client {
    /// Prepares a client; nothing is connected before the first call.
    pub(super) async fn build(
        config: &Config,
        address: &Address,
        tls: Option<&Tls>,
        token: Option<&Secret>,
    ) -> Result<Self, ConfigError> {
        let limits = Limits {
            reply_bytes_max: config.reply_bytes_max,
            message_bytes_max: config.reply_bytes_max.saturating_add(REPLY_ENVELOPE_BYTES),
        };
        // Every option that the library would otherwise take from the environment is set here.
        let mut builder = KubemqClient::builder()
            .host(address.uri_host())
            .port(address.port())
            .client_id(config.client_id.clone())
            .connection_timeout(config.connect_patience())
            .keepalive_time(Duration::from_secs(config.keepalive_seconds.into()))
            .keepalive_timeout(Duration::from_secs(config.keepalive_timeout_seconds.into()))
            .max_receive_message_size(limits.message_bytes_max)
            .rpc_timeout(LIBRARY_PATIENCE)
            .check_connection(false);
        if let Some(token) = token {
            builder = builder.auth_token(token.expose());
        }
        if let Some(tls) = tls {
            builder = builder.tls_config(tls.for_client(address));
        }
        let library = builder.build().await.map_err(|error| ConfigError::Client {
            address: address.to_string(),
            reason: innermost(&error),
        })?;
        Ok(Self { library, address: address.clone(), limits })
    }

    /// Where it goes.
    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    /// Sends a request once.
    pub(super) async fn ask(&self, request: Request) -> Result<Reply, Fault> {
        let timeout = request.timeout.duration();
        let started = Instant::now();
        let reply = match request.kind {
            Kind::Command => self.library.send_command(command_of(request)).await.map(reply_of_command),
            Kind::Query => self.library.send_query(query_of(request)).await.map(reply_of_query),
        };
        let reply =
            reply.map_err(|error| self.fault(&error, Elapsed { elapsed: started.elapsed(), timeout }))?;
        let (size, limit) = (reply.body.len(), self.limits.reply_bytes_max);
        if size > limit {
            return Err(Fault::ReplyTooLarge { size: Some(size), limit });
        }
        Ok(reply)
    }

    /// Asks for a sign of life. Waits for as long as the connection is silent: the caller keeps the deadline.
    pub(super) async fn ping(&self) -> Result<BrokerInfo, Fault> {
        let started = Instant::now();
        let info = self.library.ping().await.map_err(|error| {
            self.fault(&error, Elapsed { elapsed: started.elapsed(), timeout: LIBRARY_PATIENCE })
        })?;
        Ok(BrokerInfo { host: info.host, version: info.version, address: self.address.to_string() })
    }

    fn fault(&self, error: &KubemqError, time: Elapsed) -> Fault {
        match decide(&Symptom::of(error), time, self.limits) {
            Fault::Unavailable(reason) => Fault::Unavailable(format!("{}: {reason}", self.address)),
            other => other,
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // The library warns in the log when a client goes without this, and calls in flight are not touched by it.
        if let Ok(runtime) = Handle::try_current() {
            let library = self.library.clone();
            runtime.spawn(async move { library.close().await });
        }
    }
}

fn command_of(request: Request) -> Command {
    Command {
        id: request.id.as_str().to_owned(),
        channel: request.channel.as_str().to_owned(),
        metadata: request.metadata,
        body: request.body,
        timeout: request.timeout.duration(),
        client_id: String::new(),
        tags: request.tags.into_iter().collect(),
        span: Vec::new(),
    }
}

fn query_of(request: Request) -> Query {
    Query {
        id: request.id.as_str().to_owned(),
        channel: request.channel.as_str().to_owned(),
        metadata: request.metadata,
        body: request.body,
        timeout: request.timeout.duration(),
        client_id: String::new(),
        cache_key: String::new(),
        cache_ttl: Duration::ZERO,
        tags: request.tags.into_iter().collect(),
        span: Vec::new(),
    }
}

fn reply_of_command(response: kubemq::CommandResponse) -> Reply {
    Reply {
        request_id: written(&response.command_id),
        executed: response.executed,
        error: response.error,
        tags: Tags::from_iter(response.tags),
        responder: response.response_client_id,
        ..Reply::default()
    }
}

fn reply_of_query(response: kubemq::QueryResponse) -> Reply {
    Reply {
        request_id: written(&response.query_id),
        executed: response.executed,
        error: response.error,
        body: response.body,
        metadata: response.metadata,
        tags: Tags::from_iter(response.tags),
        responder: response.response_client_id,
        cache_hit: response.cache_hit,
    }
}

fn written(id: &str) -> Option<RequestId> {
    if id.is_empty() { None } else { Some(RequestId::from(id)) }
}

fn innermost(error: &KubemqError) -> String {
    let mut text = error.to_string();
    let mut next = std::error::Error::source(error);
    while let Some(source) = next {
        text = source.to_string();
        next = source.source();
    }
    text
}
