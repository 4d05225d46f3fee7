//! What its caller has left when a call comes: before everything else, so that a flood costs as little as it can.

use std::time::Duration;

use rmcp::model::JsonObject;

use super::Report;
use super::authorize::refused;
use crate::access::{Allowance, Excess, Limits};
use crate::domain::{Cause, Ending, Subject, Tool};

/// The call's part of what its caller may do, or its end.
pub(super) fn admit(
    limits: &Limits,
    subject: &Subject,
    tool: Tool,
    arguments: Option<&JsonObject>,
) -> Result<Allowance, Box<Report>> {
    limits.admit(&subject.principal).map_err(|excess| {
        let cause = match excess {
            Excess::Rate { .. } => Cause::RateLimited,
            Excess::Pending { .. } | Excess::Callers { .. } => Cause::Overloaded,
        };
        let mut report = refused(subject, tool, arguments, Ending::new(cause, excess.to_string()));
        report.retry_after = Some(whole_seconds(excess.wait()));
        Box::new(report)
    })
}

/// Answers speak of whole seconds; one that is rounded down sends the agent back too early.
fn whole_seconds(wait: Duration) -> Duration {
    Duration::from_secs(wait.as_secs() + u64::from(wait.subsec_nanos() > 0))
}
