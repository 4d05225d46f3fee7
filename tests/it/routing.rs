//! The routing actors with a fake broker: what no real broker can be made to do.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use kubemq_mcp::access::Allowance;
use kubemq_mcp::audit::Audit;
use kubemq_mcp::broker::{Broker, BrokerInfo, Fault};
use kubemq_mcp::channel::{Config, Seats};
use kubemq_mcp::domain::{
    Cause, Channel, Outcome, Principal, Reply, Request, RequestId, Retry, Timeout, Tool,
};
use kubemq_mcp::idempotency;
use kubemq_mcp::mcp::{Call, Handle, Parts, Shards};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::harness::store::SharedStore;

/// A broker that panics on one channel, and counts what reaches it.
#[derive(Default)]
struct Fake {
    asked: AtomicUsize,
}

impl Broker for Fake {
    fn ask(&self, request: Request) -> BoxFuture<'static, Result<Reply, Fault>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        assert!(request.channel.as_str() != "panic", "on purpose");
        Box::pin(std::future::ready(Ok(Reply { executed: true, ..Reply::default() })))
    }

    fn ping(&self) -> BoxFuture<'static, Result<BrokerInfo, Fault>> {
        Box::pin(std::future::pending())
    }
}

fn door(broker: Arc<Fake>) -> (Handle, Arc<Shards>) {
    // Before the first figure: a series made without the recorder is missing from every scrape of this process.
    kubemq_mcp::telemetry::install_recorder();
    let channel = Config::default();
    let parts = Parts {
        audit: Audit::default(),
        seats: Seats::new(&channel),
        channel,
        broker,
        gateway_buffer: Duration::from_secs(1),
        idempotency: SharedStore::new().open(&idempotency::Config::default()),
        mailbox_messages_max: 16,
    };
    let shards = Shards::start(2, parts).expect("threads");
    (Handle::new(shards.clone()), shards)
}

fn call(tool: Tool, channel: &str, leave: CancellationToken) -> Call {
    let request = Request {
        id: RequestId::fresh(),
        kind: tool.kind(),
        channel: Channel::parse(channel).expect("a valid name"),
        body: b"b".to_vec(),
        metadata: String::new(),
        tags: Default::default(),
        timeout: Timeout::capped_at(10, 300).expect("a timeout"),
    };
    Call {
        principal: Principal::anonymous(),
        tool,
        request,
        keyed: None,
        leave,
        allowance: Allowance::default(),
    }
}

#[tokio::test]
async fn an_agent_that_left_before_the_claim_cancels_and_nothing_is_sent() {
    let broker = Arc::new(Fake::default());
    let (door, shards) = door(broker.clone());
    let left = CancellationToken::new();
    left.cancel();
    for tool in [Tool::QuerySend, Tool::CommandSend] {
        let report = door.call(call(tool, "orders", left.clone()), Instant::now()).await;
        assert_eq!(report.cause(), Cause::Cancelled);
        assert_eq!((report.outcome(), report.cause().retry()), (Outcome::NotSent, Retry::Again));
        assert_eq!(report.first_sent_at, None);
    }
    assert_eq!(broker.asked.load(Ordering::SeqCst), 0);
    shards.stop();
}

#[tokio::test]
async fn a_bug_after_dispatch_is_internal_and_unknown_and_the_shard_goes_on() {
    let broker = Arc::new(Fake::default());
    let (door, shards) = door(broker.clone());
    let report = door.call(call(Tool::CommandSend, "panic", CancellationToken::new()), Instant::now()).await;
    assert_eq!((report.cause().as_str(), report.outcome()), ("internal", Outcome::Unknown));
    assert_eq!(report.cause().retry(), Retry::Verify);
    let next =
        door.call(call(Tool::CommandSend, "panic.not", CancellationToken::new()), Instant::now()).await;
    assert_eq!(next.cause(), Cause::Completed);
    assert_eq!(door.requests_pending(), 0);
    shards.stop();
}

#[tokio::test]
async fn two_thousand_calls_at_once_wait_for_room_in_the_mailbox_and_all_end() {
    let broker = Arc::new(Fake::default());
    let (door, shards) = door(broker.clone());
    let calls = (0..2_000).map(|number| {
        let call = call(Tool::CommandSend, &format!("orders.{}", number % 7), CancellationToken::new());
        door.call(call, Instant::now())
    });
    let reports = futures_util::future::join_all(calls).await;
    assert!(reports.iter().all(|report| report.cause() == Cause::Completed));
    assert_eq!(broker.asked.load(Ordering::SeqCst), 2_000);
    assert!(door.answers(Duration::from_secs(5)).await);
    shards.stop();
}

#[tokio::test]
async fn a_stopped_connector_answers_internal_and_never_hangs() {
    let (door, shards) = door(Arc::new(Fake::default()));
    shards.stop();
    let report = door.call(call(Tool::QuerySend, "orders", CancellationToken::new()), Instant::now()).await;
    assert_eq!(report.cause().as_str(), "internal");
    assert!(!door.answers(Duration::from_millis(100)).await);
}
