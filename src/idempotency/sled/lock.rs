//! One process at a time: a file of our own, locked for as long as the store is open, that names its holder.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::time::Duration;

use super::OpenError;

/// The name of the file.
pub const LOCK: &str = "LOCK";

const RETRY_EVERY: Duration = Duration::from_millis(50);
const NAPS_PER_SECOND: u64 = 1_000 / 50;

/// The right to use a directory, for as long as it is kept. The operating system takes it back when the process dies.
pub struct Lock {
    _file: File,
}

/// How long to try again; counted in naps, as a paused clock would never end.
pub struct Patience {
    naps: u64,
}

impl Patience {
    /// So many seconds.
    pub fn of(seconds: u64) -> Self {
        Self { naps: seconds.saturating_mul(NAPS_PER_SECOND) }
    }

    /// How many seconds are left.
    pub fn seconds(&self) -> u64 {
        self.naps.div_ceil(NAPS_PER_SECOND)
    }

    /// Sleeps a little, or says that it is over.
    pub fn nap(&mut self) -> bool {
        let left = self.naps > 0;
        if left {
            self.naps -= 1;
            std::thread::sleep(RETRY_EVERY);
        }
        left
    }
}

impl Lock {
    /// Takes the directory, or waits until its holder lets go of it.
    ///
    /// # Errors
    /// When the holder has not let go of it in time; the error names it.
    pub fn take(directory: &Path, patience: &mut Patience) -> Result<Self, OpenError> {
        let unusable = |doing| move |error| OpenError::unusable(directory, doing, error);
        let path = directory.join(LOCK);
        // Not truncated: what is in it names the holder to everybody else.
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(unusable("open its file `LOCK`"))?;
        let mut told = false;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if patience.nap() => {
                    if !told {
                        told = true;
                        tell(directory, patience);
                    }
                }
                Err(TryLockError::WouldBlock) => return Err(OpenError::locked(directory)),
                Err(TryLockError::Error(error)) => return Err(unusable("lock it")(error)),
            }
        }
        name(&mut file).map_err(unusable("write its file `LOCK`"))?;
        Ok(Self { _file: file })
    }
}

/// Who holds the lock, as far as its file tells.
pub fn holder(directory: &Path) -> Option<u32> {
    let mut text = String::new();
    File::open(directory.join(LOCK)).ok()?.take(16).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// Says at once what a start waits for, and for how long.
fn tell(directory: &Path, patience: &Patience) {
    tracing::warn!(
        directory = %directory.display(),
        holder = holder(directory).map_or_else(String::new, |holder| holder.to_string()),
        seconds = patience.seconds(),
        "another process uses the store; waiting for it to let go"
    );
}

fn name(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}
