//! What a caller gets of what a responder sent.
//!
//! Request id and timestamp pass untouched, wrong or not: the real broker compares and interprets neither.

use kubemq::proto::kubemq::Response;

use super::validation::Kind;

/// Strips a reply of what does not travel: of a command nearly everything, of a query the reply channel.
pub fn for_caller(kind: Kind, response: Response) -> Response {
    match kind {
        Kind::Command => Response {
            reply_channel: String::new(),
            metadata: String::new(),
            body: Vec::new(),
            cache_hit: false,
            ..response
        },
        Kind::Query => Response { reply_channel: String::new(), ..response },
    }
}

/// Gives a cached reply to another request.
pub fn from_cache(cached: &Response, request_id: &str) -> Response {
    Response { request_id: request_id.to_owned(), cache_hit: true, ..cached.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> Response {
        Response {
            client_id: "responder".into(),
            request_id: "r".into(),
            reply_channel: "_INBOX.a.b".into(),
            metadata: "m".into(),
            body: b"b".to_vec(),
            cache_hit: true,
            timestamp: 7,
            executed: true,
            error: "e".into(),
            span: b"s".to_vec(),
            tags: [("t".to_owned(), "v".to_owned())].into(),
        }
    }

    #[test]
    fn a_command_reply_keeps_its_tags_but_loses_body_metadata_and_cache_hit() {
        let expected = Response {
            reply_channel: String::new(),
            metadata: String::new(),
            body: Vec::new(),
            cache_hit: false,
            ..full()
        };
        assert_eq!(for_caller(Kind::Command, full()), expected);
    }

    #[test]
    fn a_query_reply_loses_only_its_reply_channel() {
        assert_eq!(for_caller(Kind::Query, full()), Response { reply_channel: String::new(), ..full() });
    }

    #[test]
    fn a_cached_reply_takes_the_id_of_the_new_request() {
        let cached = Response { cache_hit: false, ..full() };
        assert_eq!(from_cache(&cached, "new"), Response { request_id: "new".into(), ..full() });
    }
}
