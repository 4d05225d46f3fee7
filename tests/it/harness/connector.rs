//! A real connector on free ports, inside the test's process.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use kubemq_mcp::app::{App, Demo, Face, Options};
use kubemq_mcp::broker::{Answer, Asked, Handler, Responder, Subscription};
use kubemq_mcp::config::Config;
use kubemq_mcp::domain::{Channel, Kind};
use tempfile::TempDir;

use super::agent::Agent;
use super::event::{DEADLINE, within};

/// A running connector. It must be stopped: one that is dropped with work in flight has lost something.
pub struct Connector {
    app: Option<App>,
    _store: TempDir,
}

impl Connector {
    /// With the embedded broker.
    pub async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// In front of the broker at this address.
    pub async fn in_front_of(broker: SocketAddr) -> Self {
        Self::with(|config| config.broker.address = broker.to_string()).await
    }

    /// With a changed configuration, on free ports whatever it says.
    pub async fn with(change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config::default();
        config.server.listen.set_port(0);
        config.embedded.listen.set_port(0);
        let store = tempfile::tempdir().expect("a temporary directory");
        config.store.path = store.path().join("data");
        change(&mut config);
        let options = Options { face: Face::Http, demo: Demo::Absent };
        let app = App::start(config, options).await.expect("the connector starts");
        Self { app: Some(app), _store: store }
    }

    /// The connector itself.
    pub fn app(&self) -> &App {
        self.app.as_ref().expect("it runs until it is stopped")
    }

    /// The URL of its endpoint.
    pub fn url(&self) -> String {
        self.app().url().expect("it listens")
    }

    /// An agent of it.
    pub fn agent(&self) -> Agent {
        Agent::new(&self.url())
    }

    /// A responder on its broker that answers as told.
    pub async fn responder(
        &self,
        kind: Kind,
        channel: &str,
        answer: impl Fn(Asked) -> Answer + Send + Sync + 'static,
    ) -> Responder {
        self.handler(kind, channel, Arc::new(move |asked| std::future::ready(Ok(answer(asked))).boxed()))
            .await
    }

    /// A responder on its broker that takes its time.
    pub async fn handler(&self, kind: Kind, channel: &str, handler: Handler) -> Responder {
        let (config, addresses) = self.app().broker();
        let subscription = Subscription {
            kind,
            channel: Channel::parse(channel).expect("a valid channel"),
            group: String::new(),
            in_flight_max: 10_000,
        };
        let responder = Responder::start(config, addresses.to_vec(), subscription, handler)
            .expect("a valid configuration");
        within("a responder is subscribed", responder.ready()).await;
        responder
    }

    /// Waits until so many requests are in flight.
    pub async fn until_pending(&self, count: usize) {
        let until = async {
            while self.app().requests_pending() != count {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        within(&format!("{count} requests in flight"), until).await;
    }

    /// Stops it, and sees that nothing is left behind.
    pub async fn stop(mut self) {
        let app = self.app.take().expect("it runs");
        app.stop(Some(DEADLINE)).await;
    }
}

impl Drop for Connector {
    fn drop(&mut self) {
        let left = self.app.as_ref().map_or(0, App::requests_pending);
        assert!(left == 0 || std::thread::panicking(), "dropped with {left} requests in flight");
    }
}

/// An answer that says yes and gives the body back.
pub fn echo(asked: Asked) -> Answer {
    Answer {
        executed: true,
        body: asked.body,
        metadata: asked.metadata,
        tags: asked.tags,
        ..Answer::default()
    }
}

/// An answer that says no.
pub fn rejection(text: &str) -> Answer {
    Answer { executed: false, error: text.into(), ..Answer::default() }
}
