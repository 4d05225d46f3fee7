//! A store of keys in memory, that outlives the connector that uses it and can be told to fail.

use std::sync::{Arc, Mutex, PoisonError};

use kubemq_mcp::idempotency::{
    Change, Clock, Config, Handle, Head, Identity, Ledger, MemoryStore, Record, Store, StoreError, Timestamp,
    View, Walk,
};

/// A store that several lives of a connector share, one after the other.
#[derive(Clone)]
pub struct SharedStore {
    store: Arc<Mutex<MemoryStore>>,
    now: Arc<Mutex<Timestamp>>,
}

impl SharedStore {
    /// An empty one.
    pub fn new() -> Self {
        let store = Arc::new(Mutex::new(MemoryStore::new(7)));
        Self { store, now: Arc::new(Mutex::new(Timestamp::from_milliseconds(1_000_000))) }
    }

    /// A store that has what is on the disk of this one now, as a crash leaves it.
    pub fn copy_of(other: &Self) -> Self {
        let store = other.disk(|store| store.clone());
        let now = *other.now.lock().unwrap_or_else(PoisonError::into_inner);
        Self { store: Arc::new(Mutex::new(store)), now: Arc::new(Mutex::new(now)) }
    }

    /// Sets the wall clock.
    pub fn set_now(&self, milliseconds: u64) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = Timestamp::from_milliseconds(milliseconds);
    }

    /// What is on the disk.
    pub fn disk<T>(&self, look: impl FnOnce(&mut MemoryStore) -> T) -> T {
        look(&mut self.store.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Opens it, as a start of the connector does.
    pub fn open(&self, config: &Config) -> Handle {
        let now = self.now.clone();
        let clock: Clock = Arc::new(move || *now.lock().unwrap_or_else(PoisonError::into_inner));
        let mut store = self.clone();
        let (ledger, _) = Ledger::recover(&mut store, config, clock()).expect("a store that is whole");
        Handle::start(ledger, Box::new(store), clock, config).expect("threads")
    }
}

impl View for SharedStore {
    fn get(&self, identity: &Identity) -> Result<Option<Record>, StoreError> {
        self.disk(|store| store.get(identity))
    }

    fn walk(&self, after: Option<u64>, visit: &mut dyn FnMut(Record) -> Walk) -> Result<(), StoreError> {
        self.disk(|store| store.walk(after, visit))
    }

    fn head(&self) -> Head {
        self.disk(|store| store.head())
    }

    fn disk_bytes(&self) -> u64 {
        self.disk(|store| store.disk_bytes())
    }

    fn free_bytes(&self) -> u64 {
        self.disk(|store| store.free_bytes())
    }
}

impl Store for SharedStore {
    fn commit(&mut self, changes: &[Change], head: &Head) -> Result<(), StoreError> {
        self.disk(|store| store.commit(changes, head))
    }
}
