//! The first step of a call: may its caller make it at all? Pure but for the count.
//!
//! Before anything of the arguments is judged but the channel: whoever may not call learns nothing of what would be right.

use rmcp::model::JsonObject;

use super::Report;
use super::call::Memory;
use super::metrics::Metrics;
use super::tool::argument::{IDEMPOTENCY_KEY, clipped};
use crate::access::{Bounds, Denied, Policy};
use crate::domain::{Cause, Channel, Ending, Key, Kind, Subject, Tool};

/// What a call has to keep within, or its end.
///
/// A channel that is none is no channel to be denied: the arguments are refused for it later.
pub(super) fn authorize(
    policy: &Policy,
    subject: &Subject,
    tool: Tool,
    arguments: Option<&JsonObject>,
) -> Result<Bounds, Box<Report>> {
    let text = |name: &str| arguments.and_then(|arguments| arguments.get(name)?.as_str());
    let written = text("channel").filter(|_| tool.has_channel());
    let channel = written.and_then(|written| Channel::parse(written).ok());
    match policy.decide(subject, tool, channel.as_ref()) {
        Ok(allowed) => Ok(allowed.bounds),
        Err(Denied { reason, .. }) => {
            Metrics::get().denied(reason);
            let ending = Ending::new(Cause::Forbidden, reason.clause());
            let mut report = Report::refused(subject.principal.clone(), tool, written.map(clipped), ending);
            // What an earlier call with the key did is not for somebody who may not call.
            let key = text(IDEMPOTENCY_KEY).filter(|_| tool.kind() == Kind::Command);
            report.memory = Memory::of(key.and_then(|key| Key::parse(key).ok()));
            Err(Box::new(report))
        }
    }
}
