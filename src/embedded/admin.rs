//! Channel management: queries to a channel of the broker's own, which never reach a responder.
//!
//! Success is `Executed` and no `Error`, failure the contrary, both always consistent: some SDKs look at the one and
//! some at the other.

use std::collections::HashMap;

use kubemq::proto::kubemq::{Request, Response};
use regex::{Regex, RegexBuilder};

use super::directory::{ChannelType, Directory, UnixMilliseconds, Unlisted};
use super::listing;
use super::validation::{self, Kind};

/// Where the SDKs send their channel management to.
const CHANNEL: &str = "kubemq.cluster.internal.requests";

/// Who answers there.
const CLIENT_ID: &str = "embedded-broker";

/// What a compiled search pattern may weigh, in bytes: enough for any sane one.
const SEARCH_BYTES_MAX: usize = 1 << 20;

/// Why a channel management request failed; the text goes into the answer's `Error`.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("unknown operation `{0}`, should be create-channel, delete-channel or list-channels")]
    Verb(String),
    #[error("invalid channel type `{0}`, should be events, events_store, commands, queries or queues")]
    ChannelType(String),
    #[error(transparent)]
    Name(#[from] super::fault::Fault),
    #[error("channel `{name}` of type `{channel_type}` not found")]
    Missing { name: String, channel_type: String },
    #[error(transparent)]
    Unlisted(#[from] Unlisted),
    #[error("invalid channel search, {0}")]
    Search(#[from] regex::Error),
}

/// Whether a request is channel management.
pub fn concerns(kind: Kind, request: &Request) -> bool {
    kind == Kind::Query && request.channel == CHANNEL
}

/// Does what a channel management request asks for.
pub fn answer(request: &Request, directory: &mut Directory, now: UnixMilliseconds) -> Response {
    let (body, error) = match perform(&request.metadata, &request.tags, directory, now) {
        Ok(body) => (body, String::new()),
        Err(failure) => (Vec::new(), failure.to_string()),
    };
    Response {
        client_id: CLIENT_ID.into(),
        request_id: request.request_id.clone(),
        timestamp: now.0,
        executed: error.is_empty(),
        error,
        body,
        ..Response::default()
    }
}

fn perform(
    verb: &str,
    tags: &HashMap<String, String>,
    directory: &mut Directory,
    now: UnixMilliseconds,
) -> Result<Vec<u8>, Failure> {
    let tag = |name: &str| tags.get(name).map(String::as_str).unwrap_or_default();
    let channel_type = || {
        ChannelType::parse(tag("channel_type"))
            .ok_or_else(|| Failure::ChannelType(tag("channel_type").into()))
    };
    match verb {
        "create-channel" => create(directory, channel_type()?, tag("channel"), now),
        "delete-channel" => {
            validation::channel_name(tag("channel"))?;
            if !directory.forget(channel_type()?, tag("channel")) {
                return Err(Failure::Missing {
                    name: tag("channel").into(),
                    channel_type: tag("channel_type").into(),
                });
            }
            Ok(Vec::new())
        }
        "list-channels" => {
            Ok(listing::json(directory, channel_type()?, &search(tag("channel_search"))?, now))
        }
        unknown => Err(Failure::Verb(unknown.into())),
    }
}

fn create(
    directory: &mut Directory,
    channel_type: ChannelType,
    name: &str,
    now: UnixMilliseconds,
) -> Result<Vec<u8>, Failure> {
    validation::channel_name(name)?;
    directory.touch(channel_type, name, now)?;
    Ok(Vec::new())
}

fn search(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).size_limit(SEARCH_BYTES_MAX).build()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMilliseconds = UnixMilliseconds(1);

    fn ask(directory: &mut Directory, verb: &str, tags: &[(&str, &str)]) -> Result<Vec<u8>, String> {
        let tags = tags.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let request = Request { metadata: verb.into(), tags, request_id: "r".into(), ..Request::default() };
        let response = answer(&request, directory, NOW);
        assert_eq!(response.request_id, "r");
        assert_eq!(response.executed, response.error.is_empty());
        if response.executed { Ok(response.body) } else { Err(response.error) }
    }

    fn names(body: &[u8]) -> Vec<String> {
        let lines: Vec<serde_json::Value> = serde_json::from_slice(body).expect("JSON");
        lines.iter().map(|line| line["name"].as_str().expect("a name").to_owned()).collect()
    }

    #[test]
    fn a_created_channel_is_listed_until_it_is_deleted() {
        let directory = &mut Directory::new(10);
        for name in ["orders.eu", "orders.us", "stock"] {
            ask(directory, "create-channel", &[("channel_type", "queues"), ("channel", name)])
                .expect("created");
        }
        ask(directory, "delete-channel", &[("channel_type", "queues"), ("channel", "orders.us")])
            .expect("deleted");
        let all = ask(directory, "list-channels", &[("channel_type", "queues")]).expect("listed");
        assert_eq!(names(&all), ["orders.eu", "stock"]);
        let some = ask(
            directory,
            "list-channels",
            &[("channel_type", "queues"), ("channel_search", r"(?i)^O\w+.*u$")],
        );
        assert_eq!(names(&some.expect("listed")), ["orders.eu"]);
        assert_eq!(ask(directory, "list-channels", &[("channel_type", "events")]), Ok(b"[]".to_vec()));
    }

    #[test]
    fn what_cannot_be_done_says_why() {
        let directory = &mut Directory::new(1);
        let mut error =
            |verb, tags: &[(&str, &str)]| ask(directory, verb, tags).expect_err("it cannot be done");
        assert_eq!(
            error("create-channel", &[("channel_type", "topics"), ("channel", "a")]),
            "invalid channel type `topics`, should be events, events_store, commands, queries or queues"
        );
        assert_eq!(
            error("create-channel", &[("channel_type", "queues")]),
            "Error 102: invalid channel value, cannot be empty"
        );
        assert_eq!(
            error("delete-channel", &[("channel_type", "queues"), ("channel", "a")]),
            "channel `a` of type `queues` not found"
        );
        assert!(
            error("list-channels", &[("channel_type", "queues"), ("channel_search", "(")])
                .starts_with("invalid channel search, ")
        );
        assert!(error("drop-channel", &[]).starts_with("unknown operation `drop-channel`"));
        ask(directory, "create-channel", &[("channel_type", "queues"), ("channel", "a")]).expect("room");
        assert_eq!(
            ask(directory, "create-channel", &[("channel_type", "queues"), ("channel", "b")]),
            Err("too many channels".into())
        );
    }
}
