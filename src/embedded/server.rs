//! A running embedded broker: started, asked for its figures, and ended politely or at once.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use kubemq::proto::kubemq::kubemq_server::KubemqServer;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;

use super::config::Config;
use super::connection::Door;
use super::error::StartError;
use super::figures::Figures;
use super::hub::Hub;
use super::oversize::Oversize;
use super::service::Service;

/// The HTTP/2 window of a connection, in bytes. Half of it is what h2 lets unread small frames cost (256 bytes each)
/// before it takes them for an attack and ends the connection, so this allows 65 536 tiny requests at once. With
/// hyper's default of 1 MiB, 5 000 at once sometimes kill the connection and fail all of them.
const CONNECTION_WINDOW_BYTES: u32 = 32 << 20;

/// Streams of one connection beyond the requests and subscriptions that may wait: responses must get through even
/// when everything else is full, or nothing that waits would ever be answered.
const STREAMS_SPARE: usize = 4_096;

/// What the broker adds to a request on its way to a responder (ids, framing) must not make it too large to leave.
const ENCODING_SPARE_BYTES: usize = 4_096;

/// How long the clean ends of streams may take to be written when the grace is over, or was zero.
const FAREWELL: Duration = Duration::from_millis(250);

/// A running broker. Dropping it is [`EmbeddedBroker::kill`].
#[derive(Debug)]
pub struct EmbeddedBroker {
    address: SocketAddr,
    hub: Arc<Hub>,
    door: Arc<Door>,
    draining: CancellationToken,
    serving: JoinHandle<()>,
}

impl EmbeddedBroker {
    /// Binds (port 0 allowed) and serves on the current tokio runtime.
    ///
    /// # Errors
    /// The address is busy or cannot be listened on.
    pub async fn start(config: Config) -> Result<Self, StartError> {
        let (door, address) =
            Door::open(config.listen).await.map_err(|source| StartError::from_bind(config.listen, source))?;
        let hub = Arc::new(Hub::new(&config));
        let draining = CancellationToken::new();
        let serving = tokio::spawn(serve(config, Arc::clone(&hub), Arc::clone(&door), draining.clone()));
        Ok(Self { address, hub, door, draining, serving })
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends subscription streams with a clean EOF (status OK), lets in-flight unary calls finish up to `grace`, then
    /// closes. Meanwhile new requests and subscriptions get `Error 409`, and replies are still taken.
    pub async fn stop(mut self, grace: Duration) {
        let deadline = Instant::now() + grace;
        self.hub.stopping.cancel();
        let _ = timeout_at(deadline, self.until(|figures| figures.requests_waiting == 0)).await;
        self.door.close();
        self.draining.cancel();
        let _ = timeout_at(deadline.max(Instant::now() + FAREWELL), &mut self.serving).await;
    }

    /// Ends at once: every connection is dropped (what a SIGKILL looks like from outside, as near as in-process can
    /// be). The port is free when this returns.
    pub fn kill(self) {
        drop(self);
    }

    /// What it says of itself now.
    pub fn figures(&self) -> Figures {
        Figures { connections: self.door.connections_open(), ..self.hub.figures() }
    }

    /// Waits until the figures are as wanted. Subscriptions, requests and deliveries wake it; connections do not.
    pub async fn until(&self, mut wanted: impl FnMut(&Figures) -> bool) {
        let mut changes = self.hub.changes();
        while !wanted(&self.figures()) {
            changes.changed().await.expect("the hub announces as long as it lives, and it lives in `self`");
        }
    }
}

impl Drop for EmbeddedBroker {
    fn drop(&mut self) {
        self.door.cut();
        self.serving.abort();
    }
}

async fn serve(config: Config, hub: Arc<Hub>, door: Arc<Door>, draining: CancellationToken) {
    let streams_max =
        config.requests_pending_max.saturating_add(config.subscriptions_max).saturating_add(STREAMS_SPARE);
    let service = KubemqServer::new(Service::new(hub))
        .max_decoding_message_size(config.message_bytes_max)
        .max_encoding_message_size(config.message_bytes_max.saturating_add(ENCODING_SPARE_BYTES));
    let served = Server::builder()
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_concurrent_streams(u32::try_from(streams_max).unwrap_or(u32::MAX))
        // By default 20 calls that are given up before the server looked at them end the whole connection.
        .http2_max_pending_accept_reset_streams(Some(streams_max))
        .add_service(Oversize::new(service))
        .serve_with_incoming_shutdown(door.connections(), draining.cancelled_owned())
        .await;
    if let Err(error) = served {
        tracing::error!(%error, "the embedded broker ended");
    }
}
