//! What the shim wrote down: the operations on the files below one directory, and the payloads sent, in their order.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use regex::bytes::Regex;

/// The operations of one process, or of several that ran one after another.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    events: Vec<Event>,
}

/// One operation. Paths are relative to the directory.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// An empty file came into being.
    Created { path: PathBuf },
    /// Bytes were written.
    Written { path: PathBuf, offset: u64, data: Vec<u8> },
    /// The length was set.
    Resized { path: PathBuf, length: u64 },
    /// The length was made at least this.
    Reserved { path: PathBuf, length: u64 },
    /// A file got another name, perhaps that of a file which is thereby gone.
    Renamed { from: PathBuf, to: PathBuf },
    /// A file or an empty directory is gone.
    Removed { path: PathBuf },
    /// A directory was made.
    DirectoryMade { path: PathBuf },
    /// A sync of a file or a directory was begun.
    SyncEntered { path: PathBuf, sync: u64 },
    /// It has succeeded.
    SyncReturned { sync: u64 },
    /// A payload is about to leave on a socket.
    Sent { data: Vec<u8> },
    /// The process is gone, and with it the syncs that had not returned.
    Ended,
}

impl Recording {
    /// Reads the record of a process that has ended. A process that was killed may have left its last entry unfinished;
    /// that operation counts as one that never returned.
    pub fn read(record: &Path) -> Self {
        let bytes = std::fs::read(record).expect("the process had the shim");
        let mut entries = Entries { rest: &bytes };
        let mut events: Vec<Event> = std::iter::from_fn(|| entries.next()).flatten().collect();
        events.push(Event::Ended);
        Self { events }
    }

    /// Goes on with what the next process did.
    pub fn then(mut self, next: Self) -> Self {
        self.events.extend(next.events);
        self
    }

    /// The operations.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Every text that the first group of this pattern matches in a payload, and the position of the first such payload.
    pub fn first_sent(&self, pattern: &Regex) -> HashMap<String, usize> {
        let mut found = HashMap::new();
        for (position, event) in self.events.iter().enumerate() {
            let Event::Sent { data } = event else { continue };
            for text in pattern.captures_iter(data).filter_map(|captures| captures.get(1)) {
                let text = String::from_utf8_lossy(text.as_bytes()).into_owned();
                found.entry(text).or_insert(position);
            }
        }
        found
    }

    /// The same on a disk that forgets what it was told to keep.
    pub fn without_syncs(mut self) -> Self {
        self.events.retain(|event| !matches!(event, Event::SyncReturned { .. }));
        self
    }
}

/// Reads entry after entry: a head of four numbers and one more, then the path, then the data, as `shim.c` has them.
struct Entries<'a> {
    rest: &'a [u8],
}

impl<'a> Entries<'a> {
    /// `None` at the end, `Some(None)` for an entry that says nothing about the disk.
    fn next(&mut self) -> Option<Option<Event>> {
        let mut rest = self.rest;
        let (operation, path_bytes) = (take_u32(&mut rest)?, take_u32(&mut rest)?);
        let (first, second, data_bytes) = (take_u64(&mut rest)?, take_u64(&mut rest)?, take_u64(&mut rest)?);
        let path = path(take(&mut rest, path_bytes.into())?);
        let data = take(&mut rest, data_bytes)?;
        self.rest = rest;
        Some(Some(match operation {
            1 => Event::Created { path },
            2 => Event::Written { path, offset: first, data: data.to_vec() },
            3 => Event::Resized { path, length: first },
            4 => Event::Reserved { path, length: first },
            5 => Event::Renamed { from: path, to: self::path(data) },
            6 => Event::Removed { path },
            7 => Event::DirectoryMade { path },
            8 | 9 => Event::SyncEntered { path, sync: first },
            // `sync_file_range` promises neither the length of the file nor that the disk has emptied its cache.
            10 => return Some(None),
            11 => Event::Sent { data: data.to_vec() },
            12 => Event::SyncReturned { sync: first },
            other => panic!("no operation {other} ({first}, {second}): not a record"),
        }))
    }
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(std::str::from_utf8(bytes).expect("a path of ours is text"))
}

fn take<'a>(rest: &mut &'a [u8], bytes: u64) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(usize::try_from(bytes).ok()?)?;
    *rest = left;
    Some(taken)
}

fn take_u32(rest: &mut &[u8]) -> Option<u32> {
    let (taken, left) = rest.split_first_chunk()?;
    *rest = left;
    Some(u32::from_ne_bytes(*taken))
}

fn take_u64(rest: &mut &[u8]) -> Option<u64> {
    let (taken, left) = rest.split_first_chunk()?;
    *rest = left;
    Some(u64::from_ne_bytes(*taken))
}
