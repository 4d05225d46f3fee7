//! The content of one file: what is safe, and what has changed since.

use std::collections::{HashSet, VecDeque};

use super::Survival;

/// What the page cache writes at once.
const PAGE_BYTES: usize = 4_096;

/// The number of a change of one file.
pub type Sequence = u64;

/// One file.
#[derive(Clone, Debug, Default)]
pub struct Content<'a> {
    safe: Vec<u8>,
    /// In their order; the first has the number `kept`.
    unsafe_changes: VecDeque<Change<'a>>,
    kept: Sequence,
    /// As the processes see it.
    length: usize,
}

#[derive(Clone, Copy, Debug)]
enum Change<'a> {
    Write { offset: usize, data: &'a [u8], growth: Growth },
    Resize(usize),
    Reserve(usize),
}

/// Whether a write changes the length of its file.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Growth {
    None,
    ToItsEnd,
}

impl<'a> Content<'a> {
    /// A file that is safe as it is.
    pub fn safe(bytes: Vec<u8>) -> Self {
        Self { length: bytes.len(), safe: bytes, ..Self::default() }
    }

    /// Writes.
    pub fn write(&mut self, offset: u64, data: &'a [u8]) {
        let offset = position(offset);
        let end = offset + data.len();
        let growth = if end > self.length { Growth::ToItsEnd } else { Growth::None };
        self.length = self.length.max(end);
        self.unsafe_changes.push_back(Change::Write { offset, data, growth });
    }

    /// Sets the length.
    pub fn resize(&mut self, length: u64) {
        self.length = position(length);
        self.unsafe_changes.push_back(Change::Resize(self.length));
    }

    /// Makes the length at least this.
    pub fn reserve(&mut self, length: u64) {
        self.length = self.length.max(position(length));
        self.unsafe_changes.push_back(Change::Reserve(self.length));
    }

    /// The number that the next change gets.
    pub fn sequence(&self) -> Sequence {
        self.kept + self.unsafe_changes.len() as Sequence
    }

    /// Every change before this one is safe from now on.
    pub fn keep(&mut self, sequence: Sequence) {
        while self.kept < sequence {
            let change = self.unsafe_changes.pop_front().expect("the sequence was given out by us");
            self.kept += 1;
            match change {
                Change::Write { offset, data, .. } => put(&mut self.safe, offset, data),
                Change::Resize(length) => self.safe.resize(length, 0),
                Change::Reserve(length) => self.safe.resize(self.safe.len().max(length), 0),
            }
        }
    }

    /// What is there after a cut now.
    pub fn after_a_cut(&self, survival: &mut Survival) -> Vec<u8> {
        let (mut bytes, mut length) = (self.safe.clone(), self.safe.len());
        let mut pages_lost = HashSet::new();
        let mut length_lost = false;
        let grows = |length_lost: &mut bool, survival: &mut Survival| {
            *length_lost = *length_lost || !survival.decides();
            !*length_lost
        };
        for change in &self.unsafe_changes {
            match *change {
                Change::Write { offset, data, growth } => {
                    for (at, piece) in pieces(offset, data) {
                        if pages_lost.contains(&(at / PAGE_BYTES)) || !survival.decides() {
                            pages_lost.insert(at / PAGE_BYTES);
                        } else {
                            put(&mut bytes, at, piece);
                        }
                    }
                    if growth == Growth::ToItsEnd && grows(&mut length_lost, survival) {
                        length = offset + data.len();
                    }
                }
                Change::Resize(to) if to < length => {
                    if !grows(&mut length_lost, survival) {
                        break;
                    }
                    bytes.truncate(to);
                    length = to;
                }
                Change::Resize(to) | Change::Reserve(to) => {
                    if grows(&mut length_lost, survival) {
                        length = to;
                    }
                }
            }
        }
        bytes.resize(length, 0);
        bytes
    }
}

/// The parts of a write that lie on one page each.
fn pieces(offset: usize, data: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut rest = (offset, data);
    std::iter::from_fn(move || {
        let (at, data) = rest;
        let room = PAGE_BYTES - at % PAGE_BYTES;
        let (piece, left) = data.split_at(room.min(data.len()));
        rest = (at + piece.len(), left);
        (!piece.is_empty()).then_some((at, piece))
    })
}

fn put(bytes: &mut Vec<u8>, offset: usize, data: &[u8]) {
    let end = offset + data.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[offset..end].copy_from_slice(data);
}

fn position(offset: u64) -> usize {
    usize::try_from(offset).expect("a file of a test fits into memory")
}
