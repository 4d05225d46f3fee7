//! Why a store was not opened: what was found, where, and what to do.

use std::io;
use std::path::{Path, PathBuf};

use super::lock;

/// Why a store was not opened. Nothing of it was lost by trying.
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
