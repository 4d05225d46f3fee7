//! Channel management as the SDKs send it.

use kubemq::proto::kubemq::{Request, Response};
use serde_json::Value;

use super::stand::{Stand, command, done, internal, query, refusal};

const CHANNEL: &str = "kubemq.cluster.internal.requests";

fn manage(verb: &str, tags: &[(&str, &str)]) -> Request {
    Request {
        metadata: verb.into(),
        body: vec![],
        timeout: 10_000,
        tags: tags.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        ..query(CHANNEL)
    }
}

async fn list(stand: &Stand, channel_type: &str) -> Vec<Value> {
    let request = manage("list-channels", &[("channel_type", channel_type), ("channel_search", "")]);
    let response = stand.ask(request).await.expect("an answer");
    assert_eq!((response.executed, response.error.as_str()), (true, ""));
    serde_json::from_slice(&response.body).expect("a JSON array")
}

#[tokio::test]
async fn channels_of_all_types_are_created_listed_and_deleted() {
    let stand = Stand::new().await;
    for channel_type in ["events", "events_store", "commands", "queries", "queues"] {
        let tags = [("channel_type", channel_type), ("channel", "orders"), ("client_id", "caller")];
        for (verb, names) in [("create-channel", 1), ("delete-channel", 0)] {
            let response = stand.ask(manage(verb, &tags)).await.expect("an answer");
            assert_eq!((response.executed, response.error.as_str()), (true, ""));
            assert_eq!(response.request_id, "request-1");
            assert_eq!(list(&stand, channel_type).await.len(), names);
        }
    }
}

#[tokio::test]
async fn traffic_lists_a_channel_with_its_numbers() {
    let stand = Stand::new().await;
    stand.serve(stand.commands("orders", "").await, done);
    stand.ask(command("orders")).await.expect("a reply");
    let lines = list(&stand, "commands").await;
    assert_eq!(lines.len(), 1);
    let line = &lines[0];
    assert_eq!(
        (&line["name"], &line["type"], &line["isActive"]),
        (&"orders".into(), &"commands".into(), &true.into())
    );
    assert!(line["lastActivity"].as_i64().expect("a number") > 1_700_000_000_000);
    let volume = "metadata".len() + "body".len();
    let numbers = serde_json::json!(
        {"messages": 1, "volume": volume, "responses": 1, "waiting": 0, "expired": 0, "delayed": 0}
    );
    assert_eq!((&line["incoming"], &line["outgoing"]), (&numbers, &numbers));
}

#[tokio::test]
async fn what_cannot_be_done_is_answered_and_not_a_status() {
    let stand = Stand::new().await;
    let wrong = [
        manage("create-channel", &[("channel_type", "topics"), ("channel", "a")]),
        manage("create-channel", &[("channel_type", "queues"), ("channel", "a b")]),
        manage("create-channel", &[("channel_type", "queues")]),
        manage("delete-channel", &[("channel_type", "queues"), ("channel", "unknown")]),
        manage("list-channels", &[]),
        manage("rename-channel", &[("channel_type", "queues"), ("channel", "a")]),
    ];
    for request in wrong {
        let Response { executed, error, .. } = stand.ask(request).await.expect("an answer");
        assert!(!executed && !error.is_empty());
    }
}

#[tokio::test]
async fn a_command_there_is_no_channel_management() {
    let stand = Stand::new().await;
    let outcome = stand.ask(Request { timeout: 50, ..command(CHANNEL) }).await;
    assert_eq!(refusal(outcome), internal("Error 301: timeout for request message"));
}
