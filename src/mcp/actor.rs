//! The order of steps of a call, on the thread of its channel.
//!
//! ```text
//! (authorize → validate: before it came here) → look the key up → reserve → claim → ask → settle → answer
//! ```

use actix::{Actor, Context, Handler, Message, ResponseFuture};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::journal::Journal;
use super::keyed::{self, RETRY_AFTER};
use super::{Call, Report};
use crate::channel::{self, AskError, Asked, Registry, ReserveError, Ticket};
use crate::clock;
use crate::domain::{Cause, Ending, Kind, Outcome, Reply, plain};
use crate::idempotency;

/// Routes calls to the channels of one shard.
pub struct McpActor {
    registry: Registry,
    idempotency: idempotency::Handle,
    journal: Journal,
    mailbox_messages_max: usize,
}

impl McpActor {
    pub(super) fn new(
        registry: Registry,
        idempotency: idempotency::Handle,
        journal: Journal,
        mailbox_messages_max: usize,
    ) -> Self {
        Self { registry, idempotency, journal, mailbox_messages_max }
    }

    /// Takes room for a call on its channel, before the channel can go to rest.
    fn reserve(&mut self, call: &Call) -> Result<Slot, ReserveError> {
        let channel = self.registry.handle(call.request.kind, &call.request.channel)?;
        let ticket = channel.reserve()?;
        Ok(Slot { channel, ticket })
    }
}

/// Room for one request on one channel.
pub(super) struct Slot {
    pub channel: channel::Handle,
    pub ticket: Ticket,
}

impl Actor for McpActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(self.mailbox_messages_max);
    }
}

/// Runs a call to its end. The end comes also when the agent has left.
#[derive(Message)]
#[rtype(result = "Report")]
pub(super) struct Route {
    pub call: Call,
    pub arrived: Instant,
}

impl Handler<Route> for McpActor {
    type Result = ResponseFuture<Report>;

    fn handle(&mut self, Route { mut call, arrived }: Route, _: &mut Self::Context) -> Self::Result {
        let slot = self.reserve(&call);
        let (store, journal) = (self.idempotency.clone(), self.journal.clone());
        Box::pin(async move {
            // Read once, before the claim is queued.
            let mut report = Report::of(&call, Ending::new(Cause::Cancelled, ""));
            if !call.leave.is_cancelled() {
                match call.keyed.take() {
                    Some(keyed) => {
                        keyed::run(call, keyed, slot, (&store, &journal), arrived, &mut report).await
                    }
                    None => run(call, slot, &journal, &mut report).await,
                }
            }
            report.elapsed = arrived.elapsed();
            journal.call_ended(&report);
            report
        })
    }
}

async fn run(call: Call, slot: Result<Slot, ReserveError>, journal: &Journal, report: &mut Report) {
    let Slot { channel, ticket } = match slot {
        Ok(slot) => slot,
        Err(full) => {
            report.ending = Ending::new(Cause::Overloaded, full.to_string());
            report.retry_after = Some(RETRY_AFTER);
            return;
        }
    };
    if call.request.kind == Kind::Command {
        if let Err(unavailable) = journal.intend(&call.principal, call.tool, &call.request, None).await {
            report.ending = Ending::new(Cause::AuditUnavailable, unavailable.to_string());
            report.retry_after = Some(RETRY_AFTER);
            return;
        }
        report.intended = true;
    }
    let leave = match call.request.kind {
        Kind::Query => call.leave,
        // From here on the command belongs to the connector, not to its agent.
        Kind::Command => CancellationToken::new(),
    };
    let sent_at = clock::now();
    let asked = channel.ask(ticket, call.request, leave).await;
    let left = asked == Err(AskError::Left);
    fill(report, asked);
    if left || report.outcome() != Outcome::NotSent {
        report.first_sent_at = Some(sent_at);
    }
}

/// Takes over how a request ended.
pub(super) fn fill(report: &mut Report, asked: Asked) {
    report.ending = ending(&asked);
    report.reply = asked.ok();
}

fn ending(asked: &Asked) -> Ending {
    match asked {
        Ok(Reply { executed: true, error, .. }) => Ending::new(Cause::Completed, plain(error)),
        Ok(Reply { executed: false, error, .. }) => Ending::new(Cause::Rejected, plain(error)),
        Err(error) => Ending::new(error.cause(), detail(error)),
    }
}

fn detail(error: &AskError) -> String {
    use crate::broker::Fault;
    match error {
        // The cause's own sentence already says what kind of fault it was.
        AskError::Broker(
            Fault::ConnectionLost(text)
            | Fault::Failed(text)
            | Fault::ReplyInvalid(text)
            | Fault::Unavailable(text)
            | Fault::Refused(text),
        ) => text.clone(),
        AskError::Broker(Fault::TimedOut) => String::new(),
        AskError::Broker(Fault::ReplyTooLarge { size: Some(size), limit }) => {
            format!("the reply has {size} bytes and the limit is {limit} (broker.reply_bytes_max)")
        }
        other => other.to_string(),
    }
}

/// Answers as soon as the actor takes its mail: what readiness asks.
#[derive(Message)]
#[rtype(result = "()")]
pub(super) struct AreYouThere;

impl Handler<AreYouThere> for McpActor {
    type Result = ();

    fn handle(&mut self, _: AreYouThere, _: &mut Self::Context) {}
}

/// Gives the doors of all channels that are alive on this shard.
#[derive(Message)]
#[rtype(result = "Vec<channel::Handle>")]
pub(super) struct Channels;

impl Handler<Channels> for McpActor {
    type Result = Vec<channel::Handle>;

    fn handle(&mut self, _: Channels, _: &mut Self::Context) -> Self::Result {
        self.registry.handles()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::Fault;

    #[test]
    fn an_oversized_reply_names_both_sizes() {
        let asked = Err(AskError::Broker(Fault::ReplyTooLarge { size: Some(2_000), limit: 1_000 }));
        let ending = ending(&asked);
        assert_eq!(ending.cause, Cause::ReplyTooLarge);
        assert!(ending.detail.contains("2000 bytes") && ending.detail.contains("1000"));
    }

    #[test]
    fn an_error_text_beside_executed_is_passed_on() {
        let reply = Reply { executed: true, error: "low stock".into(), ..Reply::default() };
        assert_eq!(ending(&Ok(reply)), Ending::new(Cause::Completed, "low stock"));
    }
}
