//! A record as bytes: `version ‖ checksum ‖ fields`, with lengths before texts and numbers in big-endian.
//!
//! A newer version is refused and never guessed at. Any bytes are read without a panic, and what a changed bit has made
//! of them is not taken for a record.

use sha2::{Digest, Sha256};

use super::{Doubt, Record, Resolution, Settlement, State};
use crate::domain::{Cause, Channel, Key, Principal, RequestId, Tags};
use crate::idempotency::{Owner, Timestamp};

/// The format that this program writes, and the newest that it reads.
pub const RECORD_VERSION: u8 = 1;

/// Of SHA-256; guards against broken disks, not against people.
const CHECKSUM_BYTES: usize = 8;

const HEADER_BYTES: usize = 1 + CHECKSUM_BYTES;

/// Why bytes are not a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// Fewer bytes than a record has.
    #[error("a record is cut short")]
    Short,
    /// Written by a newer program.
    #[error(
        "a record has format {found} and this program reads up to {RECORD_VERSION}; run the newer program"
    )]
    Newer {
        /// The format found.
        found: u8,
    },
    /// The bytes are not the ones that were written.
    #[error("a record does not match its checksum")]
    Checksum,
    /// The checksum is right and a field is not.
    #[error("the field `{0}` of a record has no valid value")]
    Field(&'static str),
}

impl Record {
    /// The record as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_BYTES];
        bytes[0] = RECORD_VERSION;
        write(self, &mut bytes);
        let checksum = checksum(RECORD_VERSION, &bytes[HEADER_BYTES..]);
        bytes[1..HEADER_BYTES].copy_from_slice(&checksum);
        bytes
    }

    /// How many bytes [`Record::encode`] gives.
    pub fn encoded_len(&self) -> usize {
        let mut counter = Counter(HEADER_BYTES);
        write(self, &mut counter);
        counter.0
    }

    /// Reads a record.
    ///
    /// # Errors
    /// Says what is wrong with the bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        let (&version, rest) = bytes.split_first().ok_or(RecordError::Short)?;
        if version > RECORD_VERSION {
            return Err(RecordError::Newer { found: version });
        }
        if version == 0 {
            return Err(RecordError::Field("version"));
        }
        let (found, fields) = rest.split_at_checked(CHECKSUM_BYTES).ok_or(RecordError::Short)?;
        if found != checksum(version, fields) {
            return Err(RecordError::Checksum);
        }
        let mut reader = Reader(fields);
        let record = read(&mut reader)?;
        if reader.0.is_empty() { Ok(record) } else { Err(RecordError::Field("end")) }
    }
}

pub(super) fn checksum(version: u8, fields: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let digest = Sha256::new().chain_update([version]).chain_update(fields).finalize();
    let mut checksum = [0; CHECKSUM_BYTES];
    checksum.copy_from_slice(&digest[..CHECKSUM_BYTES]);
    checksum
}

/// Takes bytes, or only counts them.
trait Sink {
    fn put(&mut self, bytes: &[u8]);

    fn text(&mut self, text: &str) {
        let length = u32::try_from(text.len()).expect("texts are bounded far below 4 GiB");
        self.put(&length.to_be_bytes());
        self.put(text.as_bytes());
    }
}

impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

struct Counter(usize);

impl Sink for Counter {
    fn put(&mut self, bytes: &[u8]) {
        self.0 += bytes.len();
    }
}

fn write(record: &Record, sink: &mut impl Sink) {
    sink.text(record.principal.as_str());
    sink.text(record.key.as_str());
    sink.put(record.fingerprint.as_bytes());
    sink.text(record.channel.as_str());
    sink.put(&record.owner.instance.to_be_bytes());
    sink.put(&record.owner.boot.to_be_bytes());
    sink.put(&record.fence.to_be_bytes());
    sink.put(&record.attempt.to_be_bytes());
    for time in [record.first_seen, record.settled_until, record.in_doubt_until] {
        sink.put(&time.milliseconds().to_be_bytes());
    }
    sink.put(&[u8::from(record.doubt.is_some())]);
    if let Some((since, doubt)) = record.doubt {
        sink.put(&since.milliseconds().to_be_bytes());
        sink.text(doubt.as_str());
        sink.text(if let Doubt::Ended(cause) = doubt { cause.as_str() } else { "" });
    }
    sink.text(record.request_id.as_str());
    match &record.state {
        State::InProgress => sink.put(&[0]),
        State::InDoubt => sink.put(&[1]),
        State::Settled(settlement) => {
            sink.put(&[2, u8::from(settlement.executed), u8::from(settlement.truncated)]);
            sink.put(&settlement.at.milliseconds().to_be_bytes());
            sink.put(&settlement.elapsed_milliseconds.to_be_bytes());
            sink.text(&settlement.error);
            sink.text(&settlement.responder);
            let tags = u32::try_from(settlement.tags.len()).expect("tags are bounded far below 2^32");
            sink.put(&tags.to_be_bytes());
            for (name, value) in &settlement.tags {
                sink.text(name);
                sink.text(value);
            }
            sink.put(&[u8::from(settlement.resolved.is_some())]);
            if let Some(resolution) = &settlement.resolved {
                sink.text(&resolution.by);
                sink.text(&resolution.why);
            }
        }
    }
}

