//! One outcome per key. This version keeps nothing yet: the durable store takes this seat next.
//!
//! A command is claimed before it leaves and settled before its answer does. The sequence is kept already, so that a
//! store which remembers changes this layer only.

mod config;
mod identity;
mod record;
mod store;
mod time;

pub use config::Config;
pub use identity::{Identity, Owner};
pub use record::{Doubt, RECORD_VERSION, Record, RecordError, Resolution, Settlement, State};
pub use store::{Change, Head, MemoryStore, Store, StoreError, View, Walk};
pub use time::Timestamp;

use crate::domain::Outcome;
use identity::Claim as LedgerClaim;

/// The door of the store.
#[derive(Clone, Copy, Debug, Default)]
pub struct Handle;

/// What the store says of a command that wants to leave.
#[derive(Debug)]
pub enum Verdict {
    /// It may leave; settle it with this claim.
    Run(Claim),
}

/// The right to send one command once.
#[derive(Debug)]
pub struct Claim(());

/// Whether an outcome will be told again to a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// No: the command had no key, or could not be recorded.
    No,
}

impl Handle {
    /// Asks to send a command.
    pub async fn claim(self) -> Verdict {
        Verdict::Run(Claim(()))
    }

    /// Tells how a claimed command ended.
    pub async fn settle(self, claim: Claim, outcome: Outcome) -> Recorded {
        let Claim(()) = claim;
        tracing::trace!(outcome = outcome.as_str(), "settled without a record");
        Recorded::No
    }
}
