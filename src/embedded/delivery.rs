//! Gives a copy of a request to a subscriber, or drops it when the subscriber does not read.
//!
//! A full inbox is waited for, then the copy is dropped with a log line only: the caller sees a timeout, as with the
//! real broker. Waiting copies keep their order, because a sender never overtakes one that waits.

use std::sync::Arc;
use std::time::Duration;

use kubemq::proto::kubemq::Request;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::timeout;

use super::hub::Hub;

/// How long a copy waits for a full inbox; the real broker's number.
const INBOX_PATIENCE: Duration = Duration::from_secs(2);

/// How many copies wait at once, over all subscribers. The real broker keeps 65 536 for each.
pub const DELIVERIES_WAITING_MAX: usize = 1_024;

impl Hub {
    /// Gives a copy to one subscriber. Never waits itself.
    pub fn deliver(self: &Arc<Self>, outlet: mpsc::Sender<Request>, request: Request) {
        match outlet.try_send(request) {
            Ok(()) => self.count_delivery(),
            // It left between the choice and now. The copy is lost, as with the real broker.
            Err(TrySendError::Closed(_)) => {}
            Err(TrySendError::Full(request)) => self.deliver_later(outlet, request),
        }
    }

    fn deliver_later(self: &Arc<Self>, outlet: mpsc::Sender<Request>, request: Request) {
        let (channel, request_id) = (request.channel.clone(), request.request_id.clone());
        let Ok(permit) = Arc::clone(&self.deliveries_waiting).try_acquire_owned() else {
            return self.drop_delivery(&channel, &request_id);
        };
        let hub = Arc::clone(self);
        tokio::spawn(async move {
            match timeout(INBOX_PATIENCE, outlet.send(request)).await {
                Ok(Ok(())) => hub.count_delivery(),
                Ok(Err(_)) => {}
                Err(_) => hub.drop_delivery(&channel, &request_id),
            }
            drop(permit);
        });
    }

    fn count_delivery(&self) {
        self.counters.deliveries.increment();
        self.announce_change();
    }

    fn drop_delivery(&self, channel: &str, request_id: &str) {
        self.counters.deliveries_dropped.increment();
        self.announce_change();
        tracing::warn!(channel, request_id, "request dropped, the subscriber does not read its full inbox");
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::Config;
    use super::*;

    fn request(request_id: &str) -> Request {
        Request { request_id: request_id.into(), ..Request::default() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_copy_waits_two_seconds_for_a_full_inbox_and_is_dropped_then() {
        let hub = Arc::new(Hub::new(&Config::default()));
        let (outlet, mut inbox) = mpsc::channel(1);
        let mut changes = hub.changes();
        let start = tokio::time::Instant::now();
        hub.deliver(outlet.clone(), request("1"));
        hub.deliver(outlet, request("2"));
        while hub.figures().deliveries_dropped_total == 0 {
            changes.changed().await.expect("the hub lives");
        }
        assert_eq!(start.elapsed().as_secs(), 2);
        assert_eq!(hub.figures().deliveries_dropped_total, 1);
        assert_eq!(inbox.recv().await.map(|request| request.request_id).as_deref(), Some("1"));
        assert_eq!(inbox.recv().await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn copies_that_waited_arrive_in_order_once_the_subscriber_reads() {
        let hub = Arc::new(Hub::new(&Config::default()));
        let (outlet, mut inbox) = mpsc::channel(1);
        for request_id in ["1", "2", "3"] {
            hub.deliver(outlet.clone(), request(request_id));
            tokio::task::yield_now().await;
        }
        drop(outlet);
        let mut arrived = Vec::new();
        while let Some(request) = inbox.recv().await {
            arrived.push(request.request_id);
        }
        assert_eq!(arrived, ["1", "2", "3"]);
        assert_eq!(hub.figures().deliveries_dropped_total, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn only_so_many_copies_wait() {
        let hub = Arc::new(Hub::new(&Config::default()));
        let (outlet, _inbox) = mpsc::channel(1);
        for _ in 0..DELIVERIES_WAITING_MAX + 3 {
            hub.deliver(outlet.clone(), request("r"));
        }
        assert_eq!(hub.figures().deliveries_dropped_total, 2);
    }
}
