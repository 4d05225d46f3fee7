//! A broker that goes away and comes back: each call gets one answer, and calls succeed again at once.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::harness::agent::{Agent, Answer};
use crate::harness::connector::Connector;
use crate::harness::event::{wait_for, within};
use crate::harness::scripted::Scripted;

const IN_FLIGHT: usize = 200;

async fn command(agent: &Agent, channel: &str) -> Answer {
    agent.call("command_send", json!({ "channel": channel, "body": "b", "timeout_seconds": 20 })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_calls_in_flight_each_get_one_answer_and_the_return_is_seen_within_a_second() {
    let broker = Scripted::start();
    let connector = Connector::in_front_of(broker.address).await;
    let agent = Agent::multiplexed(&connector.url());
    let mut arrived = broker.state.arrived.subscribe();
    let asking: Vec<_> = (0..IN_FLIGHT)
        .map(|_| {
            let agent = agent.clone();
            tokio::spawn(async move { command(&agent, "hold").await })
        })
        .collect();
    wait_for(&mut arrived, "all calls are at the broker", |count| *count == IN_FLIGHT).await;
    let address = broker.kill();
    let mut answers = 0;
    for answer in asking {
        let answer = within("an answer", answer).await.expect("no panic");
        assert_eq!(answer.structured()["cause"], "connection_lost", "{answer:?}");
        assert_eq!(answer.structured()["executed"], serde_json::Value::Null);
        answers += 1;
    }
    assert_eq!((answers, connector.app().requests_pending()), (IN_FLIGHT, 0));
    let down = command(&agent, "echo").await;
    assert_eq!(down.structured()["cause"], "broker_unavailable", "{down:?}");

    let _broker = Scripted::start_at(address, None);
    let back = Instant::now();
    let until = async { while command(&agent, "echo").await.is_error() {} };
    within("a call succeeds again", until).await;
    let elapsed = back.elapsed();
    assert!(elapsed < Duration::from_secs(1), "{elapsed:?}");
    let until = async {
        while agent.get("/readyz").await.0 != 200 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    within("ready again", until).await;
    connector.stop().await;
}
