//! A command with a key: what the store says of it, and what follows.
//!
//! ```text
//! look the key up ─▶ known: tell it   runs: join it   new: claim ─▶ ask ─▶ settle
//! ```
//!
//! The store looks up and claims in one step, so that of two calls with one key only one can be the first. Room on the
//! channel is taken before, since a claim without it would have to be withdrawn; when there is none, the key is only
//! looked up, and what is known of it is told all the same.

use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::actor::{Slot, fill};
use super::call::{Keyed, Lookup};
use super::journal::Journal;
use super::{Call, Report};
use crate::audit::Unavailable;
use crate::channel::ReserveError;
use crate::domain::{Cause, Ending, Outcome, Principal};
use crate::idempotency::{
    self, Claimed, Closed, End, Identity, Join, Proposal, Record, Recorded, Resend, Verdict, settled_ending,
};

/// How long an agent is asked to wait when a limit of ours is reached.
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Runs a command with a key to its end.
pub(super) async fn run(
    call: Call,
    keyed: Keyed,
    slot: Result<Slot, ReserveError>,
    (store, journal): (&idempotency::Handle, &Journal),
    arrived: Instant,
    report: &mut Report,
) {
    let wait = Wait { until: arrived + call.request.timeout.duration(), leave: call.leave.clone() };
    match slot {
        Ok(slot) => match store.claim(proposal(&call, &keyed)).await {
            Verdict::Run(claimed) => {
                let intended =
                    journal.intend(&call.principal, call.tool, &call.request, Some(&keyed.key)).await;
                match intended {
                    Ok(()) => dispatch(call, slot, claimed, store, arrived, report).await,
                    Err(unavailable) => withdraw(claimed, &unavailable, store, arrived, report).await,
                }
            }
            verdict => {
                // Whoever waits for another call must not keep its room.
                drop(slot);
                tell(verdict, wait, report).await;
                exhausted(&keyed, store.attempts_max(), report);
            }
        },
        Err(full) => {
            let identity = Identity::of(&call.principal, &keyed.key);
            match store.look(identity, keyed.fingerprint).await {
                Verdict::Free => {
                    report.memory.lookup = Lookup::Done;
                    report.ending = Ending::new(Cause::Overloaded, full.to_string());
                    report.retry_after = Some(RETRY_AFTER);
                }
                verdict => tell(verdict, wait, report).await,
            }
        }
    }
}

/// Says why a key in doubt did not leave again where its channel allows that.
fn exhausted(keyed: &Keyed, attempts_max: u32, report: &mut Report) {
    let attempts = report.memory.attempt;
    if report.cause() == Cause::InDoubt && keyed.resend == Resend::InDoubt && attempts >= attempts_max {
        let told = format!("; it was sent {attempts} times, as often as store.attempts_max allows");
        report.ending.detail.push_str(&told);
    }
}

/// Tells what is known of the key of a call that cannot be sent. What is not known leaves the report as it is.
pub(super) async fn look(
    principal: &Principal,
    keyed: &Keyed,
    store: &idempotency::Handle,
    wait: Wait,
    report: &mut Report,
) {
    match store.look(Identity::of(principal, &keyed.key), keyed.fingerprint).await {
        Verdict::Free => report.memory.lookup = Lookup::Done,
        // The call is wrong in any case; that the key could not be looked up is said beside it.
        Verdict::Busy | Verdict::Unavailable(_) => {}
        verdict => tell(verdict, wait, report).await,
    }
}

/// How long a call waits for another one with its key.
pub(super) struct Wait {
    /// The end of its own timeout.
    pub until: Instant,
    /// Cancelled when its agent leaves.
    pub leave: CancellationToken,
}

fn proposal(call: &Call, keyed: &Keyed) -> Proposal {
    Proposal {
        principal: call.principal.clone(),
        key: keyed.key.clone(),
        fingerprint: keyed.fingerprint,
        channel: call.request.channel.clone(),
        request_id: call.request.id.clone(),
        resend: keyed.resend,
    }
}

