//! Runs the handler for one request and sends what it says.

use std::panic::AssertUnwindSafe;
use std::time::{Duration, UNIX_EPOCH};

use futures_util::FutureExt;
use kubemq::proto::kubemq as proto;

use super::endpoint::Stub;
use super::responder::{Answer, Asked, Handler, Unfinished};
use crate::clock;
use crate::domain::{Kind, Tags};

/// How long the broker may take to accept an answer; the asker has given up long before.
const ACCEPT_PATIENCE: Duration = Duration::from_secs(10);

/// What answering needs; shared by all requests of one connection.
pub(super) struct Answering {
    pub stub: Stub,
    pub client_id: String,
    pub kind: Kind,
    pub handler: Handler,
}

impl Answering {
    /// Runs the handler for one request and answers it, unless that could only be untrue.
    pub(super) async fn answer(&self, request: proto::Request) {
        let (request_id, reply_channel) = (request.request_id.clone(), request.reply_channel.clone());
        let asked = self.asked(request);
        // Inside the block, so that a panic before the handler's first await is caught as well.
        let handled = AssertUnwindSafe(async { (self.handler)(asked).await }).catch_unwind().await;
        let answer = match (
            handled.unwrap_or_else(|_| Err(Unfinished("a bug, see its log".into()))),
            self.kind,
        ) {
            (Ok(answer), _) => answer,
            (Err(unfinished), Kind::Query) => Answer { error: unfinished.to_string(), ..Answer::default() },
            (Err(unfinished), Kind::Command) => {
                tracing::error!(request_id, error = %unfinished, "command left without an answer, its effect is unknown");
                return;
            }
        };
        let response = self.response(answer, request_id.clone(), reply_channel);
        let mut stub = self.stub.clone();
        let sent = tokio::time::timeout(ACCEPT_PATIENCE, stub.send_response(response)).await;
        match sent {
            Ok(Ok(_)) => {}
            Ok(Err(status)) => tracing::warn!(request_id, reason = status.message(), "answer not accepted"),
            Err(_) => tracing::warn!(request_id, "answer not accepted in time"),
        }
    }

    fn asked(&self, request: proto::Request) -> Asked {
        Asked {
            request_id: request.request_id,
            kind: self.kind,
            channel: request.channel,
            body: request.body,
            metadata: request.metadata,
            tags: Tags::from_iter(request.tags),
            client_id: request.client_id,
        }
    }

    fn response(&self, answer: Answer, request_id: String, reply_channel: String) -> proto::Response {
        let since_epoch = clock::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        proto::Response {
            client_id: self.client_id.clone(),
            request_id,
            reply_channel,
            metadata: answer.metadata,
            body: answer.body,
            // In nanoseconds, like the official client.
            timestamp: i64::try_from(since_epoch.as_nanos()).unwrap_or(i64::MAX),
            executed: answer.executed,
            error: answer.error,
            tags: answer.tags.into_iter().collect(),
            ..proto::Response::default()
        }
    }
}
