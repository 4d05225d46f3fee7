//! One outcome per key. This version keeps nothing yet: the durable store takes this seat next.
//!
//! A command is claimed before it leaves and settled before its answer does. The sequence is kept already, so that a
//! store which remembers changes this layer only.

mod config;
mod handle;
mod identity;
mod ledger;
mod operation;
mod record;
mod store;
mod time;

pub use config::Config;
pub use handle::{Handle, Recorded, Verdict};
pub use identity::{Claim, Identity, Owner};
pub use ledger::{Ledger, Recovered, RecoveryError, Usage};
pub use operation::{
    Answer, Consent, Decision, Ended, Full, Operation, Proposal, Refusal, Resend, Selection, Settled,
    StateName, ending_of,
};
pub use record::{Doubt, RECORD_VERSION, Record, RecordError, Resolution, Settlement, State};
pub use store::{Change, Head, MemoryStore, Store, StoreError, View, Walk};
pub use time::Timestamp;
