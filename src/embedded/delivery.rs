//! The way of a request to one subscriber: a backlog, a pump, and the inbox that the stream reads.
//!
//! ```text
//!  deliver -> backlog (65 536 requests, 64 MiB) -> pump -> inbox (100) -> stream -> subscriber
//!                full: dropped at once           waits 2 s for room, then drops
//! ```
//!
//! This is the real broker's arrangement with its numbers, so a burst waits its turn and only a subscriber that reads
//! nothing for two seconds loses requests. What is dropped leaves a log line only: the caller sees a timeout.

use std::sync::Arc;
use std::time::Duration;

use kubemq::proto::kubemq::Request;
use prost::Message;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::timeout;

use super::hub::Hub;

/// How many requests wait in front of one inbox; the limit of the NATS client inside the real broker.
const BACKLOG_MAX: usize = 65_536;

/// How many bytes wait in front of one inbox; of the same origin, so a single request above it never arrives. All of a
/// request counts, since a caller may put anything anywhere.
const BACKLOG_BYTES_MAX: usize = 64 << 20;

/// How long the first of the backlog waits for room in the inbox.
const INBOX_PATIENCE: Duration = Duration::from_secs(2);

/// The way to one subscriber.
#[derive(Clone, Debug)]
pub struct Outlet {
    queue: mpsc::Sender<Queued>,
    bytes_free: Arc<Semaphore>,
}

/// The other end of an [`Outlet`].
#[derive(Debug)]
pub struct Backlog {
    queue: mpsc::Receiver<Queued>,
}

/// A request with its share of the backlog's bytes, given back when the request leaves.
#[derive(Debug)]
struct Queued {
    request: Request,
    _share: OwnedSemaphorePermit,
}

/// Makes an empty backlog.
pub fn backlog() -> (Outlet, Backlog) {
    let (sender, receiver) = mpsc::channel(BACKLOG_MAX);
    let bytes_free = Arc::new(Semaphore::new(BACKLOG_BYTES_MAX));
    (Outlet { queue: sender, bytes_free }, Backlog { queue: receiver })
}

impl Hub {
    /// Puts a copy into a subscriber's backlog. Never waits.
    pub fn deliver(&self, outlet: &Outlet, request: Request) {
        self.counters.deliveries.increment();
        let bytes = u32::try_from(request.encoded_len()).unwrap_or(u32::MAX);
        let Ok(share) = Arc::clone(&outlet.bytes_free).try_acquire_many_owned(bytes) else {
            return self.drop_delivery(&request);
        };
        match outlet.queue.try_send(Queued { request, _share: share }) {
            Ok(()) => self.announce_change(),
            // It left between the choice and now. The copy is lost, as with the real broker.
            Err(mpsc::error::TrySendError::Closed(_)) => {}
            Err(mpsc::error::TrySendError::Full(queued)) => self.drop_delivery(&queued.request),
        }
    }

    /// Moves requests from a backlog into its inbox, until either the subscriber or its place is gone.
    pub async fn pump(self: Arc<Self>, mut backlog: Backlog, inbox: mpsc::Sender<Request>) {
        while let Some(Queued { request, _share }) = backlog.queue.recv().await {
            match timeout(INBOX_PATIENCE, inbox.reserve()).await {
                Ok(Ok(room)) => room.send(request),
                Ok(Err(_)) => return,
                Err(_) => self.drop_delivery(&request),
            }
        }
    }

    fn drop_delivery(&self, request: &Request) {
        self.counters.deliveries_dropped.increment();
        self.announce_change();
        let Request { channel, request_id, .. } = request;
        tracing::warn!(channel, request_id, "request dropped, its subscriber does not read");
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::Config;
    use super::*;

    fn request(request_id: usize, bytes: usize) -> Request {
        Request { request_id: request_id.to_string(), body: vec![0; bytes], ..Request::default() }
    }

    fn hub() -> Arc<Hub> {
        Arc::new(Hub::new(&Config::default()))
    }

    async fn until_dropped(hub: &Hub, copies: u64) {
        let mut changes = hub.changes();
        while hub.figures().deliveries_dropped_total < copies {
            changes.changed().await.expect("the hub lives");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn each_request_in_turn_waits_two_seconds_for_a_full_inbox_and_is_dropped_then() {
        let hub = hub();
        let (outlet, backlog) = backlog();
        let (sender, mut inbox) = mpsc::channel(1);
        let start = tokio::time::Instant::now();
        for number in 0..4 {
            hub.deliver(&outlet, request(number, 1));
        }
        tokio::spawn(Arc::clone(&hub).pump(backlog, sender));
        until_dropped(&hub, 1).await;
        assert_eq!(start.elapsed().as_secs(), 2);
        until_dropped(&hub, 2).await;
        assert_eq!(start.elapsed().as_secs(), 4);
        drop(outlet);
        let mut arrived = Vec::new();
        while let Some(request) = inbox.recv().await {
            arrived.push(request.request_id);
        }
        assert_eq!(arrived, ["0", "3"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_waits_its_turn_for_a_slow_reader_in_order() {
        let hub = hub();
        let (outlet, backlog) = backlog();
        let (sender, mut inbox) = mpsc::channel(1);
        for number in 0..50 {
            hub.deliver(&outlet, request(number, 1));
        }
        drop(outlet);
        tokio::spawn(Arc::clone(&hub).pump(backlog, sender));
        // The paused clock makes this a reader that takes a second for each, in no time.
        let mut pace = tokio::time::interval(Duration::from_secs(1));
        for number in 0..50 {
            pace.tick().await;
            assert_eq!(inbox.recv().await, Some(request(number, 1)));
        }
        assert_eq!(hub.figures().deliveries_dropped_total, 0);
    }

    #[test]
    fn a_backlog_takes_so_many_requests() {
        let (hub, (outlet, _backlog)) = (hub(), backlog());
        for number in 0..BACKLOG_MAX + 2 {
            hub.deliver(&outlet, request(number, 0));
        }
        assert_eq!(hub.figures().deliveries_dropped_total, 2);
    }

    #[test]
    fn a_backlog_takes_so_many_bytes() {
        let (hub, (outlet, mut backlog)) = (hub(), backlog());
        let half = BACKLOG_BYTES_MAX / 2;
        hub.deliver(&outlet, request(0, BACKLOG_BYTES_MAX + 1));
        hub.deliver(&outlet, request(1, half));
        hub.deliver(&outlet, request(2, half));
        assert_eq!(hub.figures().deliveries_dropped_total, 2);
        drop(backlog.queue.try_recv());
        hub.deliver(&outlet, request(3, half));
        assert_eq!(hub.figures().deliveries_dropped_total, 2);
    }

    #[test]
    fn every_part_of_a_request_counts() {
        let (hub, (outlet, _backlog)) = (hub(), backlog());
        let large = || "x".repeat(BACKLOG_BYTES_MAX);
        for request in [
            Request { channel: large(), ..Request::default() },
            Request { tags: [("k".into(), large())].into(), ..Request::default() },
            Request { span: large().into(), ..Request::default() },
            Request { client_id: large(), ..Request::default() },
        ] {
            hub.deliver(&outlet, request);
        }
        assert_eq!(hub.figures().deliveries_dropped_total, 4);
    }
}
