//! One request from its check to its reply, and the replies that find or miss it.

use std::sync::Arc;
use std::time::Duration;

use kubemq::proto::kubemq::{Request, Response};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use super::cache::Key;
use super::fault::Fault;
use super::hub::{Hub, open};
use super::validation::{self, Kind};
use super::{admin, identifier, reply, wall_clock};

/// A request's entry among those that wait. It goes with this, so a caller that hangs up waits no longer.
struct Waiting {
    hub: Arc<Hub>,
    reply_channel: String,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        open(&self.hub.pending).take(&self.reply_channel);
        self.hub.announce_change();
    }
}

impl Hub {
    /// Answers a request: itself, from the cache, or with the first reply of those it reaches.
    ///
    /// Without a responder it takes the whole timeout, because the real broker cannot tell an absent responder from a
    /// slow one.
    ///
    /// # Errors
    /// The request is refused, or nobody answered in time.
    pub async fn ask(self: &Arc<Self>, mut request: Request) -> Result<Response, Fault> {
        let kind = validation::request_kind(&request)?;
        self.refuse_while_stopping()?;
        validation::request(&request)?;
        self.counters.requests.increment();
        if request.request_id.is_empty() {
            request.request_id = identifier::request_id();
        }
        if admin::concerns(kind, &request) {
            return Ok(admin::answer(&request, &mut open(&self.directory), wall_clock::now()));
        }
        let Some(key) = Key::of(kind, &request) else {
            return self.forward(kind, request).await;
        };
        if let Some(cached) = open(&self.cache).find(&key, Instant::now()) {
            self.counters.cache_hits.increment();
            return Ok(reply::from_cache(cached, &request.request_id));
        }
        let lifetime = Duration::from_secs(u64::from(request.cache_ttl.unsigned_abs()));
        let response = self.forward(kind, request).await?;
        open(&self.cache).store(key, response.clone(), lifetime, Instant::now());
        Ok(response)
    }

    /// Takes a reply to whoever waits for it. One that nobody waits for is fine and goes nowhere: the responder is
    /// never told, and no channel but a waiting request's own can be reached.
    ///
    /// It works during a shutdown too, unlike the real broker's: requests that are under way are to finish.
    ///
    /// # Errors
    /// The response is refused, as the real broker would.
    pub fn answer(&self, response: Response) -> Result<(), Fault> {
        validation::response(&response)?;
        self.counters.responses.increment();
        let caller = open(&self.pending).take(&response.reply_channel);
        if caller.is_none_or(|caller| caller.send(response).is_err()) {
            self.counters.responses_unclaimed.increment();
            self.announce_change();
        }
        Ok(())
    }

    async fn forward(self: &Arc<Self>, kind: Kind, mut request: Request) -> Result<Response, Fault> {
        let deadline = Instant::now() + Duration::from_millis(u64::from(request.timeout.unsigned_abs()));
        let channel = request.channel.clone();
        let (waiting, answer) = self.wait().ok_or_else(|| {
            tracing::warn!(
                channel,
                request_id = request.request_id,
                "request refused, too many wait already"
            );
            Fault::RequestTimeout
        })?;
        request.reply_channel.clone_from(&waiting.reply_channel);
        self.distribute(kind, request);
        let Ok(Ok(response)) = timeout_at(deadline, answer).await else {
            self.counters.timeouts.increment();
            return Err(Fault::RequestTimeout);
        };
        self.note(kind, &channel, |record| {
            record.incoming.responses += 1;
            record.outgoing.responses += 1;
        });
        Ok(reply::for_caller(kind, response))
    }

    fn wait(self: &Arc<Self>) -> Option<(Waiting, oneshot::Receiver<Response>)> {
        let (caller, answer) = oneshot::channel();
        let reply_channel = open(&self.pending).admit(caller, || self.inbox.reply_channel())?;
        self.announce_change();
        Some((Waiting { hub: Arc::clone(self), reply_channel }, answer))
    }

    /// Gives everybody who is to get one a copy of the request.
    fn distribute(&self, kind: Kind, request: Request) {
        let mut outlets =
            open(&self.routes).recipients(kind, &request.channel, |members| fastrand::usize(..members));
        let volume = u64::try_from(request.metadata.len() + request.body.len()).unwrap_or(u64::MAX);
        let copies = u64::try_from(outlets.len()).unwrap_or(u64::MAX);
        self.note(kind, &request.channel, |record| {
            record.incoming.messages += 1;
            record.incoming.volume += volume;
            record.outgoing.messages += copies;
            record.outgoing.volume += copies * volume;
        });
        // The last one gets the request itself, so the usual single subscriber costs no copy.
        let last = outlets.pop();
        for outlet in outlets {
            self.deliver(&outlet, request.clone());
        }
        if let Some(outlet) = last {
            self.deliver(&outlet, request);
        }
    }
}
