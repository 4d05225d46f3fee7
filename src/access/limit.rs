//! How much one caller may do: calls in a second, and calls at one time. One agent that floods must not starve another.
//!
//! A call takes an [`Allowance`] when it comes and gives it back when it ends, whatever becomes of its agent.

mod bucket;
mod config;
mod table;

pub use bucket::Rate;
pub use config::Config as LimitConfig;
pub use table::Excess;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use self::table::Table;
use super::metrics::Metrics;
use crate::domain::Principal;

/// The accounts of all callers; a clone is one count.
#[derive(Clone, Debug)]
pub struct Limits {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    table: Mutex<Table>,
    begun: Instant,
}

/// One call's part of what its caller may do at one time, until it is dropped. The default is a part of nothing.
#[derive(Debug, Default)]
pub struct Allowance(Option<(Limits, Principal)>);

impl Limits {
    /// Accounts with these limits.
    pub fn new(config: &LimitConfig) -> Self {
        let table = Mutex::new(Table::new(config));
        Self { inner: Arc::new(Inner { table, begun: Instant::now() }) }
    }

    /// Lets one call of this caller in.
    ///
    /// # Errors
    /// Says which limit is reached and how long to wait, which is counted.
    pub fn admit(&self, principal: &Principal) -> Result<Allowance, Excess> {
        let now = self.inner.begun.elapsed();
        let mut table = self.table();
        let admitted = table.admit(principal, now);
        Metrics::get().callers.set(u32::try_from(table.callers()).unwrap_or(u32::MAX));
        drop(table);
        admitted.inspect_err(|excess| Metrics::get().call_exceeds(*excess))?;
        Ok(Allowance(Some((self.clone(), principal.clone()))))
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.inner.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Allowance {
    fn drop(&mut self) {
        if let Some((limits, principal)) = self.0.take() {
            limits.table().leave(&principal);
        }
    }
}
