//! Everything the broker refuses, with the code and the text of the real one.

use futures_util::stream;
use kubemq::proto::kubemq::subscribe::SubscribeType;
use kubemq::proto::kubemq::{
    AckAllQueueMessagesRequest, Event, QueueMessage, QueueMessagesBatchRequest, ReceiveQueueMessagesRequest,
    Request, Response, Subscribe,
};
use kubemq_mcp::embedded::{Config, EmbeddedBroker, StartError};
use tonic::Code;

use super::stand::{Stand, command, done, internal, query, refusal, subscription, within};

#[tokio::test]
async fn a_wrong_request_gets_the_text_of_the_real_broker() {
    let stand = Stand::new().await;
    let good = || command("orders");
    let wrong = [
        (Request { request_type_data: 0, ..good() }, "Error 206: invalid request type"),
        (Request { request_type_data: 9, ..good() }, "Error 206: invalid request type"),
        (Request { client_id: "".into(), ..good() }, "Error 101: invalid clientID value, cannot be empty"),
        (Request { channel: "".into(), ..good() }, "Error 102: invalid channel value, cannot be empty"),
        (Request { channel: "a.".into(), ..good() }, "Error 119: invalid channel value, cannot end with `.`"),
        (
            Request { channel: "a b".into(), ..good() },
            "Error 108: invalid channel value, no white spaces are allowed",
        ),
        (
            Request { channel: "a.*".into(), ..good() },
            "Error 107: invalid channel value, no wildcards are allowed",
        ),
        (
            Request { channel: "a.>".into(), ..good() },
            "Error 107: invalid channel value, no wildcards are allowed",
        ),
        (Request { timeout: 0, ..good() }, "Error 109: invalid set timeout value, cannot be 0 or negative"),
        (Request { timeout: -1, ..good() }, "Error 109: invalid set timeout value, cannot be 0 or negative"),
        (
            Request { metadata: "".into(), body: vec![], ..good() },
            "Error 115: invalid request, cannot be empty",
        ),
        (
            Request { cache_key: "key".into(), ..good() },
            "Error 116: invalid cache ttl value, cannot be 0 or negative",
        ),
        (
            Request { cache_key: "key".into(), cache_ttl: -1, ..query("orders") },
            "Error 116: invalid cache ttl value, cannot be 0 or negative",
        ),
    ];
    for (request, text) in wrong {
        assert_eq!(refusal(stand.ask(request).await), internal(text));
    }
    assert_eq!(stand.broker.figures().requests_total, 0);
}

#[tokio::test]
async fn a_wrong_response_gets_the_text_of_the_real_broker() {
    let stand = Stand::new().await;
    let good = || done(&Request { reply_channel: "_INBOX.a.b".into(), ..command("orders") });
    let wrong = [
        (Response { client_id: "".into(), ..good() }, "Error 101: invalid clientID value, cannot be empty"),
        (
            Response { reply_channel: "".into(), ..good() },
            "Error 102: invalid channel value, cannot be empty",
        ),
        (
            Response { reply_channel: "a.".into(), ..good() },
            "Error 119: invalid channel value, cannot end with `.`",
        ),
        (
            Response { reply_channel: "a b".into(), ..good() },
            "Error 108: invalid channel value, no white spaces are allowed",
        ),
        (
            Response { reply_channel: "a*".into(), ..good() },
            "Error 107: invalid channel value, no wildcards are allowed",
        ),
        (Response { request_id: "".into(), ..good() }, "Error 117: invalid request id, cannot be empty"),
    ];
    for (response, text) in wrong {
        assert_eq!(refusal(stand.respond(response).await), internal(text));
    }
}

#[tokio::test]
async fn a_wrong_subscription_gets_the_text_of_the_real_broker() {
    let stand = Stand::new().await;
    let good = || subscription(SubscribeType::Commands, "orders", "");
    let of_type =
        |subscribe_type: SubscribeType| Subscribe { subscribe_type_data: subscribe_type.into(), ..good() };
    let channel = |channel: &str| Subscribe { channel: channel.into(), ..good() };
    let wrong = [
        (of_type(SubscribeType::Undefined), "Error 207: invalid subscribe type"),
        (of_type(SubscribeType::Events), "Error 207: invalid subscribe type"),
        (of_type(SubscribeType::EventsStore), "Error 207: invalid subscribe type"),
        (Subscribe { client_id: "".into(), ..good() }, "Error 101: invalid clientID value, cannot be empty"),
        (channel(""), "Error 102: invalid channel value, cannot be empty"),
        (channel("a."), "Error 119: invalid channel value, cannot end with `.`"),
        (channel("a b"), "Error 108: invalid channel value, no white spaces are allowed"),
        (channel("a.*"), "Error 107: invalid channel value, no wildcards are allowed"),
        (channel(">"), "Error 107: invalid channel value, no wildcards are allowed"),
        (channel(".a"), "nats: invalid subject"),
        (channel("a..b"), "nats: invalid subject"),
        (Subscribe { group: "g h".into(), ..good() }, "nats: invalid queue name"),
    ];
    for (subscribe, text) in wrong {
        assert_eq!(refusal(stand.subscribe(subscribe).await), internal(text));
    }
    assert_eq!(stand.broker.figures().subscriptions, 0);
}