struct Reader<'bytes>(&'bytes [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], RecordError> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or(RecordError::Short)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn number(&mut self) -> Result<u32, RecordError> {
        self.take().map(u32::from_be_bytes)
    }

    fn time(&mut self) -> Result<Timestamp, RecordError> {
        Ok(Timestamp::from_milliseconds(u64::from_be_bytes(self.take()?)))
    }

    fn flag(&mut self, field: &'static str) -> Result<bool, RecordError> {
        match self.take::<1>()? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(RecordError::Field(field)),
        }
    }

    fn text(&mut self, field: &'static str) -> Result<String, RecordError> {
        let length = usize::try_from(self.number()?).map_err(|_| RecordError::Short)?;
        let (taken, rest) = self.0.split_at_checked(length).ok_or(RecordError::Short)?;
        self.0 = rest;
        std::str::from_utf8(taken).map(str::to_owned).map_err(|_| RecordError::Field(field))
    }
}

fn read(reader: &mut Reader<'_>) -> Result<Record, RecordError> {
    let principal = Principal::named(&reader.text("principal")?);
    let key = Key::parse(&reader.text("key")?).map_err(|_| RecordError::Field("key"))?;
    let fingerprint = reader.take::<32>()?.into();
    let channel = Channel::parse(&reader.text("channel")?).map_err(|_| RecordError::Field("channel"))?;
    let owner = Owner { instance: u128::from_be_bytes(reader.take()?), boot: reader.number()? };
    let fence = u64::from_be_bytes(reader.take()?);
    let attempt = reader.number()?;
    let (first_seen, settled_until, in_doubt_until) = (reader.time()?, reader.time()?, reader.time()?);
    let doubt = match reader.flag("doubt")? {
        true => Some((reader.time()?, read_doubt(reader)?)),
        false => None,
    };
    let request_id = RequestId::from(reader.text("request_id")?.as_str());
    let state = match reader.take::<1>()? {
        [0] => State::InProgress,
        [1] if doubt.is_some() => State::InDoubt,
        [2] => State::Settled(read_settlement(reader)?),
        _ => return Err(RecordError::Field("state")),
    };
    Ok(Record {
        principal,
        key,
        fingerprint,
        channel,
        owner,
        fence,
        attempt,
        first_seen,
        settled_until,
        in_doubt_until,
        doubt,
        request_id,
        state,
    })
}

fn read_doubt(reader: &mut Reader<'_>) -> Result<Doubt, RecordError> {
    let kind = reader.text("doubt")?;
    let cause = reader.text("cause")?;
    let cause = Cause::ALL.into_iter().rev().find(|known| known.as_str() == cause);
    let doubts = [Doubt::Interrupted, Doubt::RejectedLater];
    cause
        .map(Doubt::Ended)
        .into_iter()
        .chain(doubts)
        .find(|doubt| doubt.as_str() == kind)
        .ok_or(RecordError::Field("doubt"))
}

fn read_settlement(reader: &mut Reader<'_>) -> Result<Settlement, RecordError> {
    let (executed, truncated) = (reader.flag("executed")?, reader.flag("truncated")?);
    let (at, elapsed_milliseconds) = (reader.time()?, u64::from_be_bytes(reader.take()?));
    let (error, responder) = (reader.text("error")?, reader.text("responder")?);
    let mut tags = Tags::new();
    for _ in 0..reader.number()? {
        let name = reader.text("tags")?;
        tags.insert(name, reader.text("tags")?);
    }
    let resolved = match reader.flag("resolved")? {
        true => Some(Resolution { by: reader.text("resolved")?, why: reader.text("resolved")? }),
        false => None,
    };
    Ok(Settlement { executed, at, elapsed_milliseconds, error, responder, tags, truncated, resolved })
}
