//! The store on a disk: one sled tree, written in atomic batches that a power cut cannot take back.
//!
//! sled 0.34.7 calls `sync_file_range` where it promises a sync, which neither empties the disk's cache nor keeps the
//! length of a file that grew. So every commit ends with an `fdatasync` of our own on sled's file, and opening makes
//! durable what sled never syncs. `docs/decisions/0007-sled-hardened.md` says what was measured.

mod check;
mod directory;
mod engine;
mod error;
mod head;
mod index;
mod layout;
mod lock;
mod look;
mod mark;
mod nameplate;
mod open;
mod recent;
mod report;
#[cfg(test)]
mod tests;

pub use error::OpenError;
pub use layout::RECORD_BYTES_LIMIT;
pub use look::Found;
pub use report::{CheckReport, Problem};

use std::cell::RefCell;
use std::fs::File;
use std::path::{Path, PathBuf};

use self::engine::{Engine, guarded};
use self::head::Kept;
use self::index::Index;
use self::lock::Lock;
use self::mark::Mark;
use self::recent::Recent;
use super::{Change, Config, Head, Identity, Record, Store, StoreError, View, Walk};

/// The store on a disk. While it is open no other process opens it.
pub struct SledStore {
    directory: PathBuf,
    kept: Kept,
    db: Engine,
    /// Our own way to the file of `db`: a sync works on the file, whoever wrote it.
    file: File,
    mark: Mark,
    recent: RefCell<Recent>,
    /// Made by the first walk, which every start has to do anyway.
    index: RefCell<Option<Index>>,
    /// The first error of a commit. Nobody can say what the disk holds then, and sled shows what it may not hold.
    failed: Option<StoreError>,
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

    /// Reads everything in a store that nobody runs on, and says what it found. The store stays as it is. Blocks for as
    /// long as that takes, and needs room for a copy in the system's directory for temporary files.
    ///
    /// # Errors
    /// When a process runs on the store, or its files cannot be opened at all; the error says what they are.
    pub fn check(directory: &Path) -> Result<CheckReport, OpenError> {
        check::check(directory)
    }

    /// Looks whether a start could use the store of a directory. Changes nothing and reads no record.
    ///
    /// # Errors
    /// When it could not: it is in use, foreign, emptied, of a newer program, or not ours to write.
    pub fn look(directory: &Path) -> Result<Found, OpenError> {
        look::look(directory)
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    fn whole(&self) -> Result<(), StoreError> {
        self.failed.clone().map_or(Ok(()), Err)
    }

    /// Writes, flushes and syncs one batch.
    fn write(&mut self, batch: ::sled::Batch, kept: Kept) -> Result<(), StoreError> {
        guarded(|| {
            self.db.apply_batch(batch)?;
            self.db.flush()
        })?;
        // Only this makes the batch survive a power cut.
        self.file.sync_data().map_err(|error| engine::failed(&error))?;
        self.kept = kept;
        self.mark.committed(kept.commits).map_err(|error| engine::failed(&error))
    }

    fn make_index(&self) -> Result<(), StoreError> {
        if self.index.borrow().is_some() { Ok(()) } else { self.walk(None, &mut |_| Walk::End) }
    }

    fn record(key: &[u8], value: &[u8]) -> Result<Record, StoreError> {
        let record = Record::decode(value)?;
        if layout::record_key(record.fence) == key { Ok(record) } else { Err(StoreError::Misplaced) }
    }
}

impl View for SledStore {
    fn get(&self, identity: &Identity) -> Result<Option<Record>, StoreError> {
        self.whole()?;
        if let Some(record) = self.recent.borrow().get(identity) {
            return Ok(Some(record.clone()));
        }
        self.make_index()?;
        let fence = self.index.borrow().as_ref().and_then(|index| index.fence(identity));
        let Some(key) = fence.map(layout::record_key) else { return Ok(None) };
        let value = guarded(|| self.db.get(key))?.ok_or(StoreError::Misplaced)?;
        let record = Self::record(&key, &value)?;
        if record.identity() != *identity {
            return Err(StoreError::Misplaced);
        }
        self.recent.borrow_mut().keep(*identity, Some(&record));
        Ok(Some(record))
    }

    fn walk(&self, after: Option<u64>, visit: &mut dyn FnMut(Record) -> Walk) -> Result<(), StoreError> {
        self.whole()?;
        let mut index = (after.is_none() && self.index.borrow().is_none()).then(Index::default);
        let mut walk = Walk::On;
        let mut entries = self.db.range(layout::records(after));
        while let Some((key, value)) = guarded(|| entries.next().transpose())? {
            let record = Self::record(&key, &value)?;
            if let Some(index) = &mut index {
                index.found(&record)?;
            }
            if walk == Walk::On {
                walk = visit(record);
            }
            // Half of an index would be none.
            if walk == Walk::End && index.is_none() {
                break;
            }
        }
        if index.is_some() {
            *self.index.borrow_mut() = index;
        }
        Ok(())
    }

    fn head(&self) -> Head {
        self.kept.head
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
        self.whole()?;
        self.make_index()?;
        let mut batch = ::sled::Batch::default();
        for change in changes {
            layout::write(&mut batch, change)?;
        }
        let kept = Kept { head: *head, commits: self.kept.commits + 1 };
        batch.insert(layout::HEAD, &head::encode(&kept)[..]);
        let written = self.write(batch, kept);
        self.failed = written.clone().err();
        written?;
        let recent = self.recent.get_mut();
        changes.iter().for_each(|change| recent.keep(change.identity, change.after.as_ref()));
        if let Some(index) = self.index.get_mut() {
            changes.iter().for_each(|change| index.change(&change.identity, change.after.as_ref()));
        }
        Ok(())
    }
}
