//! Why a channel did not take or did not finish a request.

use crate::broker::Fault;
use crate::domain::{Cause, Channel, Sent};

/// Why no room was given. Nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReserveError {
    /// The channel has as many requests in flight as it may.
    #[error(
        "channel `{channel}` is busy, {limit} requests pending (channel.requests_pending_per_channel_max)"
    )]
    ChannelFull {
        /// The channel.
        channel: Channel,
        /// The limit that is reached.
        limit: usize,
    },
    /// All channels together have as many requests in flight as they may.
    #[error("the connector is busy, {limit} requests pending (channel.requests_pending_max)")]
    ConnectorFull {
        /// The limit that is reached.
        limit: usize,
    },
    /// No room for another channel.
    #[error("{limit} channels are in use (channel.channels_alive_max)")]
    ChannelsFull {
        /// The limit that is reached.
        limit: usize,
    },
}

/// Why a request ended without a reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// The broker side failed.
    #[error(transparent)]
    Broker(#[from] Fault),
    /// The agent of a query left.
    #[error("the agent left")]
    Left,
    /// The connector stopped while the request was in flight.
    #[error("the connector stopped while waiting for the reply")]
    Stopped,
    /// The actor was already gone; nothing was sent.
    #[error("the channel's actor was gone")]
    Gone,
    /// The actor died with the request in flight.
    #[error("the channel's actor died")]
    Died,
}

impl AskError {
    /// The one cause it is told as.
    pub fn cause(&self) -> Cause {
        match self {
            Self::Broker(fault) => fault.cause(),
            Self::Left => Cause::Cancelled,
            Self::Stopped => Cause::ConnectionLost,
            Self::Gone => Cause::Internal(Sent::No),
            Self::Died => Cause::Internal(Sent::Maybe),
        }
    }
}
