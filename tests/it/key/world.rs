//! The real routing and idempotency actors, over a store in memory and a broker that does as it is told.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use kubemq_mcp::access::Allowance;
use kubemq_mcp::audit::Audit;
use kubemq_mcp::broker::{Broker, BrokerInfo, Fault};
use kubemq_mcp::channel;
use kubemq_mcp::domain::{
    Channel, Fingerprint, Key, Kind, Principal, Reply, Request, RequestId, Tags, Timeout, Tool,
};
use kubemq_mcp::idempotency::{self, Config, Resend};
use kubemq_mcp::mcp::{Call, Handle, Keyed, Parts, Report, Shards};
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::harness::event::within;
use crate::harness::store::SharedStore;

/// How the broker answers one request.
pub type Answered = Result<Reply, Fault>;

/// A broker that answers as told: held requests first, in order, and `executed` otherwise.
#[derive(Default)]
pub struct Fake {
    seen: Mutex<Vec<Request>>,
    told: Mutex<VecDeque<oneshot::Receiver<Answered>>>,
}

impl Fake {
    /// The next request gets this answer.
    pub fn answer(&self, answer: Answered) {
        let held = self.hold();
        held.send(answer).expect("the receiver is kept");
    }

    /// The next request waits until this is used.
    pub fn hold(&self) -> oneshot::Sender<Answered> {
        let (sender, receiver) = oneshot::channel();
        self.told.lock().unwrap_or_else(PoisonError::into_inner).push_back(receiver);
        sender
    }

    /// What has reached it.
    pub fn seen(&self) -> Vec<Request> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until so many requests have reached it.
    pub async fn until_seen(&self, count: usize) {
        let until = async {
            while self.seen().len() < count {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        within(&format!("{count} requests at the broker"), until).await;
    }
}

impl Broker for Fake {
    fn ask(&self, request: Request) -> BoxFuture<'static, Answered> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        Box::pin(async move {
            match told {
                Some(told) => told.await.unwrap_or(Err(Fault::TimedOut)),
                None => Ok(executed()),
            }
        })
    }

    fn ping(&self) -> BoxFuture<'static, Result<BrokerInfo, Fault>> {
        Box::pin(std::future::pending())
    }
}

/// A responder's yes.
pub fn executed() -> Reply {
    Reply { executed: true, responder: "responder-1".into(), ..Reply::default() }
}

/// A responder's no.
pub fn rejected(reason: &str) -> Reply {
    Reply { executed: false, error: reason.into(), ..Reply::default() }
}

/// One life of a connector.
pub struct World {
    pub broker: Arc<Fake>,
    pub store: SharedStore,
    pub keys: idempotency::Handle,
    door: Handle,
    shards: Arc<Shards>,
}

impl World {
    /// A first life, with nothing in the store.
    pub fn new() -> Self {
        Self::on(SharedStore::new(), &Config::default())
    }

    /// A life on this store.
    pub fn on(store: SharedStore, config: &Config) -> Self {
        Self::with(store, config, channel::Config::default())
    }

    /// A life with these limits on its channels.
    pub fn with(store: SharedStore, config: &Config, channel: channel::Config) -> Self {
        // Before the first figure: a series made without the recorder is missing from every scrape of this process.
        kubemq_mcp::telemetry::install_recorder();
        let broker = Arc::new(Fake::default());
        let keys = store.open(config);
        let parts = Parts {
            audit: Audit::default(),
            seats: channel::Seats::new(&channel),
            channel,
            broker: broker.clone(),
            gateway_buffer: Duration::from_secs(5),
            idempotency: keys.clone(),
            mailbox_messages_max: 4_096,
        };
        let shards = Shards::start(1, parts).expect("threads");
        Self { broker, store, keys, door: Handle::new(shards.clone()), shards }
    }

    /// Runs a call to its end.
    pub async fn call(&self, call: Call) -> Report {
        within("a report", self.door.call(call, Instant::now())).await
    }

    /// Begins a call; its report comes later.
    pub fn begin(&self, call: Call) -> tokio::task::JoinHandle<Report> {
        let door = self.door.clone();
        tokio::spawn(async move { door.call(call, Instant::now()).await })
    }

    /// Waits until so many calls wait for another one.
    pub async fn until_joined(&self, count: usize) {
        let until = async {
            while self.keys.joins_waiting() != count {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        within(&format!("{count} calls that wait"), until).await;
    }

    /// Ends this life in order, and gives the store for the next.
    pub async fn stop(self) -> SharedStore {
        self.door.close(Duration::from_secs(5)).await;
        self.keys.close().await;
        self.shards.stop();
        self.store
    }

    /// Ends this life as a crash does: whatever is not on the disk is lost.
    pub fn crash(self) -> SharedStore {
        let left = SharedStore::copy_of(&self.store);
        self.shards.stop();
        left
    }
}

/// A command with a key.
pub fn command(key: &str) -> Call {
    changed(key, |_| {})
}

/// A command with a key that asks for something else.
pub fn changed(key: &str, change: impl FnOnce(&mut Request)) -> Call {
    let mut request = Request {
        id: RequestId::fresh(),
        kind: Kind::Command,
        channel: Channel::parse("orders").expect("a valid name"),
        body: b"b".to_vec(),
        metadata: String::new(),
        tags: Tags::new(),
        timeout: Timeout::capped_at(10, 300).expect("a timeout"),
    };
    change(&mut request);
    let Request { channel, body, metadata, tags, .. } = &request;
    let fingerprint = Fingerprint::of(Tool::CommandSend, channel, body, metadata, tags);
    let key = Key::parse(key).expect("a valid key");
    let keyed = Some(Keyed { key, fingerprint, resend: Resend::Never });
    let leave = CancellationToken::new();
    Call {
        principal: Principal::anonymous(),
        tool: Tool::CommandSend,
        request,
        keyed,
        leave,
        allowance: Allowance::default(),
    }
}

/// A command whose channel allows a key in doubt to leave again.
pub fn resendable(key: &str) -> Call {
    let mut call = command(key);
    if let Some(keyed) = &mut call.keyed {
        keyed.resend = Resend::InDoubt;
    }
    call
}

/// A command that waits so long.
pub fn patient(key: &str, seconds: u64) -> Call {
    changed(key, |request| request.timeout = Timeout::capped_at(seconds, 300).expect("a timeout"))
}
