//! The operator's endpoints: beside `/mcp`, or at an address of their own.

use serde_json::{Value, json};

use crate::harness::agent::Agent;
use crate::harness::connector::Connector;

#[tokio::test(flavor = "multi_thread")]
async fn a_ready_connector_says_so_and_that_its_broker_keeps_nothing() {
    let connector = Connector::start().await;
    let agent = connector.agent();
    assert_eq!(agent.get("/healthz").await, (200, "ok\n".to_owned()));
    let until_up = async {
        loop {
            let (status, text) = agent.get("/readyz").await;
            if status == 200 {
                return serde_json::from_str::<Value>(&text).expect("JSON");
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    let ready = crate::harness::event::within("ready", until_up).await;
    assert_eq!(
        (&ready["ready"], &ready["broker_up"], &ready["actors_answer"]),
        (&json!(true), &json!(true), &json!(true))
    );
    assert!(
        ready["note"]
            .as_str()
            .is_some_and(|note| note.contains("development") && note.contains("keeps nothing"))
    );
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_of_their_own_takes_health_and_metrics_away_from_agents() {
    let connector = Connector::with(|config| config.admin.listen = Some(([127, 0, 0, 1], 0).into())).await;
    let admin = connector.app().admin_address().expect("it listens");
    let operator = Agent::new(&format!("http://{admin}/mcp"));
    for path in ["/healthz", "/metrics"] {
        assert_eq!(operator.get(path).await.0, 200, "{path}");
        assert_eq!(connector.agent().get(path).await.0, 404, "{path}");
    }
    assert_eq!(operator.get("/mcp").await.0, 404, "agents have no business there");
    // A scraper comes by address, whatever that is called.
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let scrape =
        client.get(format!("http://{admin}/metrics")).header("host", "10-0-0-7.pod.example").send().await;
    assert_eq!(scrape.expect("an answer").status(), 200);
    connector.stop().await;
}
