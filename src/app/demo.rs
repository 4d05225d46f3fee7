//! The two responders of `--demo`: they answer the published examples.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use crate::broker::{self, Address, Answer, Asked, IN_FLIGHT_MAX, Responder, Subscription};
use crate::domain::{Channel, Kind};

/// The channel that takes commands.
const COMMANDS: &str = "example-commands";
/// The channel that answers queries.
const QUERIES: &str = "example-queries";
/// The payload that the published example shows.
const QUERY_ANSWER: &str = r#"{"data":"query response payload from subscriber"}"#;

/// How long the start waits for the two to be subscribed. A broker that is down must not hold it up: they subscribe as
/// soon as it is found.
const READY_PATIENCE: Duration = Duration::from_secs(3);

/// Starts both, and gives them some time to subscribe.
pub async fn responders(
    config: &broker::Config,
    addresses: &[Address],
) -> Result<Vec<Responder>, broker::ConfigError> {
    let mut responders = Vec::new();
    for (kind, name) in [(Kind::Command, COMMANDS), (Kind::Query, QUERIES)] {
        let mut config = config.clone();
        config.client_id = format!("{}-demo", config.client_id);
        let subscription = Subscription {
            kind,
            channel: Channel::parse(name).expect("a fixed name is valid"),
            group: "demo".into(),
            in_flight_max: IN_FLIGHT_MAX,
        };
        let handler = Arc::new(|asked| std::future::ready(Ok(answer(&asked))).boxed());
        let responder = Responder::start(&config, addresses.to_vec(), subscription, handler)?;
        responders.push(responder);
    }
    let all_ready = futures_util::future::join_all(responders.iter().map(Responder::ready));
    if tokio::time::timeout(READY_PATIENCE, all_ready).await.is_err() {
        tracing::warn!("the responders of the demo are not subscribed yet, the broker is not there");
    }
    Ok(responders)
}

fn answer(asked: &Asked) -> Answer {
    let body = match asked.kind {
        Kind::Command => Vec::new(),
        Kind::Query => QUERY_ANSWER.into(),
    };
    Answer { executed: true, body, ..Answer::default() }
}
