//! Checks a store that nobody runs on. It works on a copy, since sled writes to whatever it opens.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::engine::guarded;
use super::head::Kept;
use super::index::Index;
use super::lock::{self, Lock, Patience};
use super::mark::MARK;
use super::nameplate::{Nameplate, State};
use super::report::{CheckReport, Problem};
use super::{OpenError, StoreError, directory, layout, open};
use crate::idempotency::{Head, Record};

/// Reads everything in a store.
///
/// # Errors
/// See [`SledStore::check`](super::SledStore::check).
pub fn check(directory: &Path) -> Result<CheckReport, OpenError> {
    let unusable = |doing| move |error| OpenError::unusable(directory, doing, error);
    if let Err(error) = fs::read_dir(directory) {
        return Err(unusable("read the directory")(error));
    }
    let Some(nameplate) = Nameplate::read(directory)? else {
        let found = directory::foreign(directory).map_err(unusable("read the directory"))?;
        let found = found.unwrap_or_else(|| "nothing".into());
        return Err(OpenError::Foreign { directory: directory.to_owned(), found });
    };
    // A running process has made the file; a copy of a store may have none, and gets none.
    let lock = directory.join(lock::LOCK).exists();
    let _lock = lock.then(|| Lock::take(directory, &mut Patience::of(0))).transpose()?;
    let disk_bytes = directory::bytes(directory);
    if nameplate.state == State::Creating {
        let head = Head { instance: nameplate.instance, ..Head::default() };
        return Ok(CheckReport { head, disk_bytes, ..CheckReport::default() });
    }
    let copy = Copy::of(directory).map_err(|source| OpenError::Unusable {
        directory: directory.to_owned(),
        doing: "copy its files to a temporary directory",
        source,
    })?;
    let opened = open::used(&copy.0, nameplate.instance, &mut Patience::of(0));
    let (db, Kept { head, .. }) = opened.map_err(|error| error.of(directory))?;
    let mut report = CheckReport { head, disk_bytes, ..CheckReport::default() };
    if let Err(error) = read(&db, &mut report) {
        report.problem(Problem::Unreadable(error.to_string()));
    }
    if report.records != head.records {
        report.problem(Problem::Count { counted: head.records, found: report.records });
    }
    let blobs = directory::blobs(directory);
    if blobs > 0 {
        report.problem(Problem::Blobs(blobs));
    }
    Ok(report)
}

fn read(db: &::sled::Db, report: &mut CheckReport) -> Result<(), StoreError> {
    let mut entries = db.iter();
    let mut index = Index::default();
    while let Some((key, value)) = guarded(|| entries.next().transpose())? {
        match layout::Place::of(&key) {
            Some(layout::Place::Head) => {}
            Some(layout::Place::Record(fence)) => {
                let record = match Record::decode(&value) {
                    Ok(record) => record,
                    Err(error) => {
                        report.problem(Problem::NoRecord(fence, error));
                        continue;
                    }
                };
                report.record(&record, value.len());
                if record.fence != fence {
                    report.problem(Problem::Misplaced(fence));
                } else if index.found(&record).is_err() {
                    report.problem(Problem::Second(fence));
                }
            }
            None => report.problem(Problem::Unknown(key.to_vec())),
        }
    }
    Ok(())
}

/// A copy of a store's files, which goes away with it.
struct Copy(PathBuf);

impl Copy {
    fn of(directory: &Path) -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("kubemq-mcp-check-{}", uuid::Uuid::new_v4()));
        // The records name what agents do.
        DirBuilder::new().mode(0o700).create(&path)?;
        let copy = Self(path);
        let mut names = directory::files_of_sled(directory)?;
        names.extend(directory.join(MARK).exists().then(|| MARK.to_owned()));
        for name in names {
            fs::copy(directory.join(&name), copy.0.join(&name))?;
        }
        Ok(copy)
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(directory = %self.0.display(), %error, "the copy of the store could not be removed");
        }
    }
}
