//! Why a store was not opened: what was found, where, and what to do.

use std::io;
use std::path::{Path, PathBuf};

use super::{StoreError, lock};

/// Why a store was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The operating system said no.
    #[error("the store `{}` cannot be used: failed to {doing}", directory.display())]
    Unusable {
        /// Where.
        directory: PathBuf,
        /// What failed.
        doing: &'static str,
        /// How.
        source: io::Error,
    },
    /// Opening writes a little, and there is no room for it.
    #[error("the disk of the store `{}` is full; make room and start again, nothing is lost", directory.display())]
    Full {
        /// Where.
        directory: PathBuf,
    },
    /// Another process has it.
    #[error(
        "the store `{}` is in use by {}; stop it, or share it with `kubemq-mcp stdio --connect URL`",
        directory.display(),
        holder_text(*.holder)
    )]
    Locked {
        /// Where.
        directory: PathBuf,
        /// The process, if it has said its number.
        holder: Option<u32>,
    },
    /// The directory has files and none of them says that it is a store.
    #[error(
        "`{}` is no store: it holds `{found}` and no file `STORE`; name a directory of its own as store.path, \
         or restore the missing file if this was a store",
        directory.display()
    )]
    Foreign {
        /// Where.
        directory: PathBuf,
        /// One of the files.
        found: String,
    },
    /// A newer program has written it.
    #[error(
        "the store `{}` was written by a newer program: {what}; run that program, or restore a backup made by this one",
        directory.display()
    )]
    Newer {
        /// Where.
        directory: PathBuf,
        /// What is newer.
        what: String,
    },
    /// The file `STORE` says nothing that makes sense.
    #[error(
        "the store `{}` is damaged: its file `STORE` is not as it was written; {RESTORE}",
        directory.display()
    )]
    Nameplate {
        /// Where.
        directory: PathBuf,
    },
    /// It was a store, and what it held is gone.
    #[error("the store `{}` was emptied: {what}; {RESTORE}", directory.display())]
    Emptied {
        /// Where.
        directory: PathBuf,
        /// What is missing.
        what: &'static str,
    },
    /// The end of its log is gone, and sled went on with what was before.
    #[error(
        "the store `{}` is damaged: at least {missing} of its last commits are missing; {RESTORE}. To go on with what is left, and \
         forget the keys of those commits, remove its file `MARK`",
        directory.display()
    )]
    Behind {
        /// Where.
        directory: PathBuf,
        /// How many commits are missing at least.
        missing: u64,
    },
    /// Its files belong to another store.
    #[error(
        "the store `{}` has the files of another: `STORE` names {named:032x} and the files belong to {found:032x}; {RESTORE}",
        directory.display()
    )]
    Replaced {
        /// Where.
        directory: PathBuf,
        /// Whose files they should be.
        named: u128,
        /// Whose they are.
        found: u128,
    },
    /// The files are not as they were written.
    #[error("the store `{}` is damaged: {what}; {RESTORE}", directory.display())]
    Damaged {
        /// Where.
        directory: PathBuf,
        /// What was found.
        what: String,
    },
}

/// The only two ways on, and what they cost.
const RESTORE: &str = "restore the whole directory from a backup, or move it away to begin anew. Either way keys that are \
                       not in it are forgotten, and their commands would run again";

fn holder_text(holder: Option<u32>) -> String {
    holder.map_or_else(|| "another process".to_owned(), |holder| format!("process {holder}"))
}

impl OpenError {
    pub(super) fn unusable(directory: &Path, doing: &'static str, source: io::Error) -> Self {
        let directory = directory.to_owned();
        if source.kind() == io::ErrorKind::StorageFull {
            return Self::Full { directory };
        }
        Self::Unusable { directory, doing, source }
    }

    /// What an error of the opened files means for opening them.
    pub(super) fn failed(directory: &Path, error: StoreError) -> Self {
        match error {
            StoreError::NoSpace(_) => Self::Full { directory: directory.to_owned() },
            error => Self::damaged(directory, error.to_string()),
        }
    }

    /// The same of another directory: what is found in a copy is told of the original.
    pub(super) fn of(mut self, original: &Path) -> Self {
        let (Self::Unusable { directory, .. }
        | Self::Full { directory }
        | Self::Locked { directory, .. }
        | Self::Foreign { directory, .. }
        | Self::Newer { directory, .. }
        | Self::Nameplate { directory }
        | Self::Emptied { directory, .. }
        | Self::Behind { directory, .. }
        | Self::Replaced { directory, .. }
        | Self::Damaged { directory, .. }) = &mut self;
        original.clone_into(directory);
        self
    }

    pub(super) fn locked(directory: &Path) -> Self {
        Self::Locked { directory: directory.to_owned(), holder: lock::holder(directory) }
    }

    pub(super) fn damaged(directory: &Path, what: impl Into<String>) -> Self {
        Self::Damaged { directory: directory.to_owned(), what: what.into() }
    }

    pub(super) fn emptied(directory: &Path, what: &'static str) -> Self {
        Self::Emptied { directory: directory.to_owned(), what }
    }
}
