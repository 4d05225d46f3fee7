//! The rules: who may leave, what is told again, what is in doubt. No disk, no clock, no thread.
//!
//! ```text
//!             claim                          settle
//!    new ─────────────▶ in progress ──────────────────────────▶ executed | rejected
//!                           │  unknown, interrupted, recovered
//!                           ├─────────────────────────────────▶ in doubt
//!                           │  not sent
//!                           └─────────────────────────────────▶ as before the claim
//! ```
//!
//! Operations are applied one after the other to what the disk has and what is staged. What they changed is taken with
//! [`Ledger::take`] and must be durable before any of their answers is told.

mod claim;
mod ends;
mod recovery;
mod settle;
#[cfg(test)]
mod tests;
mod usage;

pub use recovery::{Recovered, RecoveryError};
pub(super) use settle::would_be;
pub use usage::Usage;

use std::collections::{BTreeMap, HashMap};

use self::ends::Ends;
use super::{
    Answer, Change, Config, Consent, Decision, Full, Head, Identity, Listed, Operation, Owner, Record,
    Refusal, Resend, Selection, Settlement, State, StateName, StoreError, Timestamp, View, Walk,
};

/// Records that one piece of a list looks at: a list must not keep commands waiting for their commits.
const LIST_VISITS_MAX: usize = 5_000;

/// Remembers what became of each key.
///
/// A key is *claimed* before its command leaves and *settled* once it is known what became of it. A crash in between
/// leaves the claim open: the command may or may not have run, and only the agent can decide what that is worth.
#[derive(Debug)]
pub struct Ledger {
    limits: Config,
    owner: Owner,
    head: Head,
    usage: Usage,
    ends: Ends,
    free_bytes: u64,
    staged: BTreeMap<Identity, Change>,
    // What the keys that are sent again said before, for a withdrawal; as many as requests can be pending. A crash loses
    // it, and with it whoever could withdraw.
    before_resend: HashMap<Identity, Record>,
}

impl Ledger {
    /// Begins a batch: the store's time moves on to the wall clock's, but never back.
    pub fn begin(&mut self, wall: Timestamp, free_bytes: u64) {
        self.head.latest = self.head.latest.max(wall);
        self.free_bytes = free_bytes;
    }

    /// The store's time.
    pub fn now(&self) -> Timestamp {
        self.head.latest
    }

    /// What the records take.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Takes what the batch has changed, with the head that goes with it.
    pub fn take(&mut self) -> (Vec<Change>, Head) {
        let staged = std::mem::take(&mut self.staged);
        let changes = staged.into_values().filter(|change| change.before != change.after).collect();
        (changes, self.head)
    }

    /// Applies one operation to what `view` has on its disk and what is staged.
    ///
    /// # Errors
    /// When the store cannot be read. Then nothing that is staged may be told.
    pub fn apply(&mut self, operation: Operation, view: &dyn View) -> Result<Answer, StoreError> {
        Ok(match operation {
            Operation::Claim(proposal) => Answer::Decision(self.claim(*proposal, view)?),
            Operation::Look { identity, fingerprint } => {
                let found = self.alive(&identity, view)?;
                Answer::Decision(
                    claim::decide(found, fingerprint, Resend::Never, 0).unwrap_or(Decision::Free),
                )
            }
            Operation::Settle { claimed, ended } => Answer::Settled(self.settle(&claimed, ended, view)?),
            Operation::Show(identity) => Answer::Shown(self.alive(&identity, view)?.map(Box::new)),
            Operation::List(selection) => Answer::Listed(self.list(&selection, view)?),
            Operation::Resolve { identity, settlement } => {
                Answer::Governed(self.resolve(&identity, *settlement, view)?)
            }
            Operation::Forget { identity, consent } => {
                Answer::Governed(self.forget(&identity, consent, view)?)
            }
            Operation::Sweep { max } => Answer::Swept(self.sweep(max, view)?),
        })
    }

