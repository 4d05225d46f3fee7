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
    let written = channel_text(tool, arguments);
    let channel = written.and_then(|written| Channel::parse(written).ok());
    match policy.decide(subject, tool, channel.as_ref()) {
        Ok(allowed) => Ok(allowed.bounds),
        Err(Denied { reason, .. }) => {
            Metrics::get().denied(reason);
            let ending = Ending::new(Cause::Forbidden, reason.clause());
            Err(Box::new(refused(subject, tool, arguments, ending)))
        }
    }
}

/// The end of a call that was refused before its arguments were judged. What an earlier call with its key did is not
/// looked up.
pub(super) fn refused(
    subject: &Subject,
    tool: Tool,
    arguments: Option<&JsonObject>,
    ending: Ending,
) -> Report {
    let channel = channel_text(tool, arguments).map(clipped);
    let mut report = Report::refused(subject.principal.clone(), tool, channel, ending);
    let key = text(arguments, IDEMPOTENCY_KEY).filter(|_| tool.kind() == Kind::Command);
    report.memory = Memory::of(key.and_then(|key| Key::parse(key).ok()));
    report
}

fn channel_text(tool: Tool, arguments: Option<&JsonObject>) -> Option<&str> {
    text(arguments, "channel").filter(|_| tool.has_channel())
}

fn text<'a>(arguments: Option<&'a JsonObject>, name: &str) -> Option<&'a str> {
    arguments?.get(name)?.as_str()
}
