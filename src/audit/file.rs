//! Where the lines go: a file that is put aside when it is large or old, or standard output.
//!
//! A file is put aside by giving it another name, between two batches of lines: no line is split and none is lost.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Access, access};
use tokio::time::Instant;

use super::Config;
use super::metrics::Metrics;
use crate::clock;

/// Its owner reads and writes it, nobody else: it names what agents do.
const MODE: u32 = 0o600;

/// Why the audit cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("the audit `{}` cannot be written (audit.path)", path.display())]
pub struct OpenError {
    /// Where it should go.
    pub path: PathBuf,
    /// What the operating system said.
    pub source: io::Error,
}

/// Where lines go.
pub(super) enum Target {
    /// Standard output.
    Output,
    /// A file.
    File(Box<Rotating>),
}

/// A file, and when it is put aside.
pub(super) struct Rotating {
    path: PathBuf,
    // `None` after an error: it is opened anew for the next batch.
    file: Option<File>,
    bytes: u64,
    begun: Instant,
    /// Whether the last write may have left a part of a line.
    torn: bool,
    bytes_max: u64,
    age_max: Duration,
    kept_max: usize,
    sync: bool,
    /// Files put aside by this process.
    number: u64,
}

/// Looks whether the file could be written, and changes nothing.
pub(super) fn check(config: &Config) -> Result<(), OpenError> {
    let path = PathBuf::from(&config.path);
    let looked = if !config.is_on() || config.path == "-" {
        Ok(())
    } else if path.exists() {
        OpenOptions::new().append(true).open(&path).map(drop)
    } else {
        access(folder(&path), Access::WRITE_OK | Access::EXEC_OK).map_err(io::Error::from)
    };
    looked.map_err(|source| OpenError { path, source })
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

impl Target {
    /// Opens it, so that a wrong path stops the start.
    pub fn open(config: &Config) -> Result<Self, OpenError> {
        if config.path == "-" {
            return Ok(Self::Output);
        }
        let path = PathBuf::from(&config.path);
        let mut rotating = Rotating {
            path: path.clone(),
            file: None,
            bytes: 0,
            begun: Instant::now(),
            torn: false,
            bytes_max: config.file_bytes_max,
            age_max: Duration::from_secs(config.rotate_seconds),
            kept_max: config.files_kept_max,
            sync: config.sync,
            number: 0,
        };
        rotating.open().map_err(|source| OpenError { path, source })?;
        // A process that was killed may have left a part of a line at its end.
        rotating.torn = rotating.bytes > 0 && !ends_with_a_line(&rotating.path);
        Ok(Self::File(Box::new(rotating)))
    }

    /// Writes whole lines. After an error nobody knows how much of them is there.
    pub fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        match self {
            Self::Output => {
                let mut output = io::stdout().lock();
                output.write_all(lines)?;
                output.flush()
            }
            Self::File(rotating) => rotating.write(lines),
        }
    }
}

impl Rotating {
    fn open(&mut self) -> io::Result<()> {
        let file = OpenOptions::new().append(true).create(true).mode(MODE).open(&self.path)?;
        self.bytes = file.metadata()?.len();
        self.begun = Instant::now();
        self.file = Some(file);
        Ok(())
    }

    fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        let written = self.try_write(lines);
        if written.is_err() {
            self.torn = true;
            self.file = None;
        }
        written
    }

    fn try_write(&mut self, lines: &[u8]) -> io::Result<()> {
        if self.file.is_none() {
            self.open()?;
        }
        let is_large = self.bytes > 0 && self.bytes + lines.len() as u64 > self.bytes_max;
        if is_large || (self.bytes > 0 && self.begun.elapsed() >= self.age_max) {
            self.put_aside()?;
        }
        let file = self.file.as_mut().expect("it was opened above");
        if self.torn {
            // What was torn stays a line of its own; whoever reads sees that it is no JSON.
            file.write_all(b"\n")?;
            self.torn = false;
        }
        file.write_all(lines)?;
        if self.sync {
            file.sync_data()?;
        }
        self.bytes += lines.len() as u64;
        Ok(())
    }

    fn put_aside(&mut self) -> io::Result<()> {
        let stamp: String =
            clock::rfc3339(clock::now()).chars().filter(|character| !"-:".contains(*character)).collect();
        // Numbered, so that the names of one millisecond sort as they came, whatever of them is gone by then.
        let aside = loop {
            self.number += 1;
            let aside = named(&self.path, &format!("{stamp}-{:06}", self.number));
            if !aside.exists() {
                break aside;
            }
        };
        fs::rename(&self.path, &aside)?;
        self.file = None;
        self.torn = false;
        self.open()?;
        Metrics::get().rotations.increment(1);
        self.remove_old();
        Ok(())
    }

    /// A file that cannot be removed is told, and no reason to stop.
    fn remove_old(&self) {
        let mut aside = set_aside(&self.path);
        aside.sort();
        let too_many = aside.len().saturating_sub(self.kept_max);
        for path in aside.into_iter().take(too_many) {
            if let Err(error) = fs::remove_file(&path) {
                tracing::warn!(file = %path.display(), %error, "an old file of the audit could not be removed");
            }
        }
    }
}

fn named(path: &Path, stamp: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{stamp}"));
    name.into()
}

/// The files that were put aside: their names sort by time.
fn set_aside(path: &Path) -> Vec<PathBuf> {
    let prefix = path.file_name().map(|name| format!("{}.", name.to_string_lossy())).unwrap_or_default();
    let Ok(entries) = fs::read_dir(folder(path)) else { return Vec::new() };
    let is_ours = |name: &str| {
        name.strip_prefix(&prefix)
            .is_some_and(|stamp| stamp.starts_with(|first: char| first.is_ascii_digit()))
    };
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(is_ours))
        .map(|entry| entry.path())
        .collect()
}

fn ends_with_a_line(path: &Path) -> bool {
    let last = || {
        let (mut file, mut last) = (File::open(path)?, [0]);
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        io::Result::Ok(last)
    };
    last().is_ok_and(|last| last == *b"\n")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn target(path: &Path, config: Config) -> Target {
        Target::open(&Config { path: path.to_str().unwrap().into(), ..config }).unwrap()
    }

    #[test]
    fn a_file_is_put_aside_whole_and_the_oldest_go() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.jsonl");
        let config = Config { file_bytes_max: 10, files_kept_max: 2, ..Config::default() };
        let mut target = target(&path, config);
        for number in 0..5 {
            target.write(format!("line {number}\n").as_bytes()).unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "line 4\n");
        let mut aside = set_aside(&path);
        aside.sort();
        let kept: Vec<String> = aside.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
        assert_eq!(kept, ["line 2\n", "line 3\n"]);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, MODE);
    }

    #[test]
    fn a_torn_line_stays_a_line_of_its_own() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.jsonl");
        fs::write(&path, "{\"torn").unwrap();
        target(&path, Config::default()).write(b"whole\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"torn\nwhole\n");
        target(&path, Config::default()).write(b"more\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"torn\nwhole\nmore\n");
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_opened_again_for_the_next_lines() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("folder/audit.jsonl");
        fs::create_dir(path.parent().unwrap()).unwrap();
        let mut target = target(&path, Config { file_bytes_max: 1, ..Config::default() });
        target.write(b"one\n").unwrap();
        fs::remove_dir_all(path.parent().unwrap()).unwrap();
        assert!(target.write(b"two\n").is_err(), "there is no file to put aside");
        fs::create_dir(path.parent().unwrap()).unwrap();
        target.write(b"three\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "\nthree\n");
    }
}
