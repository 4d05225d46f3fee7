//! Looks whether a start could use a store, and changes nothing: what `kubemq-mcp check` asks.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use rustix::fs::{Access, access};

use super::lock::LOCK;
use super::nameplate::{Nameplate, State};
use super::{OpenError, directory};

/// What a start would find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing: it would make a new store.
    Nothing,
    /// A store that was never ready: it would be made anew.
    Unfinished,
    /// A store that nobody uses.
    Store,
}

/// Looks at the directory of a store. Its records are not read; `store check` does that.
///
/// # Errors
/// See [`SledStore::look`](super::SledStore::look).
pub fn look(directory: &Path) -> Result<Found, OpenError> {
    let unusable = |doing| move |error| OpenError::unusable(directory, doing, error);
    match fs::metadata(directory) {
        Ok(metadata) if metadata.is_dir() => {
            writable(directory).map_err(unusable("write to the directory"))?
        }
        Ok(_) => return Err(unusable("make the directory")(io::ErrorKind::NotADirectory.into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let above = directory::above(directory);
            return writable(&above).map(|()| Found::Nothing).map_err(unusable("make the directory"));
        }
        Err(error) => return Err(unusable("read the directory")(error)),
    }
    let Some(nameplate) = Nameplate::read(directory)? else {
        return match directory::foreign(directory).map_err(unusable("read the directory"))? {
            Some(found) => Err(OpenError::Foreign { directory: directory.to_owned(), found }),
            None => free(directory).map(|()| Found::Nothing),
        };
    };
    free(directory)?;
    match nameplate.state {
        State::Creating => Ok(Found::Unfinished),
        State::Ready if directory::is_emptied(directory) => {
            Err(OpenError::emptied(directory, directory::EMPTIED))
        }
        State::Ready => Ok(Found::Store),
    }
}

/// Whether nobody has the lock. It is held for no longer than this takes.
fn free(directory: &Path) -> Result<(), OpenError> {
    let unusable = |doing| move |error| OpenError::unusable(directory, doing, error);
    let file = match File::open(directory.join(LOCK)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => file.map_err(unusable("open its file `LOCK`"))?,
    };
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(OpenError::locked(directory)),
        Err(TryLockError::Error(error)) => Err(unusable("lock it")(error)),
    }
}

fn writable(directory: &Path) -> io::Result<()> {
    access(directory, Access::WRITE_OK | Access::EXEC_OK).map_err(io::Error::from)?;
    if fs::metadata(directory)?.is_dir() { Ok(()) } else { Err(io::ErrorKind::NotADirectory.into()) }
}
