//! The broker and the service behind it: the only one who knows what really happened.

use std::collections::BTreeSet;

use kubemq_mcp::domain::Cause;
use kubemq_mcp::idempotency::Identity;

use super::stage::{CallId, Event, SECOND, Stage, Step};

#[derive(Default)]
pub struct Responder {
    /// The effects there are, for responders that take care of duplicates.
    done: BTreeSet<Identity>,
}

/// A request leaves the connector. What is lost here may be noticed or not.
pub fn send(call: CallId, life: u32, stage: &mut Stage) {
    let is_lost = stage.happens(stage.chances.lost);
    if is_lost {
        stage.oracle.lost(call);
    } else {
        let transit = stage.transit();
        stage.after(transit, Event::Request { call, life });
    }
    // A connection breaks with or without the request having passed.
    if stage.happens(if is_lost { 0.5 } else { stage.chances.lost / 3.0 }) {
        let cause = if stage.happens(0.5) { Cause::ConnectionLost } else { Cause::BrokerFailed };
        let after = stage.between(1, SECOND);
        stage.inside(life, after, Step::Fail { call, cause });
    }
}

impl Responder {
    /// A request has come: it is done or not, and the answer sets out or does not.
    pub fn request(&mut self, call: CallId, life: u32, stage: &mut Stage) {
        let (identity, takes_care) = stage.oracle.whose(call);
        let is_duplicate = takes_care && self.done.contains(&identity);
        let executed = if is_duplicate { stage.happens(0.6) } else { stage.happens(0.7) };
        if executed {
            self.done.insert(identity);
            stage.oracle.ran(call);
        } else {
            stage.oracle.arrived(call);
        }
        stage.tell(|| format!("request {call} is {}", if executed { "done" } else { "refused" }));
        if stage.happens(stage.chances.mute) || stage.happens(stage.chances.lost) {
            return;
        }
        let answers = if stage.happens(stage.chances.repeated) { 2 } else { 1 };
        for _ in 0..answers {
            let transit = stage.transit();
            stage.inside(life, transit, Step::Reply { call, executed });
        }
    }
}
