//! The directory of a store: made private, looked through, and made durable.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::{lock, nameplate};

/// Files in `snap.…` that sled was still writing when it was killed; it would take them for whole ones.
const UNFINISHED: &str = ".generating";
/// Where sled puts values that are too large for its log, which never happens to ours.
const BLOBS: &str = "blobs";
/// The file of the log, which holds everything.
pub const DB: &str = "db";
const CONF: &str = "conf";
const SNAPSHOT: &str = "snap.";
const MODE: u32 = 0o700;
const OTHERS: u32 = 0o077;

/// Makes the directory if it is not there, for our eyes only, and warns when others can look into it.
///
/// # Errors
/// When the operating system says no, or it is no directory.
pub fn make(directory: &Path) -> io::Result<()> {
    match fs::metadata(directory) {
        Ok(metadata) if !metadata.is_dir() => return Err(io::ErrorKind::NotADirectory.into()),
        Ok(metadata) => {
            let mode = metadata.permissions().mode() & 0o777;
            if mode & OTHERS != 0 {
                tracing::warn!(
                    directory = %directory.display(),
                    mode = format!("{mode:o}"),
                    "other users can look into the store; make it private with chmod 700"
                );
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            DirBuilder::new().mode(MODE).recursive(true).create(directory)?;
        }
        Err(error) => return Err(error),
    }
    sync_ancestors(directory)
}

/// Makes durable that a directory is there, and those above it. An earlier start may have made any of them and died before
/// it had synced them.
fn sync_ancestors(directory: &Path) -> io::Result<()> {
    sync(&parent(directory))?;
    for above in parent(directory).ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
        // Whoever may not read it has not made it.
        match sync(above) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => break,
            synced => synced?,
        }
    }
    Ok(())
}

/// The first file in it that is neither ours from an earlier try nor the file system's.
///
/// # Errors
/// When it cannot be read.
pub fn foreign(directory: &Path) -> io::Result<Option<String>> {
    let mut names = names(directory)?;
    names.retain(|name| ![lock::LOCK, nameplate::NEXT, "lost+found"].contains(&name.as_str()));
    names.sort();
    Ok(names.into_iter().next())
}

/// Removes what sled has left of a store that was never used.
///
/// # Errors
/// When the operating system says no.
pub fn clear(directory: &Path) -> io::Result<()> {
    for name in files_of_sled(directory)? {
        fs::remove_file(directory.join(name))?;
    }
    match fs::remove_dir_all(directory.join(BLOBS)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    sync(directory)
}

/// Removes the snapshots that sled did not finish. It can do without, and would stumble over them.
///
/// # Errors
/// When the operating system says no.
pub fn remove_unfinished(directory: &Path) -> io::Result<()> {
    let unfinished = |name: &String| name.starts_with(SNAPSHOT) && name.ends_with(UNFINISHED);
    for name in names(directory)?.into_iter().filter(unfinished) {
        tracing::info!(name, "removed a snapshot that was never finished");
        fs::remove_file(directory.join(name))?;
    }
    Ok(())
}

/// Makes durable all that sled has written and not synced: its files, and that they are there.
///
/// # Errors
/// When a sync fails.
pub fn sync_all(directory: &Path) -> io::Result<()> {
    for name in files_of_sled(directory)? {
        File::open(directory.join(name))?.sync_all()?;
    }
    sync(directory)?;
    sync(&parent(directory))
}

/// Makes durable which files are in a directory.
///
/// # Errors
/// When the sync fails.
pub fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// What is said of a directory whose store is gone.
pub const EMPTIED: &str = "its file `db` is missing or empty";

/// Whether what held the records is not there, or has nothing in it.
pub fn is_emptied(directory: &Path) -> bool {
    fs::metadata(directory.join(DB)).map_or(0, |metadata| metadata.len()) == 0
}

/// The nearest directory above that is there.
pub fn above(directory: &Path) -> PathBuf {
    let mut above = parent(directory);
    while !above.exists() {
        above = parent(&above);
    }
    above
}

/// Bytes of all its files.
pub fn bytes(directory: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(directory) else { return 0 };
    entries
        .flatten()
        .filter_map(|entry| entry.metadata().ok())
        .map(|metadata| metadata.len())
        .fold(0, u64::saturating_add)
}

/// Bytes that the disk has left for us; none when it cannot be asked, since that must not look like plenty.
pub fn free_bytes(directory: &Path) -> u64 {
    rustix::fs::statvfs(directory).map_or(0, |disk| disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// How many files stand outside of sled's log. None of ours is ever large enough for that.
pub fn blobs(directory: &Path) -> usize {
    fs::read_dir(directory.join(BLOBS)).map_or(0, Iterator::count)
}

/// The names of the files that hold the records.
///
/// # Errors
/// When the directory cannot be read.
pub fn files_of_sled(directory: &Path) -> io::Result<Vec<String>> {
    let mut names = names(directory)?;
    names.retain(|name| name == DB || name == CONF || name.starts_with(SNAPSHOT));
    Ok(names)
}

fn names(directory: &Path) -> io::Result<Vec<String>> {
    fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

fn parent(directory: &Path) -> PathBuf {
    match directory.parent() {
        Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
        Some(parent) => parent.to_owned(),
        None => directory.to_owned(),
    }
}
