//! The library that watches and fails the disk of a process: built from `tests/fault/shim.c`, switched on by variables.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fault/shim.c");

const FLAGS: [&str; 9] = [
    "-shared",
    "-fPIC",
    "-O2",
    "-std=gnu11",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-pthread",
    "-fvisibility=hidden",
];

/// What the shim is to do in one process. It looks at the files below one directory only.
#[derive(Clone, Debug)]
pub struct Shim {
    variables: Vec<(&'static str, String)>,
}

/// The operation at which a process dies.
#[derive(Clone, Copy, Debug)]
pub struct Kill {
    /// What is counted.
    pub operation: Operation,
    /// Which of them, from 1.
    pub number: u32,
    /// Before it, in its middle or after it.
    pub moment: Moment,
}

/// What the shim counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operation {
    /// Everything that changes a file or a directory, and every sync.
    Any,
    /// A write.
    Write,
    /// `fdatasync`.
    DataSync,
}

/// When the process dies. Of what is no write, the middle is its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Moment {
    /// It has not happened.
    Before,
    /// Half of the bytes are written.
    Halfway,
    /// It has happened, and the process has not heard so.
    After,
}

/// What goes wrong with the disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Failure {
    /// `ENOSPC`, in the middle of every other write.
    NoSpace,
    /// `EIO` from every sync.
    NoSync,
}

impl Shim {
    /// Looks at this directory.
    pub fn over(directory: &Path) -> Self {
        // The kernel names files by their real paths, and the shim compares with those.
        let directory = directory.canonicalize().expect("the directory is there");
        let mut shim = Self { variables: Vec::new() };
        shim.set("LD_PRELOAD", library());
        shim.set("SHIM_DIR", &directory);
        shim
    }

    /// Writes every operation to this file.
    pub fn recording(mut self, record: &Path) -> Self {
        self.set("SHIM_RECORD", record);
        self
    }

    /// Kills the process.
    pub fn killing(mut self, kill: Kill) -> Self {
        self.variables.push(("SHIM_KILL", kill.to_string()));
        self
    }

    /// Begins to count when this file is there.
    pub fn armed_by(mut self, file: &Path) -> Self {
        self.set("SHIM_ARM", file);
        self
    }

    /// Fails while this file is there.
    pub fn failing(mut self, failure: Failure, file: &Path) -> Self {
        let failure = match failure {
            Failure::NoSpace => "enospc",
            Failure::NoSync => "eio",
        };
        self.variables.push(("SHIM_FAIL", failure.to_owned()));
        self.set("SHIM_FAIL_WHEN", file);
        self
    }

    /// The environment that switches it on.
    pub fn variables(&self) -> Vec<(&str, &str)> {
        self.variables.iter().map(|(name, value)| (*name, value.as_str())).collect()
    }

    fn set(&mut self, name: &'static str, path: &Path) {
        self.variables.push((name, path.to_str().expect("a path of ours is text").to_owned()));
    }
}

impl fmt::Display for Kill {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operation = match self.operation {
            Operation::Any => "any",
            Operation::Write => "write",
            Operation::DataSync => "fdatasync",
        };
        let moment = match self.moment {
            Moment::Before => "before",
            Moment::Halfway => "halfway",
            Moment::After => "after",
        };
        write!(formatter, "{operation}:{}:{moment}", self.number)
    }
}

/// Builds the library once; a later run of the same source finds it there.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let mut hasher = DefaultHasher::new();
        (std::fs::read(SOURCE).expect("the source is there"), FLAGS).hash(&mut hasher);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let library = folder.join(format!("shim-{:016x}.so", hasher.finish()));
        if library.exists() {
            return library;
        }
        // Under a name of this process first: another one may be building or loading it.
        let unfinished = folder.join(format!("shim-{}.so", std::process::id()));
        let built = Command::new("cc").args(FLAGS).arg("-o").arg(&unfinished).args([SOURCE, "-ldl"]).output();
        let built = built.expect("there is a C compiler, since Rust links with it");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        std::fs::rename(&unfinished, &library).expect("a file of ours");
        library
    })
}