    fn resolve(
        &mut self,
        identity: &Identity,
        mut settlement: Settlement,
        view: &dyn View,
    ) -> Result<Result<Box<Record>, Refusal>, StoreError> {
        let Some(mut record) = self.alive(identity, view)? else { return Ok(Err(Refusal::Absent)) };
        if record.state != State::InDoubt {
            return Ok(Err(Refusal::NotInDoubt(record.state_name())));
        }
        settlement.at = self.now();
        record.state = State::Settled(settlement);
        record.shrink_to(self.limits.record_bytes_max);
        self.stage(*identity, Some(record.clone()), view)?;
        Ok(Ok(Box::new(record)))
    }

    fn forget(
        &mut self,
        identity: &Identity,
        consent: Consent,
        view: &dyn View,
    ) -> Result<Result<Box<Record>, Refusal>, StoreError> {
        let Some(record) = self.alive(identity, view)? else { return Ok(Err(Refusal::Absent)) };
        match record.state {
            State::InProgress => return Ok(Err(Refusal::InProgress)),
            State::InDoubt if consent == Consent::Missing => return Ok(Err(Refusal::NeedsConsent)),
            State::InDoubt | State::Settled(_) => {}
        }
        self.stage(*identity, None, view)?;
        Ok(Ok(Box::new(record)))
    }

    fn sweep(&mut self, max: usize, view: &dyn View) -> Result<usize, StoreError> {
        let mut swept = 0;
        for identity in self.ends.over(self.now(), max) {
            self.stage(identity, None, view)?;
            swept += 1;
        }
        Ok(swept)
    }

    /// Lists what the disk has; what this very batch changes is in the next list.
    fn list(&self, selection: &Selection, view: &dyn View) -> Result<Listed, StoreError> {
        let mut listed = Listed::default();
        let mut visits = 0;
        let now = self.now();
        view.walk(selection.after, &mut |record| {
            if listed.records.len() >= selection.max || visits >= LIST_VISITS_MAX {
                return Walk::End;
            }
            visits += 1;
            listed.next = Some(record.fence);
            let fits = selection.principal.as_ref().is_none_or(|principal| *principal == record.principal)
                && selection.state.is_none_or(|state| state == record.state_name())
                && !record.is_over(now);
            if fits {
                listed.records.push(record);
            }
            Walk::On
        })?;
        if visits < LIST_VISITS_MAX && listed.records.len() < selection.max {
            listed.next = None;
        }
        Ok(listed)
    }

    /// The record of a key, unless its time is over.
    fn alive(&self, identity: &Identity, view: &dyn View) -> Result<Option<Record>, StoreError> {
        Ok(self.current(identity, view)?.filter(|record| !record.is_over(self.now())))
    }

    /// The record of a key, expired or not: as staged, or as the disk has it.
    fn current(&self, identity: &Identity, view: &dyn View) -> Result<Option<Record>, StoreError> {
        match self.staged.get(identity) {
            Some(change) => Ok(change.after.clone()),
            None => view.get(identity),
        }
    }

    fn stage(
        &mut self,
        identity: Identity,
        after: Option<Record>,
        view: &dyn View,
    ) -> Result<(), StoreError> {
        let reserve = self.limits.record_bytes_max;
        let change = match self.staged.remove(&identity) {
            Some(change) => {
                self.usage.change(&identity, change.after.as_ref(), after.as_ref(), reserve);
                self.ends.change(&identity, change.after.as_ref(), after.as_ref());
                Change { after, ..change }
            }
            None => {
                let before = view.get(&identity)?;
                self.usage.change(&identity, before.as_ref(), after.as_ref(), reserve);
                self.ends.change(&identity, before.as_ref(), after.as_ref());
                Change { identity, before, after }
            }
        };
        self.staged.insert(identity, change);
        self.head.records = self.usage.records() as u64;
        Ok(())
    }
}

impl StateName {
    const fn index(self) -> usize {
        self as usize
    }
}
