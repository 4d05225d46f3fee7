//! The body of a `list-channels` answer: a JSON array in the shape that the SDKs of all languages can read.

use regex::Regex;
use serde::Serialize;

use super::directory::{ChannelType, Directory, Record, Traffic, UnixMilliseconds};

/// A channel counts as active for this long after its last activity, in milliseconds.
const ACTIVE_MILLISECONDS: i64 = 300_000;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    channel_type: ChannelType,
    last_activity: UnixMilliseconds,
    is_active: bool,
    incoming: Traffic,
    outgoing: Traffic,
}

impl<'a> Line<'a> {
    fn new(channel_type: ChannelType, name: &'a str, record: &Record, now: UnixMilliseconds) -> Self {
        Self {
            name,
            channel_type,
            last_activity: record.last_activity,
            is_active: now.0 - record.last_activity.0 < ACTIVE_MILLISECONDS,
            incoming: record.incoming,
            outgoing: record.outgoing,
        }
    }
}

/// Lists the channels of one type whose name matches; without any it is `[]`, never empty.
pub fn json(
    directory: &Directory,
    channel_type: ChannelType,
    search: &Regex,
    now: UnixMilliseconds,
) -> Vec<u8> {
    let lines: Vec<Line> = directory
        .of_type(channel_type)
        .filter(|(name, _)| search.is_match(name))
        .map(|(name, record)| Line::new(channel_type, name, record, now))
        .collect();
    serde_json::to_vec(&lines).expect("texts and numbers are always JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_every_number_in_both_directions() {
        let mut directory = Directory::new(10);
        let record = directory.touch(ChannelType::EventsStore, "a.b", UnixMilliseconds(5)).expect("room");
        record.outgoing.messages = 3;
        let everything = Regex::new("").expect("a pattern");
        let body = json(
            &directory,
            ChannelType::EventsStore,
            &everything,
            UnixMilliseconds(5 + ACTIVE_MILLISECONDS),
        );
        let none = serde_json::json!(
            {"messages": 0, "volume": 0, "responses": 0, "waiting": 0, "expired": 0, "delayed": 0}
        );
        let mut some = none.clone();
        some["messages"] = 3.into();
        let expected = serde_json::json!([{
            "name": "a.b", "type": "events_store", "lastActivity": 5, "isActive": false, "incoming": none, "outgoing": some,
        }]);
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&body).expect("JSON"), expected);
        assert_eq!(json(&directory, ChannelType::Queues, &everything, UnixMilliseconds(5)), b"[]");
    }
}