#[tokio::test]
async fn what_is_not_built_yet_says_so_by_name() {
    let stand = Stand::new().await;
    let mut client = stand.client.clone();
    let answers = [
        ("SendEvent", refusal(client.send_event(Event::default()).await)),
        ("SendEventsStream", refusal(client.send_events_stream(stream::empty()).await)),
        ("SubscribeToEvents", refusal(client.subscribe_to_events(Subscribe::default()).await)),
        ("SendQueueMessage", refusal(client.send_queue_message(QueueMessage::default()).await)),
        (
            "SendQueueMessagesBatch",
            refusal(client.send_queue_messages_batch(QueueMessagesBatchRequest::default()).await),
        ),
        (
            "ReceiveQueueMessages",
            refusal(client.receive_queue_messages(ReceiveQueueMessagesRequest::default()).await),
        ),
        ("StreamQueueMessage", refusal(client.stream_queue_message(stream::empty()).await)),
        (
            "AckAllQueueMessages",
            refusal(client.ack_all_queue_messages(AckAllQueueMessagesRequest::default()).await),
        ),
        ("QueuesDownstream", refusal(client.queues_downstream(stream::empty()).await)),
        ("QueuesUpstream", refusal(client.queues_upstream(stream::empty()).await)),
    ];
    for (call, answer) in answers {
        let text = format!("{call} is not built into the embedded broker yet");
        assert_eq!(answer, (Code::Unimplemented, text));
    }
}

#[tokio::test]
async fn a_message_over_the_limit_is_refused_as_grpc_go_does_and_one_at_the_limit_travels() {
    let stand = Stand::with(Config { message_bytes_max: 1_000, ..Config::default() }).await;
    stand.serve(stand.commands("orders", "").await, |request| Response { body: vec![], ..done(request) });
    let sized = |bytes: usize| Request { body: vec![0; bytes], ..command("orders") };
    let envelope = length_on_the_wire(sized(500)).await - 500;
    let (code, text) = refusal(stand.ask(sized(1_001 - envelope)).await);
    assert_eq!(code, Code::ResourceExhausted);
    assert_eq!(text, "grpc: received message larger than max (1001 vs. 1000)");
    assert!(stand.ask(sized(1_000 - envelope)).await.expect("a reply").executed);
}

/// How long a message is on the wire: learned from a broker that takes nothing.
async fn length_on_the_wire(request: Request) -> usize {
    let strict = Stand::with(Config { message_bytes_max: 1, ..Config::default() }).await;
    let (_, text) = refusal(strict.ask(request).await);
    let number = text.split_once('(').and_then(|(_, rest)| rest.split_once(' ')).expect("the length").0;
    number.parse().expect("a number")
}

#[tokio::test]
async fn one_subscription_too_many_is_refused_until_another_ends() {
    let stand = Stand::with(Config { subscriptions_max: 1, ..Config::default() }).await;
    let first = stand.commands("orders", "").await;
    let second = stand.subscribe(subscription(SubscribeType::Queries, "stock", "")).await;
    assert_eq!(refusal(second), internal("nats: maximum connections exceeded"));
    drop(first);
    within(stand.broker.until(|figures| figures.subscriptions == 0)).await;
    stand.queries("stock", "").await;
}

#[tokio::test]
async fn one_request_too_many_is_a_timeout_at_once() {
    let stand = Stand::with(Config { requests_pending_max: 1, ..Config::default() }).await;
    let client = stand.client.clone();
    let first = tokio::spawn(async move { client.clone().send_request(command("nobody")).await });
    within(stand.broker.until(|figures| figures.requests_waiting == 1)).await;
    let second = stand.ask(command("nobody")).await;
    assert_eq!(refusal(second), internal("Error 301: timeout for request message"));
    first.abort();
}

#[tokio::test]
async fn a_busy_port_is_named_with_the_way_out() {
    let stand = Stand::new().await;
    let listen = stand.broker.address();
    let error = EmbeddedBroker::start(Config { listen, ..Config::default() }).await.expect_err("it is busy");
    assert!(matches!(error, StartError::PortBusy { address } if address == listen));
    let text = error.to_string();
    assert!(text.contains(&listen.to_string()) && text.contains("--broker"), "{text}");
}

#[tokio::test]
async fn an_address_of_another_machine_is_not_called_busy() {
    let listen = ([192, 0, 2, 1], 0).into();
    let error = EmbeddedBroker::start(Config { listen, ..Config::default() }).await.expect_err("not ours");
    assert!(matches!(error, StartError::Bind { address, .. } if address == listen), "{error:?}");
}
