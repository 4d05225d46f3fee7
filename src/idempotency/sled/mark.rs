//! The file `MARK`: how many commits the store has had, outside of sled.
//!
//! sled takes a log with damage at its end for one whose last writes were never finished, and goes on with what was
//! before, head and all. Nothing inside of it can tell. The mark can: it is never ahead of what is durable, so a store
//! that has fewer commits than its mark has lost some. It is written once a second and when the store is closed, and is
//! exact but for what was committed within a second of a crash.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::OpenError;

/// The name of the file.
pub const MARK: &str = "MARK";

/// A damaged log can lose what was committed in such a time before a crash without a word. One more sync for each commit
/// would be the price of less.
const EVERY: Duration = Duration::from_secs(1);

/// Written in turn, in blocks of their own, so that a torn write leaves the other.
const SLOTS: u64 = 2;
const SLOT_BYTES: u64 = 4_096;
const VALUE_BYTES: usize = 8;

/// The mark of an open store.
pub struct Mark {
    file: File,
    instance: u128,
    commits: u64,
    slot: u64,
    written: Instant,
}

impl Mark {
    /// Opens the mark, or makes it. The caller syncs the directory.
    ///
    /// # Errors
    /// When the operating system says no.
    pub fn open(directory: &Path, instance: u128, commits: u64) -> io::Result<Self> {
        let path = directory.join(MARK);
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        let mut mark = Self { file, instance, commits, slot: 0, written: Instant::now() };
        // Both, since it is not known which of them is the older.
        for _ in 0..SLOTS {
            mark.write(commits)?;
        }
        Ok(mark)
    }

    /// Tells of a commit that is durable; writes it down when the last time is long enough ago.
    ///
    /// # Errors
    /// When the file cannot be written or synced.
    pub fn committed(&mut self, commits: u64) -> io::Result<()> {
        self.commits = commits;
        if self.written.elapsed() < EVERY {
            return Ok(());
        }
        self.write(commits)
    }

    fn write(&mut self, commits: u64) -> io::Result<()> {
        self.file.write_all_at(&slot(self.instance, commits), self.slot * SLOT_BYTES)?;
        self.file.sync_data()?;
        self.slot = (self.slot + 1) % SLOTS;
        self.written = Instant::now();
        Ok(())
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        // A mark that stays behind only tells less.
        if let Err(error) = self.write(self.commits) {
            tracing::warn!(%error, "the mark of the store was not written");
        }
    }
}

/// How many commits the store has had at least.
///
/// Without the file nothing is known: an operator removes it to go on with what damage has left.
///
/// # Errors
/// When the file is damaged, or belongs to another store.
pub fn read(directory: &Path, instance: u128) -> Result<Option<u64>, OpenError> {
    let bytes = match fs::read(directory.join(MARK)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            tracing::warn!(directory = %directory.display(), "the store has no mark; whether its last commits are there is not known");
            return Ok(None);
        }
        Err(error) => return Err(OpenError::unusable(directory, "read its file `MARK`", error)),
    };
    let values = (0..SLOTS).filter_map(|index| {
        let at = usize::try_from(index * SLOT_BYTES).ok()?;
        let value = bytes.get(at..)?.first_chunk::<VALUE_BYTES>()?;
        let commits = u64::from_be_bytes(*value);
        bytes.get(at..)?.starts_with(&slot(instance, commits)).then_some(commits)
    });
    let damaged = || OpenError::damaged(directory, "its file `MARK` is not as it was written");
    values.max().map(Some).ok_or_else(damaged)
}

fn slot(instance: u128, commits: u64) -> Vec<u8> {
    let value = commits.to_be_bytes();
    let checksum = Sha256::new().chain_update(instance.to_be_bytes()).chain_update(value).finalize();
    [&value[..], &checksum[..VALUE_BYTES]].concat()
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    const INSTANCE: u128 = 7;

    fn marked(commits: u64) -> TempDir {
        let directory = TempDir::new().unwrap();
        let mut mark = Mark::open(directory.path(), INSTANCE, 0).unwrap();
        mark.committed(commits).unwrap();
        drop(mark);
        directory
    }

    fn garble(directory: &TempDir, slot: u64) {
        let file = OpenOptions::new().write(true).open(directory.path().join(MARK)).unwrap();
        file.write_all_at(&[0xff; 16], slot * SLOT_BYTES).unwrap();
    }

    #[test]
    fn a_closed_store_is_marked_to_its_last_commit() {
        assert_eq!(read(marked(41).path(), INSTANCE).unwrap(), Some(41));
    }

    #[test]
    fn a_torn_write_leaves_what_was_marked_before() {
        let directory = marked(41);
        garble(&directory, 0);
        assert_eq!(read(directory.path(), INSTANCE).unwrap(), Some(0));
        garble(&directory, 1);
        assert!(matches!(read(directory.path(), INSTANCE), Err(OpenError::Damaged { .. })));
    }

    #[test]
    fn the_mark_of_another_store_is_no_mark_of_this_one() {
        assert!(matches!(read(marked(41).path(), 8), Err(OpenError::Damaged { .. })));
    }

    #[test]
    fn a_store_without_a_mark_tells_nothing() {
        assert_eq!(read(TempDir::new().unwrap().path(), INSTANCE).unwrap(), None);
    }
}
