//! What the broker counts while it runs.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds one.
    pub fn increment(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// The number so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The counters of one broker; [`super::Figures`] says what each means.
#[derive(Debug, Default)]
pub struct Counters {
    /// Requests that passed the checks.
    pub requests: Counter,
    /// Requests that nobody answered in time.
    pub timeouts: Counter,
    /// Requests answered from the cache.
    pub cache_hits: Counter,
    /// Responses that passed the checks.
    pub responses: Counter,
    /// Those of them that nobody waited for.
    pub responses_unclaimed: Counter,
    /// Copies of requests on their way to a subscriber.
    pub deliveries: Counter,
    /// Those of them that were dropped because the subscriber did not read.
    pub deliveries_dropped: Counter,
}
