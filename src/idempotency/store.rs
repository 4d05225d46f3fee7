//! What the ledger needs of a disk: reads, and one atomic, durable write at a time.
//!
//! One thread owns a store. What [`View`] shows is durable, since nothing is written but by [`Store::commit`], which
//! returns only when a power cut can take nothing of it back.

mod memory;

pub use memory::MemoryStore;

use super::{Identity, Record, RecordError, Timestamp};

/// Reads what is durable.
pub trait View {
    /// The record of one key.
    ///
    /// # Errors
    /// When the store cannot be read, or holds something that is no record.
    fn get(&self, identity: &Identity) -> Result<Option<Record>, StoreError>;

    /// Shows every record whose claim has a higher number than `after`, in the order of claims, until `visit` says
    /// [`Walk::End`].
    ///
    /// # Errors
    /// When the store cannot be read, or holds something that is no record.
    fn walk(&self, after: Option<u64>, visit: &mut dyn FnMut(Record) -> Walk) -> Result<(), StoreError>;

    /// What the store says of itself.
    fn head(&self) -> Head;

    /// Bytes the store takes on its disk.
    fn disk_bytes(&self) -> u64;

    /// Bytes that its disk has left.
    fn free_bytes(&self) -> u64;
}

/// Writes, one batch at a time.
pub trait Store: View + Send {
    /// Writes all changes and the head, or nothing, and returns when a power cut can take none of it back.
    ///
    /// # Errors
    /// After an error nobody can say what is on the disk: the store must not be written again in this process.
    fn commit(&mut self, changes: &[Change], head: &Head) -> Result<(), StoreError>;
}

/// Whether a walk goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// To the next record.
    On,
    /// No further.
    End,
}

/// What a store knows beside its records. Written with every batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Names the store; drawn at random when it is made.
    pub instance: u128,
    /// How often it was opened.
    pub boot: u32,
    /// Records in it. A damaged file can lose some silently; then this number tells.
    pub records: u64,
    /// The highest number of a claim so far.
    pub fence: u64,
    /// The highest time seen; the store's time never falls below it.
    pub latest: Timestamp,
}

/// One record before and after. `None`: not there.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Whose record it is.
    pub identity: Identity,
    /// As the disk has it.
    pub before: Option<Record>,
    /// As the disk shall have it.
    pub after: Option<Record>,
}

/// Why the store did not do as asked. All of them close it for this process.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The disk has no room.
    #[error("the disk of the store is full: {0}")]
    NoSpace(String),
    /// Reading, writing or syncing failed.
    #[error("the store cannot be read or written: {0}")]
    Broken(String),
    /// A record on the disk is not one.
    #[error("the store is damaged: {0}")]
    Damaged(#[from] RecordError),
    /// A record stands where another should, or a key has two.
    #[error("the store is damaged: a record stands where none of its key should")]
    Misplaced,
    /// A record to be written is larger than the store takes; nothing was written.
    #[error("a record of {bytes} bytes is larger than the {bytes_max} that the store takes")]
    TooLarge {
        /// Of the record.
        bytes: usize,
        /// At most.
        bytes_max: usize,
    },
}

impl StoreError {
    /// What kind of error it is, in words that show nothing of the machine.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NoSpace(_) => "the disk of the store of keys is full",
            Self::Broken(_) => "the disk of the store of keys has failed",
            Self::Damaged(_) | Self::Misplaced => "the store of keys is damaged",
            Self::TooLarge { .. } => "the store of keys was given a record that it cannot take",
        }
    }
}
