//! May this command leave?

use super::{Decision, Full, Ledger, Record, Resend, State, StoreError, View};
use crate::domain::Fingerprint;
use crate::idempotency::{Identity, Proposal};

/// What a known key answers to a command; `None` when the command may leave under it.
pub(super) fn decide(
    found: Option<Record>,
    fingerprint: Fingerprint,
    resend: Resend,
    attempts_max: u32,
) -> Option<Decision> {
    let record = found?;
    if record.fingerprint != fingerprint {
        return Some(Decision::Conflict);
    }
    match record.state {
        State::InProgress => Some(Decision::Running(Box::new(record))),
        State::InDoubt if resend == Resend::InDoubt && record.attempt < attempts_max => None,
        State::InDoubt | State::Settled(_) => Some(Decision::Known(Box::new(record))),
    }
}

impl Ledger {
    pub(super) fn claim(&mut self, proposal: Proposal, view: &dyn View) -> Result<Decision, StoreError> {
        let identity = Identity::of(&proposal.principal, &proposal.key);
        let found = self.alive(&identity, view)?;
        let attempts_max = self.limits.attempts_max;
        if let Some(decision) = decide(found.clone(), proposal.fingerprint, proposal.resend, attempts_max) {
            return Ok(decision);
        }
        if let Some(full) = self.full(&proposal, found.is_some()) {
            // *Full* says that nothing was ever sent, and of a key in doubt nobody may say that.
            return Ok(found.map_or(Decision::Full(full), |in_doubt| Decision::Known(Box::new(in_doubt))));
        }
        self.head.fence += 1;
        let record = match found {
            Some(in_doubt) => {
                self.before_resend.insert(identity, in_doubt.clone());
                Record {
                    owner: self.owner,
                    fence: self.head.fence,
                    attempt: in_doubt.attempt + 1,
                    request_id: proposal.request_id,
                    state: State::InProgress,
                    ..in_doubt
                }
            }
            None => self.first(proposal),
        };
        self.stage(identity, Some(record.clone()), view)?;
        Ok(Decision::Run(Box::new(record)))
    }

    fn first(&self, proposal: Proposal) -> Record {
        let now = self.now();
        Record {
            principal: proposal.principal,
            key: proposal.key,
            fingerprint: proposal.fingerprint,
            channel: proposal.channel,
            owner: self.owner,
            fence: self.head.fence,
            attempt: 1,
            first_seen: now,
            settled_until: now.plus(self.limits.record_keep()),
            in_doubt_until: now.plus(self.limits.in_doubt_keep()),
            doubt: None,
            request_id: proposal.request_id,
            state: State::InProgress,
        }
    }

    /// Which limit is in the way. A key that is known already takes no more room than it has.
    fn full(&self, proposal: &Proposal, is_known: bool) -> Option<Full> {
        match self.full_for_all() {
            Some(full @ Full::Disk { .. }) => Some(full),
            _ if is_known => None,
            Some(full) => Some(full),
            None => {
                let limit = self.limits.records_per_principal_max;
                let is_full = self.usage.records_of(&proposal.principal) >= limit;
                is_full.then_some(Full::Principal(limit))
            }
        }
    }

    /// Which limit leaves no room for a new key, whoever comes with it.
    pub fn full_for_all(&self) -> Option<Full> {
        let limits = &self.limits;
        if self.free_bytes < limits.free_bytes_min {
            return Some(Full::Disk { free: self.free_bytes, min: limits.free_bytes_min });
        }
        if self.usage.records() >= limits.records_max {
            return Some(Full::Records(limits.records_max));
        }
        // The room for the largest record that a claim can become.
        if self.usage.bytes() + limits.record_bytes_max as u64 > limits.records_bytes_max {
            return Some(Full::Bytes(limits.records_bytes_max));
        }
        None
    }
}
