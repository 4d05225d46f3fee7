//! The official Rust SDK against the embedded broker.

use std::time::Duration;

use kubemq::{Command, CommandReply, KubemqClient, Query, QueryReply};

use super::stand::{Stand, within};

async fn sdk(stand: &Stand) -> KubemqClient {
    let address = stand.broker.address();
    within(
        KubemqClient::builder().host(address.ip().to_string()).port(address.port()).client_id("sdk").build(),
    )
    .await
    .expect("a client")
}

#[tokio::test]
async fn the_official_client_sends_and_answers_commands_and_queries() {
    let stand = Stand::new().await;
    let client = sdk(&stand).await;
    let replier = client.clone();
    let commands = client
        .subscribe_to_commands(
            "orders",
            "g",
            move |command| {
                let client = replier.clone();
                Box::pin(async move {
                    let reply = CommandReply::builder()
                        .request_id(command.id.clone())
                        .response_to(command.response_to.clone())
                        .build();
                    client.send_command_response(reply).await.expect("accepted");
                })
            },
            None,
        )
        .await
        .expect("a subscription");
    within(stand.broker.until(|figures| figures.subscriptions == 1)).await;
    let command =
        Command::builder().channel("orders").body(b"1".to_vec()).timeout(Duration::from_secs(10)).build();
    assert!(within(client.send_command(command)).await.expect("a reply").executed);
    within(commands.unsubscribe()).await;
    within(stand.broker.until(|figures| figures.subscriptions == 0)).await;

    let replier = client.clone();
    let _queries = client
        .subscribe_to_queries(
            "orders",
            "",
            move |query| {
                let client = replier.clone();
                Box::pin(async move {
                    let reply = QueryReply::builder()
                        .request_id(query.id.clone())
                        .response_to(query.response_to.clone())
                        .body(b"answer".to_vec())
                        .build();
                    client.send_query_response(reply).await.expect("accepted");
                })
            },
            None,
        )
        .await
        .expect("a subscription");
    within(stand.broker.until(|figures| figures.subscriptions == 1)).await;
    let query =
        Query::builder().channel("orders").body(b"1".to_vec()).timeout(Duration::from_secs(10)).build();
    assert_eq!(within(client.send_query(query)).await.expect("a reply").body, b"answer");
}

#[tokio::test]
async fn the_official_client_manages_channels_and_pings() {
    let stand = Stand::new().await;
    let client = sdk(&stand).await;
    assert_eq!(client.ping().await.expect("a pong").host, "embedded");
    client.create_channel("orders", "queues").await.expect("created");
    let channels = client.list_channels("queues", "ord").await.expect("listed");
    assert_eq!(channels.len(), 1);
    assert_eq!((channels[0].name.as_str(), channels[0].channel_type.as_str()), ("orders", "queues"));
    client.delete_channel("orders", "queues").await.expect("deleted");
    assert!(client.list_channels("queues", "").await.expect("listed").is_empty());
    client.delete_channel("orders", "queues").await.expect_err("it is gone");
}
