//! The composition root: builds everything in order, and drains it in reverse.

mod config;
mod demo;
mod exposure;
mod readiness;
mod store;

pub use config::Config;
pub use exposure::{Exposed, Exposure, judge as exposure};

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::access::{self, AdminToken, Callers, Limits};
use crate::audit::{self, Audit};
use crate::broker::{self, KubemqBroker, Place, Responder};
use crate::channel::{self, Seats};
use crate::config::Config as Whole;
use crate::embedded::EmbeddedBroker;
use crate::http::{self, Front, Listener};
use crate::mcp::{self, Parts, Shards};
use crate::{idempotency, telemetry};

/// What every agent is told when the broker is the embedded one.
const EMBEDDED_NOTE: &str =
    "The broker is the embedded one: it is for development, lives in memory and keeps nothing.";

/// How long answers that are ready may take to leave after everything else has ended.
const FLUSH_PATIENCE: Duration = Duration::from_secs(2);

/// How a connector is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    /// Over HTTP, on `server.listen`.
    Http,
    /// By this process alone, as `stdio` does.
    InProcess,
}

/// Whether two responders are added that answer the published examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demo {
    /// Yes.
    Added,
    /// No.
    Absent,
}

/// What is chosen on the command line and not in the configuration.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How it is reached.
    pub face: Face,
    /// Whether the demo responders are added.
    pub demo: Demo,
}

/// A running connector.
pub struct App {
    front: Front,
    door: mcp::Handle,
    shards: Arc<Shards>,
    seats: Seats,
    store: idempotency::Handle,
    audit: Audit,
    broker: Arc<KubemqBroker>,
    broker_config: broker::Config,
    broker_addresses: Vec<broker::Address>,
    embedded: Option<EmbeddedBroker>,
    responders: Vec<Responder>,
    listener: Option<Listener>,
    admin: Option<Listener>,
    upkeep: Vec<JoinHandle<()>>,
    drain: Duration,
    draining: CancellationToken,
}

impl App {
    /// Starts everything and waits until agents can call.
    ///
    /// # Errors
    /// Says which part could not be started, why, and what would help.
    pub async fn start(config: Whole, options: Options) -> anyhow::Result<Self> {
        if options.face == Face::Http && exposure(&config)? == Exposure::Open {
            let address = config.server.listen;
            tracing::warn!(%address, "insecure: whoever reaches this address may call without a token");
        }
        let figures = telemetry::install_recorder();
        register_metrics();
        broker::install_crypto_provider();
        let callers = callers(&config, options.face).await?;
        let admin_token = match config.admin.token_file.as_str() {
            "" => None,
            path => Some(AdminToken::load(path.as_ref())?),
        };
        let (embedded, addresses) = reach(&config).await?;
        let gateway_buffer = Duration::from_secs(config.tool.gateway_buffer_seconds);
        let broker = KubemqBroker::connect(&config.broker, addresses.clone(), gateway_buffer).await?;

        let store = store::open(&config.store).await?;
        let audit = Audit::start(&config.audit)?;
        let seats = Seats::new(&config.channel);
        let parts = Parts {
            seats: seats.clone(),
            channel: config.channel.clone(),
            broker: broker.clone(),
            gateway_buffer,
            idempotency: store.clone(),
            audit: audit.clone(),
            mailbox_messages_max: config.server.mailbox_messages_max,
        };
        let shards = Shards::start(config.server.shards, parts).context("no thread for the actors")?;
        let door = mcp::Handle::new(shards.clone());
        let note = embedded.is_some().then_some(EMBEDDED_NOTE);
        let (tool, rules) = (config.tool.clone(), config.channels.clone());
        let limits = Limits::new(&config.limits);
        let server = mcp::Server::new(door.clone(), tool, rules, config.policy(), limits, note);
        let front = Front::new(server, callers.clone(), &config.http);

        let draining = CancellationToken::new();
        let ops = readiness::ops(
            &broker,
            &addresses,
            door.clone(),
            &audit,
            note,
            figures.clone(),
            draining.clone(),
        );
        let admin = http::Admin::new(store.clone(), admin_token, audit.clone(), &config.http);
        let operators = http::Operators { ops, admin };
        let upkeep = vec![
            tokio::spawn(figures.keep_up()),
            tokio::spawn(readiness::watch(broker.clone())),
            tokio::spawn(callers.keep_up()),
        ];
        let mut app = Self {
            front,
            door,
            shards,
            seats,
            store,
            audit,
            broker,
            broker_config: config.broker.clone(),
            broker_addresses: addresses,
            embedded,
            responders: Vec::new(),
            listener: None,
            admin: None,
            upkeep,
            drain: Duration::from_secs(config.server.drain_seconds),
            draining,
        };
        match app.open(&config, options, operators).await {
            Ok(()) => Ok(app),
            Err(error) => {
                app.stop(Some(Duration::ZERO)).await;
                Err(error)
            }
        }
    }

    async fn open(
        &mut self,
        config: &Whole,
        options: Options,
        operators: http::Operators,
    ) -> anyhow::Result<()> {
        if options.demo == Demo::Added {
            self.responders = demo::responders(&self.broker_config, &self.broker_addresses).await?;
        }
        match options.face {
            Face::Http => self.listen(config, operators).await,
            Face::InProcess => Ok(()),
        }
    }

