//! The store on a disk: one sled tree, written in atomic batches that a power cut cannot take back.
//!
//! sled 0.34.7 calls `sync_file_range` where it promises a sync, which neither empties the disk's cache nor keeps the
//! length of a file that grew. So every commit ends with an `fdatasync` of our own on sled's file, and opening makes
//! durable what sled never syncs. `docs/decisions/0007-sled-hardened.md` says what was measured.

mod directory;
mod engine;
mod error;
mod head;
mod layout;
mod lock;
mod nameplate;
mod open;
#[cfg(test)]
mod tests;

pub use error::OpenError;
pub use layout::RECORD_BYTES_LIMIT;

use std::fs::File;
use std::path::{Path, PathBuf};

use self::engine::guarded;
use self::lock::Lock;
use super::{Change, Config, Head, Identity, Record, Store, StoreError, Timestamp, View, Walk};

/// The store on a disk. While it is open no other process opens it.
pub struct SledStore {
    directory: PathBuf,
    head: Head,
    db: ::sled::Db,
    /// Our own way to the file of `db`: a sync works on the file, whoever wrote it.
    file: File,
    /// Let go last.
    _lock: Lock,
}

impl SledStore {
    /// Opens the store of a directory, or makes one where nothing is. Blocks, for `lock_wait_seconds` and longer.
    ///
    /// It changes nothing that a record says; the ledger's recovery counts them.
    ///
    /// # Errors
    /// When the directory is in use, damaged, emptied, foreign or of a newer program. It never makes an empty store of
    /// what was one.
    pub fn open(config: &Config) -> Result<Self, OpenError> {
        open::open(config)
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    fn record(key: &[u8], value: &[u8]) -> Result<Record, StoreError> {
        let record = Record::decode(value)?;
        if layout::record_key(&record.identity()) == key { Ok(record) } else { Err(StoreError::Misplaced) }
    }
}

impl View for SledStore {
    fn get(&self, identity: &Identity) -> Result<Option<Record>, StoreError> {
        let key = layout::record_key(identity);
        guarded(|| self.db.get(key))?.map(|value| Self::record(&key, &value)).transpose()
    }

    fn expired(&self, now: Timestamp, max: usize) -> Result<Vec<Identity>, StoreError> {
        guarded(|| self.db.range(layout::expired(now)).keys().take(max).collect::<Result<Vec<_>, _>>())?
            .iter()
            .map(|key| layout::expiry_identity(key).ok_or(StoreError::Misplaced))
            .collect()
    }

    fn walk(
        &self,
        after: Option<&Identity>,
        visit: &mut dyn FnMut(Record) -> Walk,
    ) -> Result<(), StoreError> {
        let mut entries = self.db.range(layout::records(after));
        while let Some((key, value)) = guarded(|| entries.next().transpose())? {
            if visit(Self::record(&key, &value)?) == Walk::End {
                break;
            }
        }
        Ok(())
    }

    fn head(&self) -> Head {
        self.head
    }

    fn disk_bytes(&self) -> u64 {
        directory::bytes(&self.directory)
    }

    fn free_bytes(&self) -> u64 {
        directory::free_bytes(&self.directory)
    }
}

impl Store for SledStore {
    fn commit(&mut self, changes: &[Change], head: &Head) -> Result<(), StoreError> {
        let mut batch = ::sled::Batch::default();
        for change in changes {
            layout::write(&mut batch, change)?;
        }
        batch.insert(layout::HEAD, &head::encode(head)[..]);
        guarded(|| {
            self.db.apply_batch(batch)?;
            self.db.flush()
        })?;
        // Only this makes the batch survive a power cut.
        self.file.sync_data().map_err(|error| engine::failed(&error))?;
        self.head = *head;
        Ok(())
    }
}
