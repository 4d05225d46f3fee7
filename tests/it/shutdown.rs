//! Stopping: what is in flight ends, what does not end in time is told as unknown, nothing new is taken.

use std::time::Duration;

use serde_json::json;

use crate::harness::agent::Agent;
use crate::harness::connector::Connector;
use crate::harness::event::{wait_for, within};
use crate::harness::scripted::Scripted;
use kubemq_mcp::app::{App, Demo, Face, Options};
use kubemq_mcp::config::Config;
use tempfile::TempDir;

async fn app(broker: &Scripted, store: &TempDir) -> App {
    let mut config = Config::default();
    config.store.path = store.path().join("data");
    config.server.listen.set_port(0);
    config.broker.address = broker.address.to_string();
    App::start(config, Options { face: Face::Http, demo: Demo::Absent }).await.expect("it starts")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_flight_may_end_and_nothing_new_is_taken() {
    let broker = Scripted::start();
    let store = tempfile::tempdir().expect("a temporary directory");
    let app = app(&broker, &store).await;
    let agent = Agent::new(&app.url().expect("it listens"));
    let mut arrived = broker.state.arrived.subscribe();
    let asking = {
        let agent = agent.clone();
        tokio::spawn(
            async move { agent.call("command_send", json!({ "channel": "hold", "body": "b" })).await },
        )
    };
    wait_for(&mut arrived, "the command is at the broker", |count| *count == 1).await;
    let stopping = tokio::spawn(app.stop(Some(Duration::from_secs(10))));
    let refused = async {
        // The listener goes first; until it has gone a call may still be taken.
        loop {
            let call = Agent::new(agent.url());
            if call.try_call(crate::harness::agent::Era::Plain, "query_send", json!({})).await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    within("new connections are refused", refused).await;
    broker.release();
    let answer = within("the answer of what was in flight", asking).await.expect("no panic");
    assert_eq!(answer.structured()["outcome"], "executed");
    within("the end", stopping).await.expect("no panic");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_end_in_time_is_told_as_unknown() {
    let broker = Scripted::start();
    let store = tempfile::tempdir().expect("a temporary directory");
    let app = app(&broker, &store).await;
    let agent = Agent::new(&app.url().expect("it listens"));
    let mut arrived = broker.state.arrived.subscribe();
    let asking =
        tokio::spawn(
            async move { agent.call("command_send", json!({ "channel": "silent", "body": "b" })).await },
        );
    wait_for(&mut arrived, "the command is at the broker", |count| *count == 1).await;
    within("the end", app.stop(Some(Duration::from_millis(50)))).await;
    let answer = within("an answer", asking).await.expect("no panic");
    assert_eq!(answer.structured()["outcome"], "unknown", "{answer:?}");
    assert!(answer.text(0).contains("the connector stopped"), "{}", answer.text(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_port_is_named_with_what_to_do() {
    let taken = Connector::start().await;
    let store = tempfile::tempdir().expect("a temporary directory");
    let mut config = Config::default();
    config.store.path = store.path().join("data");
    config.server.listen = taken.app().address().expect("it listens");
    config.embedded.listen.set_port(0);
    let options = Options { face: Face::Http, demo: Demo::Absent };
    let error = App::start(config, options).await.err().expect("the port is taken").to_string();
    assert!(
        error.contains("--listen") && error.contains(&taken.app().address().expect("it").port().to_string()),
        "{error}"
    );

    let mut config = Config::default();
    config.store.path = store.path().join("data");
    config.server.listen.set_port(0);
    config.embedded.listen = taken.app().embedded().expect("embedded").address();
    let error = App::start(config, options).await.err().expect("the port is taken").to_string();
    assert!(error.contains("--broker"), "{error}");
    taken.stop().await;
}
