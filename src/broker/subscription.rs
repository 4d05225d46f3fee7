//! Keeps one subscription alive: connects, reads, and begins again after every end, a clean one included.
//!
//! The pause between attempts is jittered and bounded, and attempts never run out. Each wait, the first one of a
//! subscription included, ends at once when the responder is stopped.

use std::sync::Arc;
use std::time::Duration;

use kubemq::proto::kubemq::Subscribe;
use kubemq::proto::kubemq::subscribe::SubscribeType;
use tokio::sync::{Semaphore, watch};
use tokio::time::{interval, sleep};
use tokio_util::sync::CancellationToken;

use super::address::Address;
use super::answering::Answering;
use super::backoff::pause;
use super::config::Config;
use super::credential::Credential;
use super::endpoint::{Stub, connect};
use super::fault::detail;
use super::responder::{Handler, Subscription};
use super::tls::Tls;
use crate::domain::Kind;

/// How long a broker may take to refuse a subscription. One written in Go confirms none before its first request, so
/// after this time without an objection it counts as open.
const OBJECTION_PATIENCE: Duration = Duration::from_secs(1);

/// What a subscription needs to live.
pub(super) struct Supervisor {
    pub config: Config,
    pub addresses: Vec<Address>,
    pub tls: Option<Tls>,
    pub credential: Arc<Credential>,
    pub subscription: Subscription,
    pub handler: Handler,
    pub in_flight: Arc<Semaphore>,
    pub opened: watch::Sender<bool>,
    pub abandon: CancellationToken,
}

impl Supervisor {
    /// Runs until it is told to stop.
    pub(super) async fn run(self, stop: CancellationToken) {
        tokio::select! {
            () = stop.cancelled() => {}
            () = self.begin_for_ever() => {}
            () = self.follow_token() => {}
        }
        self.opened.send_replace(false);
    }

    async fn begin_for_ever(&self) {
        let pause_max = Duration::from_secs(self.config.reconnect_seconds_max.into());
        let mut failures = 0;
        let mut told = String::new();
        for address in self.addresses.iter().cycle() {
            let end = self.serve(address).await;
            let was_open = self.opened.send_replace(false);
            failures = if was_open { 1 } else { failures + 1 };
            let channel = &self.subscription.channel;
            // A broker that stays away would fill the log, at an attempt a second.
            if was_open || told != end {
                tracing::warn!(%channel, %address, reason = end, "subscription ended");
                told = end;
            }
            sleep(pause(failures, pause_max, fastrand::f64())).await;
        }
    }

    /// Serves over one connection and tells why that ended.
    async fn serve(&self, address: &Address) -> String {
        let credential = Arc::clone(&self.credential);
        let stub = match connect(&self.config, address, self.tls.as_ref(), credential).await {
            Ok(stub) => stub,
            Err(error) => return detail(&innermost(&error)),
        };
        match self.read(stub).await {
            Ok(()) => "the broker closed it".to_owned(),
            Err(status) => detail(status.message()),
        }
    }

    async fn read(&self, mut stub: Stub) -> Result<(), tonic::Status> {
        let answering = Arc::new(Answering {
            stub: stub.clone(),
            client_id: self.config.client_id.clone(),
            kind: self.subscription.kind,
            handler: Arc::clone(&self.handler),
        });
        let opening = stub.subscribe_to_requests(self.request());
        tokio::pin!(opening);
        let early = tokio::select! {
            opened = &mut opening => Some(opened?),
            () = sleep(OBJECTION_PATIENCE) => None,
        };
        if early.as_ref().is_some_and(|opened| !speaks_grpc(opened.metadata())) {
            return Err(tonic::Status::unavailable("what answers there is no KubeMQ broker"));
        }
        self.opened.send_replace(true);
        let opened = match early {
            Some(opened) => opened,
            None => opening.await?,
        };
        let mut requests = opened.into_inner();
        loop {
            // The room is taken before the request: what we cannot begin stays with the broker, which counts it.
            let room = Arc::clone(&self.in_flight).acquire_owned().await.expect("it is never closed");
            let Some(request) = requests.message().await? else { return Ok(()) };
            let (answering, abandoned) = (Arc::clone(&answering), self.abandon.clone());
            tokio::spawn(async move {
                tokio::select! {
                    () = abandoned.cancelled() => {}
                    () = answering.answer(request) => {}
                }
                drop(room);
            });
        }
    }

    fn request(&self) -> Subscribe {
        let kind = match self.subscription.kind {
            Kind::Command => SubscribeType::Commands,
            Kind::Query => SubscribeType::Queries,
        };
        Subscribe {
            subscribe_type_data: kind.into(),
            client_id: self.config.client_id.clone(),
            channel: self.subscription.channel.as_str().to_owned(),
            group: self.subscription.group.clone(),
            ..Subscribe::default()
        }
    }

    /// Takes a changed token into use for the next call; the open stream was let in with the old one and stays.
    async fn follow_token(&self) {
        let mut looks = interval(Duration::from_secs(self.config.ping_seconds.into()));
        loop {
            looks.tick().await;
            if let Err(error) = self.credential.reload() {
                tracing::warn!(%error, "broker token not reloaded, the old one stays");
            }
        }
    }
}

/// tonic takes a web server's error page for an open stream, and notices only when it reads from it.
fn speaks_grpc(headers: &tonic::metadata::MetadataMap) -> bool {
    let media = headers.get("content-type").and_then(|value| value.to_str().ok());
    media.is_some_and(|media| media.starts_with("application/grpc"))
}

fn innermost(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