    async fn listen(&mut self, config: &Whole, operators: http::Operators) -> anyhow::Result<()> {
        let tls = config.server.tls()?;
        self.upkeep.extend(tls.clone().map(|tls| tokio::spawn(tls.keep_up())));
        let beside = match config.admin.listen {
            Some(address) => {
                let router = http::admin_router(operators);
                // A scraper on this machine needs no certificate; what leaves it is encrypted like everything else.
                let tls = tls.clone().filter(|_| !address.ip().is_loopback());
                self.admin = Some(Listener::start(address, "admin.listen", router, tls, &config.http).await?);
                None
            }
            None => Some(operators),
        };
        let router = http::router(self.front.clone(), beside);
        self.listener =
            Some(Listener::start(config.server.listen, "server.listen", router, tls, &config.http).await?);
        Ok(())
    }

    /// The endpoint, for messages that do not come over HTTP.
    pub fn front(&self) -> Front {
        self.front.clone()
    }

    /// The address of the listener; `None` without one.
    pub fn address(&self) -> Option<SocketAddr> {
        self.listener.as_ref().map(Listener::address)
    }

    /// The URL to put into an MCP client; `None` without a listener.
    pub fn url(&self) -> Option<String> {
        let listener = self.listener.as_ref()?;
        Some(format!("{}://{}/mcp", listener.scheme(), listener.address()))
    }

    /// The address of what operators ask; `None` without a listener.
    pub fn admin_address(&self) -> Option<SocketAddr> {
        self.admin.as_ref().map(Listener::address).or(self.address())
    }

    /// The embedded broker, when that is the broker.
    pub fn embedded(&self) -> Option<&EmbeddedBroker> {
        self.embedded.as_ref()
    }

    /// How responders of this process reach the broker.
    pub fn broker(&self) -> (&broker::Config, &[broker::Address]) {
        (&self.broker_config, &self.broker_addresses)
    }

    /// Which broker it is, in words.
    pub fn broker_text(&self) -> String {
        match &self.embedded {
            Some(embedded) => format!("embedded, for development, on {}", embedded.address()),
            None => readiness::listed(&self.broker_addresses),
        }
    }

    /// Requests in flight.
    pub fn requests_pending(&self) -> usize {
        self.door.requests_pending()
    }

    /// Stops accepting, lets what is in flight end within `patience` (`server.drain_seconds` when `None`), ends what is
    /// still open as unknown, and takes everything down.
    pub async fn stop(mut self, patience: Option<Duration>) {
        self.draining.cancel();
        let patience = patience.unwrap_or(self.drain);
        let listener = self.listener.take();
        let open = async {
            if let Some(listener) = listener {
                listener.stop(patience + FLUSH_PATIENCE).await;
            }
            // A command whose agent has left is in nobody's connection, only here.
            self.seats.all_free().await;
        };
        tokio::pin!(open);
        if tokio::time::timeout(patience, &mut open).await.is_err() {
            let open_count = self.door.requests_pending();
            tracing::warn!(
                requests = open_count,
                "the time to drain is over; what is still open ends unknown"
            );
            self.door.close(FLUSH_PATIENCE).await;
            // The answers just made still have to leave.
            let _ = tokio::time::timeout(FLUSH_PATIENCE, &mut open).await;
        }
        for responder in self.responders.drain(..) {
            responder.stop().await;
        }
        self.broker.stop().await;
        if let Some(embedded) = self.embedded.take() {
            embedded.stop(Duration::from_millis(200)).await;
        }
        if let Some(admin) = self.admin.take() {
            admin.stop(Duration::from_millis(200)).await;
        }
        for task in &self.upkeep {
            task.abort();
        }
        self.store.close().await;
        // What has ended while everything was taken down is written as well.
        self.audit.close().await;
        let shards = self.shards;
        // A thread that hangs must not keep the process.
        let _ =
            tokio::time::timeout(FLUSH_PATIENCE, tokio::task::spawn_blocking(move || shards.stop())).await;
    }
}

/// Reads who may call. Whoever speaks over the pipes of this process has started it, and shows nothing.
async fn callers(config: &Whole, face: Face) -> Result<Callers, access::LoadError> {
    match face {
        Face::Http => Callers::load(&config.auth).await,
        Face::InProcess => Callers::load(&access::Config::default()).await,
    }
}

/// Makes every series of every layer.
fn register_metrics() {
    // A series that begins with its first event hides that event from Prometheus.
    access::register_metrics();
    audit::register_metrics();
    channel::register_metrics();
    idempotency::register_metrics();
    http::register_metrics();
    mcp::register_metrics();
}

/// Finds the broker: starts the embedded one, or reads the addresses.
async fn reach(config: &Whole) -> anyhow::Result<(Option<EmbeddedBroker>, Vec<broker::Address>)> {
    match config.broker.place()? {
        Place::At(addresses) => Ok((None, addresses)),
        Place::Embedded => {
            let embedded = EmbeddedBroker::start(config.embedded.clone()).await?;
            let address = broker::Address::parse(&embedded.address().to_string())?;
            Ok((Some(embedded), vec![address]))
        }
    }
}
