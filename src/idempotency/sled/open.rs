//! Opening a store, or making one. Nothing is taken for new that may have been used.
//!
//! ```text
//! nothing there      STORE says creating ─▶ sled's files, head ─▶ all synced ─▶ STORE says ready ─▶ open
//! STORE: creating    nobody was told of anything in it: sled's files are removed, then as above
//! STORE: ready       sled's files must be there, their head must name the same store and be no older than its mark
//! no STORE, files    not ours
//! ```

use std::path::Path;

use super::engine::Engine;
use super::head::{self, HeadError, Kept};
use super::lock::{Lock, Patience};
use super::mark::{self, Mark};
use super::nameplate::{Nameplate, State};
use super::{Config, OpenError, SledStore, directory, engine, layout};
use crate::idempotency::Head;

/// Opens the store of a directory, or makes one where nothing is.
///
/// # Errors
/// See [`SledStore::open`].
pub fn open(config: &Config) -> Result<SledStore, OpenError> {
    let directory = &*config.path;
    let mut patience = Patience::of(config.lock_wait_seconds);
    directory::make(directory)
        .map_err(|error| OpenError::unusable(directory, "make the directory", error))?;
    // Before the lock, so that not even its file comes into a directory that is not ours.
    refuse_foreign(directory)?;
    let lock = Lock::take(directory, &mut patience)?;
    refuse_foreign(directory)?;
    match Nameplate::read(directory)? {
        Some(Nameplate { instance, state: State::Ready }) => {
            let (db, kept) = used(directory, instance, &mut patience)?;
            ready(directory, kept, db, lock)
        }
        Some(Nameplate { state: State::Creating, .. }) | None => create(directory, lock, &mut patience),
    }
}

fn refuse_foreign(directory: &Path) -> Result<(), OpenError> {
    let found = directory::foreign(directory)
        .map_err(|error| OpenError::unusable(directory, "read the directory", error))?;
    // `STORE` is looked for last: whoever is making a store writes it before any other file.
    match found {
        Some(found) if Nameplate::read(directory)?.is_none() => {
            Err(OpenError::Foreign { directory: directory.to_owned(), found })
        }
        _ => Ok(()),
    }
}

fn create(directory: &Path, lock: Lock, patience: &mut Patience) -> Result<SledStore, OpenError> {
    let unusable = |doing| move |error| OpenError::unusable(directory, doing, error);
    let instance = uuid::Uuid::new_v4().as_u128();
    let nameplate = Nameplate { instance, state: State::Creating };
    nameplate.write(directory).map_err(unusable("write its file `STORE`"))?;
    directory::clear(directory).map_err(unusable("remove what an earlier try has left"))?;
    let db = engine::open(directory, patience)?;
    let kept = Kept { head: Head { instance, ..Head::default() }, commits: 0 };
    engine::guarded(|| {
        db.insert(layout::HEAD, &head::encode(&kept)[..])?;
        db.flush()
    })
    .map_err(|error| OpenError::failed(directory, error))?;
    let store = ready(directory, kept, db, lock)?;
    Nameplate { state: State::Ready, ..nameplate }
        .write(directory)
        .map_err(unusable("write its file `STORE`"))?;
    tracing::info!(directory = %directory.display(), "made a new store, which knows no keys yet");
    Ok(store)
}

/// Opens the files of a store that was used, and reads its head.
///
/// # Errors
/// When the files are missing, damaged, or those of another store.
pub fn used(directory: &Path, instance: u128, patience: &mut Patience) -> Result<(Engine, Kept), OpenError> {
    // sled would make a new one of it.
    if directory::is_emptied(directory) {
        return Err(OpenError::emptied(directory, directory::EMPTIED));
    }
    directory::remove_unfinished(directory)
        .map_err(|error| OpenError::unusable(directory, "remove an unfinished snapshot", error))?;
    let db = engine::open(directory, patience)?;
    let kept = engine::guarded(|| db.get(layout::HEAD))
        .map_err(|error| OpenError::failed(directory, error))?
        .ok_or_else(|| OpenError::emptied(directory, "its file `db` has lost what every store holds"))?;
    let kept = head::decode(&kept).map_err(|error| match error {
        HeadError::Newer { .. } => {
            OpenError::Newer { directory: directory.to_owned(), what: error.to_string() }
        }
        HeadError::Damaged => OpenError::damaged(directory, error.to_string()),
    })?;
    let (found, commits) = (kept.head.instance, kept.commits);
    if found != instance {
        return Err(OpenError::Replaced { directory: directory.to_owned(), named: instance, found });
    }
    match mark::read(directory, instance)? {
        Some(marked) if marked > commits => {
            Err(OpenError::Behind { directory: directory.to_owned(), missing: marked - commits })
        }
        _ => Ok((db, kept)),
    }
}

/// Makes durable what opening has written, before anybody relies on it.
fn ready(directory: &Path, kept: Kept, db: Engine, lock: Lock) -> Result<SledStore, OpenError> {
    let opened = || {
        let mark = Mark::open(directory, kept.head.instance, kept.commits)?;
        directory::sync_all(directory)?;
        Ok((mark, engine::own_file(directory)?))
    };
    let (mark, file) = opened().map_err(|error| OpenError::unusable(directory, "sync its files", error))?;
    Ok(SledStore {
        directory: directory.to_owned(),
        kept,
        db,
        file,
        mark,
        recent: Default::default(),
        index: Default::default(),
        failed: None,
        _lock: lock,
    })
}
