//! What a running broker says of itself: for readiness, and for tests that wait for it.

/// The figures of an embedded broker at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Requests that wait for a reply now.
    pub requests_waiting: usize,
    /// Subscription streams that are open now.
    pub subscriptions: usize,
    /// Channels that `list-channels` knows now.
    pub channels: usize,
    /// Query replies in the cache now; one that expired counts until the next look.
    pub cache_entries: usize,
    /// Connections that are open now.
    pub connections: usize,
    /// Requests that passed the checks, channel management among them.
    pub requests_total: u64,
    /// Requests that nobody answered in time.
    pub timeouts_total: u64,
    /// Requests answered from the cache.
    pub cache_hits_total: u64,
    /// Responses that passed the checks.
    pub responses_total: u64,
    /// Responses that nobody waited for: late, second or unknown.
    pub responses_unclaimed_total: u64,
    /// Copies of requests on their way to a subscriber: one for each that was chosen.
    pub deliveries_total: u64,
    /// Those of them that were dropped because a subscriber did not read.
    pub deliveries_dropped_total: u64,
}