async fn dispatch(
    call: Call,
    Slot { channel, ticket }: Slot,
    mut claimed: Claimed,
    store: &idempotency::Handle,
    arrived: Instant,
    report: &mut Report,
) {
    claimed.leave();
    report.remember(claimed.record());
    // From here on the command belongs to the connector, not to its agent.
    report.intended = true;
    let asked = channel.ask(ticket, call.request, CancellationToken::new()).await;
    fill(report, asked);
    settle(claimed, store, arrived, report).await;
}

/// Records how an attempt ended, before anybody hears it.
async fn settle(claimed: Claimed, store: &idempotency::Handle, arrived: Instant, report: &mut Report) {
    let end = End { ending: &report.ending, reply: report.reply.as_ref(), elapsed: arrived.elapsed() };
    let (recorded, record) = store.settle(claimed, end).await;
    report.remember(&record);
    report.memory.recorded = recorded == Recorded::Yes;
    if report.outcome() == Outcome::NotSent {
        report.forget_dispatch();
    }
    report.ending = settled_ending(&record, report.ending.clone());
}

/// Takes a claim back whose command must not leave, since nobody could account for it.
async fn withdraw(
    claimed: Claimed,
    unavailable: &Unavailable,
    store: &idempotency::Handle,
    arrived: Instant,
    report: &mut Report,
) {
    report.remember(claimed.record());
    report.ending = Ending::new(Cause::AuditUnavailable, unavailable.to_string());
    report.retry_after = Some(RETRY_AFTER);
    settle(claimed, store, arrived, report).await;
}

async fn tell(verdict: Verdict, wait: Wait, report: &mut Report) {
    let mut refuse = |cause: Cause, detail: String| {
        report.ending = Ending::new(cause, detail);
    };
    match verdict {
        Verdict::Known(record) => report.tell(&record),
        Verdict::Join(join) => joined(join, wait, report).await,
        Verdict::Crowded(record) => {
            in_progress(&record, "too many calls wait for it already (store.joins_per_key_max)", report);
        }
        Verdict::Conflict => {
            refuse(Cause::KeyConflict, String::new());
            report.memory.lookup = Lookup::Done;
        }
        Verdict::Full(full) => {
            refuse(Cause::StoreFull, full.to_string());
            report.memory.lookup = Lookup::Done;
        }
        Verdict::Unavailable(reason) => refuse(Cause::StoreUnavailable, reason),
        Verdict::Busy => {
            refuse(
                Cause::Overloaded,
                "too many commands with keys wait for the disk (store.commits_waiting_max)".into(),
            );
            report.retry_after = Some(RETRY_AFTER);
        }
        Verdict::Run(_) | Verdict::Free => {
            // A dropped claim makes its key free again.
            refuse(Cause::Internal(crate::domain::Sent::No), "the store answered another question".into());
        }
    }
}

async fn joined(mut join: Join, wait: Wait, report: &mut Report) {
    let told = tokio::select! {
        told = join.told() => told,
        () = tokio::time::sleep_until(wait.until) => None,
        () = wait.leave.cancelled() => {
            report.ending = Ending::new(Cause::Cancelled, "");
            return;
        }
    };
    match told {
        Some(told) => report.tell_joined(&told),
        None => in_progress(&join.record, "", report),
    }
}

fn in_progress(record: &Record, detail: &str, report: &mut Report) {
    report.tell(record);
    report.ending = Ending::new(Cause::InProgress, detail);
}

/// What is known of a key, for whoever asks with `command_status`.
///
/// # Errors
/// When the store is closed.
pub(super) async fn status(
    principal: &Principal,
    key: &crate::domain::Key,
    store: &idempotency::Handle,
) -> Result<Option<Box<Record>>, Closed> {
    store.show(Identity::of(principal, key)).await
}
