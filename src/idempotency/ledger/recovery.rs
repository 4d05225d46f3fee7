//! What is left of the last life: every claim that was open is in doubt, and nothing may be missing.

use std::collections::{BTreeMap, HashMap};

use super::ends::Ends;
use super::settle::{Step, doubtful};
use super::{Config, Head, Identity, Ledger, Owner, State, StoreError, Timestamp, Usage, Walk};
use crate::idempotency::{Doubt, Store};

/// Open claims that one commit turns into doubts.
const CLAIMS_PER_COMMIT: usize = 1_024;

/// What a start has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Records in the store.
    pub records: usize,
    /// Claims that were open and are in doubt now.
    pub doubted: usize,
}

/// Why a store cannot be gone on with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecoveryError {
    /// It cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Records are missing, or there are some that were never counted.
    #[error("the store is damaged: it has counted {counted} records and holds {found}")]
    Lost {
        /// As the store has counted them.
        counted: u64,
        /// As they are.
        found: u64,
    },
}

impl Ledger {
    /// Reads everything the store holds, and puts every open claim of this instance in doubt, durably.
    ///
    /// # Errors
    /// When the store cannot be read or written, or does not hold what it has counted.
    pub fn recover(
        store: &mut dyn Store,
        limits: &Config,
        wall: Timestamp,
    ) -> Result<(Self, Recovered), RecoveryError> {
        let head = store.head();
        let owner = Owner { instance: head.instance, boot: head.boot + 1 };
        let mut usage = Usage::default();
        let mut ends = Ends::default();
        let mut latest = head.latest.max(wall);
        let mut open: Vec<Identity> = Vec::new();
        let mut fence = head.fence;
        store.walk(None, &mut |record| {
            let identity = record.identity();
            usage.change(&identity, None, Some(&record), limits.record_bytes_max);
            ends.change(&identity, None, Some(&record));
            latest = latest.max(record.latest());
            fence = fence.max(record.fence);
            if record.state == State::InProgress && record.owner.instance == head.instance {
                open.push(identity);
            }
            Walk::On
        })?;
        let found = usage.records() as u64;
        if found != head.records {
            return Err(RecoveryError::Lost { counted: head.records, found });
        }
        let head = Head { boot: owner.boot, fence, latest, ..head };
        let recovered = Recovered { records: usage.records(), doubted: open.len() };
        let mut ledger = Self {
            limits: limits.clone(),
            owner,
            head,
            usage,
            ends,
            free_bytes: 0,
            staged: BTreeMap::new(),
            before_resend: HashMap::new(),
        };
        for some in open.chunks(CLAIMS_PER_COMMIT) {
            ledger.doubt(some, store)?;
        }
        // The boot must be durable as well: an owner that comes twice could settle what is not its own.
        store.commit(&[], &ledger.head)?;
        Ok((ledger, recovered))
    }

    fn doubt(&mut self, open: &[Identity], store: &mut dyn Store) -> Result<(), RecoveryError> {
        for identity in open {
            let Some(record) = store.get(identity)? else { continue };
            if let Step::Becomes(record) = doubtful(record, Doubt::Interrupted, self.now()) {
                tracing::warn!(
                    channel = %record.channel,
                    principal = %record.principal,
                    request_id = %record.request_id,
                    key = record.key.digest(),
                    "a command was in progress when the connector stopped; its key is in doubt"
                );
                self.stage(*identity, Some(*record), store)?;
            }
        }
        let (changes, head) = self.take();
        store.commit(&changes, &head)?;
        Ok(())
    }
}
