//! Which channels have been seen: what `list-channels` lists.
//!
//! A channel appears when it is created, sent to or subscribed to. It has no other existence: deleting one forgets
//! its numbers and hinders nobody.

use std::collections::BTreeMap;

use serde::Serialize;

use super::validation::Kind;

/// The five types of channels, as the wire names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChannelType {
    /// Plain events.
    Events,
    /// Stored events.
    EventsStore,
    /// Commands.
    Commands,
    /// Queries.
    Queries,
    /// Queues.
    Queues,
}

impl ChannelType {
    /// Reads the wire's name of a type.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "events" => Some(Self::Events),
            "events_store" => Some(Self::EventsStore),
            "commands" => Some(Self::Commands),
            "queries" => Some(Self::Queries),
            "queues" => Some(Self::Queues),
            _ => None,
        }
    }
}

impl From<Kind> for ChannelType {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Command => Self::Commands,
            Kind::Query => Self::Queries,
        }
    }
}

/// Milliseconds since 1970, only ever shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct UnixMilliseconds(pub i64);

/// One direction of a channel. Every type has every number, because some SDKs insist on those of other types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// Messages.
    pub messages: u64,
    /// Bytes of their metadata and bodies.
    pub volume: u64,
    /// Replies to commands and queries.
    pub responses: u64,
    /// Of queues, so 0 so far.
    pub waiting: u64,
    /// Of queues, so 0 so far.
    pub expired: u64,
    /// Of queues, so 0 so far.
    pub delayed: u64,
}

/// What is known of one channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When something last happened on it.
    pub last_activity: UnixMilliseconds,
    /// Into the broker.
    pub incoming: Traffic,
    /// Out of the broker.
    pub outgoing: Traffic,
}

/// Longest name that is listed, in bytes: the longest that our own side takes. A longer one works, but is kept by nobody.
const NAME_BYTES_MAX: usize = 256;

/// Why a new channel is not listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unlisted {
    /// No more channels fit.
    #[error("too many channels")]
    Full,
    /// Its name is too long.
    #[error("the name is longer than {NAME_BYTES_MAX} bytes")]
    NameTooLong,
}

/// The known channels.
#[derive(Debug)]
pub struct Directory {
    channels: BTreeMap<ChannelType, BTreeMap<String, Record>>,
    len: usize,
    len_max: usize,
}

impl Directory {
    /// An empty directory for at most `len_max` channels.
    pub fn new(len_max: usize) -> Self {
        Self { channels: BTreeMap::new(), len: 0, len_max }
    }

    /// The record of a channel, made now if it is new.
    ///
    /// # Errors
    /// It is new, and does not fit.
    pub fn touch(
        &mut self,
        channel_type: ChannelType,
        name: &str,
        now: UnixMilliseconds,
    ) -> Result<&mut Record, Unlisted> {
        let channels = self.channels.entry(channel_type).or_default();
        if !channels.contains_key(name) {
            if name.len() > NAME_BYTES_MAX {
                return Err(Unlisted::NameTooLong);
            }
            if self.len >= self.len_max {
                return Err(Unlisted::Full);
            }
            self.len += 1;
        }
        let record = channels.entry(name.to_owned()).or_insert(Record {
            last_activity: now,
            incoming: Traffic::default(),
            outgoing: Traffic::default(),
        });
        record.last_activity = now;
        Ok(record)
    }

    /// Forgets a channel; tells whether there was one.
    pub fn forget(&mut self, channel_type: ChannelType, name: &str) -> bool {
        let known = self.channels.get_mut(&channel_type).and_then(|channels| channels.remove(name)).is_some();
        self.len -= usize::from(known);
        known
    }

    /// The channels of one type, by name.
    pub fn of_type(&self, channel_type: ChannelType) -> impl Iterator<Item = (&str, &Record)> {
        self.channels.get(&channel_type).into_iter().flatten().map(|(name, record)| (name.as_str(), record))
    }

    /// How many channels are known.
    pub fn len(&self) -> usize {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_directory_still_counts_for_the_channels_it_knows() {
        let mut directory = Directory::new(1);
        directory.touch(ChannelType::Commands, "a", UnixMilliseconds(1)).expect("room").incoming.messages +=
            1;
        assert!(directory.touch(ChannelType::Queries, "a", UnixMilliseconds(2)).is_err());
        let record = directory.touch(ChannelType::Commands, "a", UnixMilliseconds(3)).expect("known");
        assert_eq!((record.incoming.messages, record.last_activity), (1, UnixMilliseconds(3)));
        assert!(directory.forget(ChannelType::Commands, "a"));
        assert!(!directory.forget(ChannelType::Commands, "a"));
        assert!(directory.touch(ChannelType::Queries, "a", UnixMilliseconds(4)).is_ok());
    }

    #[test]
    fn a_name_of_any_length_takes_no_more_than_a_listed_one() {
        let mut directory = Directory::new(2);
        let mut touch = |length: usize| {
            directory.touch(ChannelType::Queries, &"x".repeat(length), UnixMilliseconds(1)).map(drop)
        };
        assert_eq!(touch(NAME_BYTES_MAX + 1), Err(Unlisted::NameTooLong));
        assert_eq!(touch(NAME_BYTES_MAX), Ok(()));
        assert_eq!(directory.len(), 1);
    }
}
