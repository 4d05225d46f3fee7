//! One outcome per key, durable: a key is claimed before its command leaves and settled before its answer does.
//!
//! The rules are in [`Ledger`], which knows no disk and no clock; a commit thread applies them over a [`Store`]; the actor
//! knows who waits. [`Handle`] is the door.

mod actor;
mod commit;
mod config;
mod handle;
mod identity;
mod ledger;
mod metrics;
mod operation;
mod record;
mod room;
mod sled;
mod store;
mod time;
mod verdict;

pub use self::sled::{CheckReport, Found, OpenError, Problem, RECORD_BYTES_LIMIT, SledStore};
pub use commit::Closed;
pub use config::Config;
pub use handle::{End, Handle};
pub use identity::{Claim, Identity, Owner};
pub use ledger::{Ledger, Recovered, RecoveryError, Usage};
pub use metrics::register_metrics;
pub use operation::{
    Answer, Consent, Decision, Ended, Full, Limit, Listed, Operation, Proposal, Refusal, Resend, Selection,
    Settled, StateName, ending_of, settled_ending,
};
pub use record::{Doubt, RECORD_VERSION, Record, RecordError, Resolution, Settlement, State};
pub use store::{Change, Head, MemoryStore, Store, StoreError, View, Walk};
pub use time::Timestamp;
pub use verdict::{Claimed, Join, Recorded, Told, Verdict};

use std::sync::Arc;

/// Where the store's time comes from.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;
