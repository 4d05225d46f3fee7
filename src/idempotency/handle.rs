//! The door of the store.

use crate::domain::Outcome;

/// The door of the store.
#[derive(Clone, Copy, Debug, Default)]
pub struct Handle;

/// What the store says of a command that wants to leave.
#[derive(Debug)]
pub enum Verdict {
    /// It may leave; settle it with this claim.
    Run(Claimed),
}

/// The right to send one command once.
#[derive(Debug)]
pub struct Claimed(());

/// Whether an outcome will be told again to a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// No: the command had no key, or could not be recorded.
    No,
}

impl Handle {
    /// Asks to send a command.
    pub async fn claim(self) -> Verdict {
        Verdict::Run(Claimed(()))
    }

    /// Tells how a claimed command ended.
    pub async fn settle(self, claim: Claimed, outcome: Outcome) -> Recorded {
        let Claimed(()) = claim;
        tracing::trace!(outcome = outcome.as_str(), "settled without a record");
        Recorded::No
    }
}
