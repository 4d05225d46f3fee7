//! Query replies that are given again for a while, without reaching a responder.
//!
//! A key counts per channel, only a query that was executed is kept, and what expires first makes room for what is
//! new. Commands never come here.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use kubemq::proto::kubemq::{Request, Response};
use tokio::time::Instant;

use super::validation::Kind;

/// What a cached reply is found by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    channel: String,
    cache_key: String,
}

impl Key {
    /// The key of a request, if its reply may be cached.
    pub fn of(kind: Kind, request: &Request) -> Option<Self> {
        if kind == Kind::Command || request.cache_key.is_empty() {
            return None;
        }
        Some(Self { channel: request.channel.clone(), cache_key: request.cache_key.clone() })
    }
}

/// The cached replies.
#[derive(Debug)]
pub struct Cache {
    entries: HashMap<Key, Entry>,
    /// The same keys by when they expire; the number tells apart what expires at one instant.
    expiries: BTreeMap<Expiry, Key>,
    stored: u64,
    bytes: usize,
    entries_max: usize,
    bytes_max: usize,
}

type Expiry = (Instant, u64);

#[derive(Debug)]
struct Entry {
    response: Response,
    bytes: usize,
    expiry: Expiry,
}

impl Cache {
    /// An empty cache with its two limits.
    pub fn new(entries_max: usize, bytes_max: usize) -> Self {
        Self {
            entries: HashMap::new(),
            expiries: BTreeMap::new(),
            stored: 0,
            bytes: 0,
            entries_max,
            bytes_max,
        }
    }

    /// The reply that was stored under this key, while it lives.
    pub fn find(&mut self, key: &Key, now: Instant) -> Option<&Response> {
        self.forget_expired(now);
        self.entries.get(key).map(|entry| &entry.response)
    }

    /// Keeps an executed reply for `lifetime`. One that alone is larger than the cache is not kept.
    pub fn store(&mut self, key: Key, response: Response, lifetime: Duration, now: Instant) {
        let bytes = weight(&key, &response);
        if !response.executed || bytes > self.bytes_max || self.entries_max == 0 {
            return;
        }
        self.forget_expired(now);
        self.forget(&key);
        while self.entries.len() >= self.entries_max || self.bytes + bytes > self.bytes_max {
            self.forget_first();
        }
        self.stored += 1;
        let expiry = (now + lifetime, self.stored);
        self.bytes += bytes;
        self.expiries.insert(expiry, key.clone());
        self.entries.insert(key, Entry { response, bytes, expiry });
    }

    /// How many replies are held.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    fn forget_expired(&mut self, now: Instant) {
        while self.expiries.first_key_value().is_some_and(|((expires, _), _)| *expires <= now) {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        let (_, key) = self.expiries.pop_first().expect("only called while something is held");
        self.forget(&key);
    }

    fn forget(&mut self, key: &Key) {
        if let Some(entry) = self.entries.remove(key) {
            self.expiries.remove(&entry.expiry);
            self.bytes -= entry.bytes;
        }
    }
}

/// What an entry costs, near enough: its texts and bytes, without the structures that hold them.
fn weight(key: &Key, response: &Response) -> usize {
    let tags: usize = response.tags.iter().map(|(name, value)| name.len() + value.len()).sum();
    key.channel.len()
        + key.cache_key.len()
        + response.client_id.len()
        + response.request_id.len()
        + response.metadata.len()
        + response.body.len()
        + response.error.len()
        + response.span.len()
        + tags
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn key(channel: &str, cache_key: &str) -> Key {
        Key { channel: channel.into(), cache_key: cache_key.into() }
    }

    fn executed(body: &[u8]) -> Response {
        Response { executed: true, body: body.to_vec(), ..Response::default() }
    }

    #[test]
    fn a_key_counts_per_channel() {
        let mut cache = Cache::new(10, 1_000);
        let now = Instant::now();
        cache.store(key("a", "k"), executed(b"1"), SECOND, now);
        assert!(cache.find(&key("a", "k"), now).is_some());
        assert!(cache.find(&key("b", "k"), now).is_none());
    }

    #[test]
    fn a_reply_is_gone_when_its_lifetime_is_over() {
        let mut cache = Cache::new(10, 1_000);
        let now = Instant::now();
        cache.store(key("a", "k"), executed(b"1"), SECOND, now);
        assert!(cache.find(&key("a", "k"), now + SECOND - Duration::from_nanos(1)).is_some());
        assert!(cache.find(&key("a", "k"), now + SECOND).is_none());
        assert_eq!((cache.len(), cache.bytes), (0, 0));
    }

    #[test]
    fn what_was_not_executed_is_not_kept() {
        let mut cache = Cache::new(10, 1_000);
        let now = Instant::now();
        cache.store(key("a", "k"), Response { executed: false, ..executed(b"1") }, SECOND, now);
        assert_eq!(cache.len(), 0);
    }

    #[test]
    fn commands_and_queries_without_a_key_have_no_place() {
        let request = Request { channel: "a".into(), cache_key: "k".into(), ..Request::default() };
        assert_eq!(Key::of(Kind::Command, &request), None);
        assert_eq!(Key::of(Kind::Query, &request), Some(key("a", "k")));
        assert_eq!(Key::of(Kind::Query, &Request { cache_key: String::new(), ..request }), None);
    }

    proptest! {
        #[test]
        fn it_never_passes_its_limits_and_never_gives_what_expired(
            stores in prop::collection::vec(("[a-d]", 0_usize..40, 1_u64..5, 0_u64..3), 0..60),
        ) {
            let mut cache = Cache::new(3, 60);
            let mut now = Instant::now();
            for (name, size, lifetime, passes) in stores {
                now += SECOND * u32::try_from(passes).expect("small");
                cache.store(key("c", &name), executed(&vec![0; size]), SECOND * u32::try_from(lifetime).expect("small"), now);
                prop_assert!(cache.len() <= 3 && cache.bytes <= 60);
                prop_assert_eq!(cache.entries.len(), cache.expiries.len());
                prop_assert_eq!(cache.bytes, cache.entries.values().map(|entry| entry.bytes).sum::<usize>());
                prop_assert_eq!(cache.find(&key("c", &name), now).map(|response| response.body.len()), Some(size));
                prop_assert!(cache.expiries.keys().all(|(expires, _)| *expires > now));
            }
        }
    }
}
