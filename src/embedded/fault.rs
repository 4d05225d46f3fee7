//! The broker's own refusals, to the letter of the real one.
//!
//! Every one travels as gRPC status INTERNAL with its text as message: clients tell them apart by the
//! `Error NNN:` prefix and by nothing else, so these texts are a wire format.

use tonic::Status;

/// A refusal of a request, a response or a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// No client id.
    #[error("Error 101: invalid clientID value, cannot be empty")]
    ClientIdEmpty,
    /// No channel; for a response, no reply channel.
    #[error("Error 102: invalid channel value, cannot be empty")]
    ChannelEmpty,
    /// `*` or `>` in a channel.
    #[error("Error 107: invalid channel value, no wildcards are allowed")]
    ChannelWildcard,
    /// A space in a channel.
    #[error("Error 108: invalid channel value, no white spaces are allowed")]
    ChannelWhitespace,
    /// A timeout that no reply could meet.
    #[error("Error 109: invalid set timeout value, cannot be 0 or negative")]
    TimeoutNotPositive,
    /// Neither metadata nor body.
    #[error("Error 115: invalid request, cannot be empty")]
    RequestEmpty,
    /// A cache key without a time to live.
    #[error("Error 116: invalid cache ttl value, cannot be 0 or negative")]
    CacheTtlNotPositive,
    /// A response to nothing.
    #[error("Error 117: invalid request id, cannot be empty")]
    RequestIdEmpty,
    /// A channel that ends with a separator.
    #[error("Error 119: invalid channel value, cannot end with `.`")]
    ChannelEndsWithSeparator,
    /// Neither a command nor a query.
    #[error("Error 206: invalid request type")]
    RequestTypeInvalid,
    /// A subscription to neither commands nor queries.
    #[error("Error 207: invalid subscribe type")]
    SubscribeTypeInvalid,
    /// Nobody answered in time, or the broker is overloaded: from outside these are the same.
    #[error("Error 301: timeout for request message")]
    RequestTimeout,
    /// The broker is about to end.
    #[error("Error 409: server is in shutdown mode")]
    ShuttingDown,
    /// A subscription to a channel with an empty token; the text is the inner NATS client's.
    #[error("nats: invalid subject")]
    SubjectInvalid,
    /// A group with white space in it; the text is the inner NATS client's.
    #[error("nats: invalid queue name")]
    GroupInvalid,
    /// More subscriptions than the broker holds; each is one connection of the inner NATS.
    #[error("nats: maximum connections exceeded")]
    SubscriptionsExhausted,
}

impl From<Fault> for Status {
    fn from(fault: Fault) -> Self {
        Self::internal(fault.to_string())
    }
}

#[cfg(test)]
mod tests {
    use tonic::Code;

    use super::*;

    #[test]
    fn every_refusal_is_internal_with_its_text() {
        let status = Status::from(Fault::RequestTimeout);
        assert_eq!(status.code(), Code::Internal);
        assert_eq!(status.message(), "Error 301: timeout for request message");
    }
}
