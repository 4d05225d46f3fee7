//! What the broker refuses before it does anything, in the real broker's order: the first failure wins.
//!
//! The checks are exactly as loose as the real ones (a tab in a channel passes a send), because a stand-in that is
//! stricter would hide mistakes until production, and one that is laxer would invent them.

use kubemq::proto::kubemq::request::RequestType;
use kubemq::proto::kubemq::subscribe::SubscribeType;
use kubemq::proto::kubemq::{Request, Response, Subscribe};

use super::fault::Fault;

/// The two kinds of requests. Each has its own namespace of channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Answered with "done" or "not done".
    Command,
    /// Answered with data, perhaps from the cache.
    Query,
}

/// What no channel of commands and queries may contain, neither to send nor to subscribe.
///
/// Community 2.4.0 accepted wildcards in subscriptions; the current server is said to reject them. The stand-in follows
/// the current one, so its routes match whole names only.
const WILDCARDS: [char; 2] = ['*', '>'];

/// White space in the eyes of the NATS client inside the real broker.
const NATS_WHITESPACE: [char; 4] = [' ', '\t', '\r', '\n'];

/// Tells which kind a request is. Comes first, even before a shutdown is reported.
///
/// # Errors
/// Anything but a command or a query.
pub fn request_kind(request: &Request) -> Result<Kind, Fault> {
    match request.request_type_data() {
        RequestType::Command => Ok(Kind::Command),
        RequestType::Query => Ok(Kind::Query),
        RequestType::Unknown => Err(Fault::RequestTypeInvalid),
    }
}

/// Checks a request that is to be sent.
///
/// # Errors
/// The first of the real broker's checks that fails.
pub fn request(request: &Request) -> Result<(), Fault> {
    client_id(&request.client_id)?;
    channel(&request.channel)?;
    if request.timeout <= 0 {
        return Err(Fault::TimeoutNotPositive);
    }
    if request.metadata.is_empty() && request.body.is_empty() {
        return Err(Fault::RequestEmpty);
    }
    if !request.cache_key.is_empty() && request.cache_ttl <= 0 {
        return Err(Fault::CacheTtlNotPositive);
    }
    Ok(())
}

/// Checks a response; what the responder says in it is its own affair.
///
/// # Errors
/// The first of the real broker's checks that fails.
pub fn response(response: &Response) -> Result<(), Fault> {
    client_id(&response.client_id)?;
    channel(&response.reply_channel)?;
    if response.request_id.is_empty() {
        return Err(Fault::RequestIdEmpty);
    }
    Ok(())
}

/// Tells what a subscription to requests is for. Comes first, even before a shutdown is reported.
///
/// # Errors
/// Anything but commands or queries.
pub fn subscription_kind(subscribe: &Subscribe) -> Result<Kind, Fault> {
    match subscribe.subscribe_type_data() {
        SubscribeType::Commands => Ok(Kind::Command),
        SubscribeType::Queries => Ok(Kind::Query),
        SubscribeType::Undefined | SubscribeType::Events | SubscribeType::EventsStore => {
            Err(Fault::SubscribeTypeInvalid)
        }
    }
}

/// Checks a subscription to requests: KubeMQ's own checks, then those of the NATS client inside it.
///
/// # Errors
/// The first of the real broker's checks that fails.
pub fn subscription(subscribe: &Subscribe) -> Result<(), Fault> {
    client_id(&subscribe.client_id)?;
    channel(&subscribe.channel)?;
    if subscribe.channel.split('.').any(str::is_empty) || subscribe.channel.contains(NATS_WHITESPACE) {
        return Err(Fault::SubjectInvalid);
    }
    if subscribe.group.contains(NATS_WHITESPACE) {
        return Err(Fault::GroupInvalid);
    }
    Ok(())
}

/// Checks the name of a channel that is to be created.
///
/// # Errors
/// A name that no request could be sent to.
pub fn channel_name(name: &str) -> Result<(), Fault> {
    channel(name)
}

fn client_id(client_id: &str) -> Result<(), Fault> {
    if client_id.is_empty() {
        return Err(Fault::ClientIdEmpty);
    }
    Ok(())
}

fn channel(channel: &str) -> Result<(), Fault> {
    if channel.is_empty() {
        return Err(Fault::ChannelEmpty);
    }
    if channel.ends_with('.') {
        return Err(Fault::ChannelEndsWithSeparator);
    }
    if channel.contains(' ') {
        return Err(Fault::ChannelWhitespace);
    }
    if channel.contains(WILDCARDS) {
        return Err(Fault::ChannelWildcard);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn valid() -> Request {
        Request {
            request_type_data: RequestType::Command.into(),
            client_id: "agent".into(),
            channel: "orders".into(),
            metadata: "m".into(),
            timeout: 1_000,
            ..Request::default()
        }
    }

    #[test]
    fn a_request_that_is_wrong_in_every_way_fails_in_the_order_of_the_real_broker() {
        let mut wrong = Request { cache_key: "key".into(), ..Request::default() };
        assert_eq!(request_kind(&wrong), Err(Fault::RequestTypeInvalid));
        assert_eq!(request(&wrong), Err(Fault::ClientIdEmpty));
        wrong.client_id = "agent".into();
        assert_eq!(request(&wrong), Err(Fault::ChannelEmpty));
        wrong.channel = "a *.".into();
        assert_eq!(request(&wrong), Err(Fault::ChannelEndsWithSeparator));
        wrong.channel = "a *".into();
        assert_eq!(request(&wrong), Err(Fault::ChannelWhitespace));
        wrong.channel = "a>".into();
        assert_eq!(request(&wrong), Err(Fault::ChannelWildcard));
        wrong.channel = "a".into();
        assert_eq!(request(&wrong), Err(Fault::TimeoutNotPositive));
        wrong.timeout = 1;
        assert_eq!(request(&wrong), Err(Fault::RequestEmpty));
        wrong.body = vec![0];
        assert_eq!(request(&wrong), Err(Fault::CacheTtlNotPositive));
        wrong.cache_ttl = 1;
        assert_eq!(request(&wrong), Ok(()));
    }

    #[test]
    fn tags_do_not_make_a_request_that_is_not_empty() {
        let tags = [("a".to_owned(), "b".to_owned())].into();
        assert_eq!(request(&Request { metadata: String::new(), tags, ..valid() }), Err(Fault::RequestEmpty));
    }

    #[test]
    fn a_send_is_looser_than_a_subscription_about_empty_tokens_and_tabs() {
        for channel in [".orders", "orders..eu", "orders\teu"] {
            assert_eq!(request(&Request { channel: channel.into(), ..valid() }), Ok(()));
            let subscribe =
                Subscribe { client_id: "a".into(), channel: channel.into(), ..Subscribe::default() };
            assert_eq!(subscription(&subscribe), Err(Fault::SubjectInvalid));
        }
    }

    proptest! {
        #[test]
        fn what_can_be_subscribed_to_can_be_sent_to(channel in "[a-b.*> \t]{0,6}") {
            let subscribe = Subscribe { client_id: "a".into(), channel: channel.clone(), ..Subscribe::default() };
            if subscription(&subscribe).is_ok() {
                prop_assert_eq!(request(&Request { channel, ..valid() }), Ok(()));
            }
        }
    }
}
