//! sled itself: how it is set up, and what its errors and panics mean.

use std::any::Any;
use std::io;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use super::lock::Patience;
use super::{OpenError, StoreError, directory};

/// Its own default is 1 GiB. Records that are written and swept together stand together, so little is looked at twice.
const CACHE_BYTES: u64 = 32 << 20;
/// Never changes for a store. A leaf of more than a quarter of it would go to a file of its own; and the larger it is, the
/// more room is left behind by keys that went: 512 KiB, 1 MiB and 2 MiB took 100, 160 and 820 MiB for the same keys.
const SEGMENT_BYTES: usize = 1 << 20;

/// An open database.
pub struct Engine(Option<::sled::Db>);

impl Deref for Engine {
    type Target = ::sled::Db;

    fn deref(&self) -> &::sled::Db {
        self.0.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // sled syncs once more when it is closed, and panics when that fails. All that was told is durable already.
        let db = self.0.take();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(db))) {
            tracing::warn!(reason = panic_text(&*panic), "the store was not closed in order");
        }
    }
}

/// Opens sled's files, or makes them. A panic of sled, of which damage makes several, is an error like another.
///
/// # Errors
/// When sled cannot make sense of the files, or cannot have them.
pub fn open(directory: &Path, patience: &mut Patience) -> Result<Engine, OpenError> {
    loop {
        let opened = catch_unwind(AssertUnwindSafe(|| config(directory).open()));
        let error = match opened {
            Ok(Ok(db)) => return Ok(Engine(Some(db))),
            Ok(Err(error)) => error,
            Err(panic) => return Err(OpenError::damaged(directory, panic_text(&*panic))),
        };
        match error {
            // What an earlier handle of this process has left to its threads holds the lock a moment longer.
            ::sled::Error::Io(error) if is_lock(&error) && patience.nap() => {}
            ::sled::Error::Io(error) if is_lock(&error) => return Err(OpenError::locked(directory)),
            ::sled::Error::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Err(OpenError::damaged(directory, "a file ends too early"));
            }
            ::sled::Error::Io(error) => return Err(OpenError::unusable(directory, "open its files", error)),
            error => return Err(OpenError::damaged(directory, text(&error))),
        }
    }
}

fn config(directory: &Path) -> ::sled::Config {
    ::sled::Config::new()
        .path(directory)
        .mode(::sled::Mode::LowSpace)
        .cache_capacity(CACHE_BYTES)
        .segment_size(SEGMENT_BYTES)
        // Every commit flushes; a second thread that does as well would only be in its way.
        .flush_every_ms(None)
}

/// sled has no kind of its own for it.
fn is_lock(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock || error.to_string().contains("could not acquire lock")
}

/// Calls sled. A panic is an error of the disk: sled panics where it finds what it has never written.
///
/// # Errors
/// When sled fails, in whatever way.
pub fn guarded<T>(call: impl FnOnce() -> ::sled::Result<T>) -> Result<T, StoreError> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(::sled::Error::Io(error))) => Err(failed(&error)),
        Ok(Err(error)) => Err(StoreError::Broken(text(&error))),
        Err(panic) => Err(StoreError::Broken(panic_text(&*panic))),
    }
}

/// What an error of the operating system means for the store.
pub fn failed(error: &io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::NoSpace(error.to_string()),
        _ => StoreError::Broken(error.to_string()),
    }
}

/// sled's own words, but for what only its authors understand.
fn text(error: &::sled::Error) -> String {
    match error {
        ::sled::Error::Corruption { .. } => "sled found bytes that it has not written".into(),
        error => error.to_string(),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
    format!("sled panicked ({text})")
}

/// Opens our own way to the file that sled writes.
///
/// # Errors
/// When the operating system says no.
pub fn own_file(directory: &Path) -> io::Result<std::fs::File> {
    std::fs::OpenOptions::new().read(true).write(true).open(directory.join(directory::DB))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_sled_does_is_an_error_of_the_store() {
        let full = ::sled::Error::Io(io::ErrorKind::StorageFull.into());
        assert!(matches!(guarded(|| Err::<(), _>(full.clone())), Err(StoreError::NoSpace(_))));
        let broken = ::sled::Error::Io(io::ErrorKind::UnexpectedEof.into());
        assert!(matches!(guarded(|| Err::<(), _>(broken.clone())), Err(StoreError::Broken(_))));
        let panicked = guarded(|| -> ::sled::Result<()> { panic!("no minimum node") });
        assert_eq!(panicked, Err(StoreError::Broken("sled panicked (no minimum node)".into())));
    }
}
