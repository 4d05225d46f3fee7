//! Responders: answers that arrive, and subscriptions that come back.

use std::sync::Arc;

use kubemq_mcp::broker::{Address, Answer, Asked, Broker, Handler, Responder, Subscription};
use kubemq_mcp::domain::{Channel, Kind, Tags};
use tokio::sync::Semaphore;

use super::{Config, ask, config, connect, request};
use crate::harness::event::{wait_for, within};
use crate::harness::nowhere::Nowhere;
use crate::harness::scripted::Scripted;

fn subscription(channel: &str) -> Subscription {
    Subscription {
        kind: Kind::Query,
        channel: Channel::parse(channel).expect("a valid channel"),
        group: "group".into(),
        in_flight_max: 2,
    }
}

fn handler<F>(handle: impl Fn(Asked) -> F + Send + Sync + 'static) -> Handler
where
    F: Future<Output = Answer> + Send + 'static,
{
    Arc::new(move |asked| {
        let handled = handle(asked);
        Box::pin(async { Ok(handled.await) })
    })
}

fn greet() -> Handler {
    handler(|asked: Asked| async move {
        Answer {
            executed: true,
            body: [b"hello ".as_slice(), &asked.body].concat(),
            metadata: asked.metadata,
            tags: asked.tags,
            ..Answer::default()
        }
    })
}

fn start(server: &Scripted, channel: &str, handler: Handler) -> Responder {
    let config = Config { client_id: "responder".into(), ..config() };
    Responder::start(&config, vec![Address::from(server.address)], subscription(channel), handler)
        .expect("the configuration is right")
}

#[tokio::test]
async fn a_request_is_answered_whole() {
    let server = Scripted::start();
    let responder = start(&server, "greetings", greet());
    within("the subscription is open", responder.ready()).await;
    let broker = connect(&[server.address]).await;
    let reply = broker.ask(request(Kind::Query, "greetings", 5)).await.unwrap();
    assert!(reply.executed);
    assert_eq!((reply.body.as_slice(), reply.metadata.as_str()), (b"hello {\"a\":1}".as_slice(), "meta"));
    assert_eq!(reply.tags, Tags::from([("key".into(), "value".into())]));
    assert_eq!(reply.responder, "responder");
    let responded = server.state.responded.borrow().clone().unwrap();
    assert_eq!(responded.request_id, "request-1");
    assert!(responded.timestamp > 1_600_000_000_000_000_000, "nanoseconds since 1970");
    within("it stops", responder.stop()).await;
}

#[tokio::test]
async fn the_broker_sees_the_token_of_a_responder() {
    let server = Scripted::start();
    let config = Config { auth_token: "raw.jwt.token".into(), ..config() };
    let addresses = vec![Address::from(server.address)];
    let responder = Responder::start(&config, addresses, subscription("greetings"), greet()).unwrap();
    within("the subscription is open", responder.ready()).await;
    assert_eq!(server.state.token.borrow().as_deref(), Some("raw.jwt.token"));
}

#[tokio::test]
async fn a_panic_in_the_handler_of_a_query_is_answered_as_not_executed() {
    let server = Scripted::start();
    let panics: Handler = Arc::new(|asked: Asked| {
        assert!(asked.body.is_empty(), "a bug before the first await");
        Box::pin(async { Ok(Answer::default()) })
    });
    let responder = start(&server, "bugs", panics);
    within("the subscription is open", responder.ready()).await;
    let broker = connect(&[server.address]).await;
    for _ in 0..3 {
        let reply = broker.ask(request(Kind::Query, "bugs", 5)).await.unwrap();
        assert!(!reply.executed);
        assert!(
            reply.error.starts_with("the responder failed while it handled the request"),
            "{}",
            reply.error
        );
    }
}

#[tokio::test]
async fn no_more_requests_than_allowed_are_handled_at_once() {
    let server = Scripted::start();
    let (gate, begun) = (Arc::new(Semaphore::new(0)), Arc::new(tokio::sync::watch::Sender::new(0)));
    let (handler_gate, handler_begun) = (Arc::clone(&gate), Arc::clone(&begun));
    let waits = handler(move |_| {
        let (gate, begun) = (Arc::clone(&handler_gate), Arc::clone(&handler_begun));
        async move {
            begun.send_modify(|count| *count += 1);
            gate.acquire().await.expect("open").forget();
            Answer { executed: true, ..Answer::default() }
        }
    });
    let responder = start(&server, "slow", waits);
    within("the subscription is open", responder.ready()).await;
    let broker = connect(&[server.address]).await;
    let calls: Vec<_> = (0..5).map(|_| tokio::spawn(broker.ask(request(Kind::Query, "slow", 60)))).collect();
    wait_for(&mut server.state.arrived.subscribe(), "all have arrived", |count| *count == 5).await;
    wait_for(&mut begun.subscribe(), "two have begun", |count| *count == 2).await;
    // A round trip of another kind on the same broker: a third one would have begun by now.
    assert!(ask(&broker, "echo").await.is_ok());
    assert_eq!(*begun.borrow(), 2);
    gate.add_permits(5);
    for call in calls {
        assert!(within("the call is answered", call).await.unwrap().unwrap().executed);
    }
}

#[tokio::test]
async fn a_clean_end_of_the_stream_is_followed_by_a_new_subscription() {
    let server = Scripted::start();
    let responder = start(&server, "greetings", greet());
    let mut subscribed = server.state.subscribed.subscribe();
    for round in 1..=3 {
        wait_for(&mut subscribed, "it has subscribed", |count| *count == round).await;
        within("the subscription is open", responder.ready()).await;
        server.end_subscriptions();
    }
    wait_for(&mut subscribed, "it has subscribed again", |count| *count == 4).await;
}

#[tokio::test]
async fn a_responder_outlives_the_death_of_its_broker() {
    let server = Scripted::start();
    let responder = start(&server, "greetings", greet());
    within("the subscription is open", responder.ready()).await;
    let address = server.kill();
    let server = Scripted::start_at(address, None);
    wait_for(&mut server.state.subscribed.subscribe(), "it has subscribed again", |count| *count == 1).await;
    let broker = connect(&[server.address]).await;
    assert!(broker.ask(request(Kind::Query, "greetings", 5)).await.unwrap().executed);
}

#[tokio::test]
async fn a_broker_that_is_down_at_start_is_found_when_it_appears() {
    let nowhere = Nowhere::new();
    let addresses = vec![Address::from(nowhere.address)];
    let responder = Responder::start(&config(), addresses, subscription("greetings"), greet()).unwrap();
    assert!(!responder.is_open());
    let _server = Scripted::start_at(nowhere.address, None);
    within("the subscription is open", responder.ready()).await;
    assert!(responder.is_open());
}

#[tokio::test]
async fn a_broker_that_confirms_nothing_counts_as_open_and_can_be_left() {
    let server = Scripted::start();
    let responder = start(&server, "go.greetings", greet());
    within("the subscription counts as open", responder.ready()).await;
    let broker = connect(&[server.address]).await;
    assert!(broker.ask(request(Kind::Query, "go.greetings", 5)).await.unwrap().executed);
    server.end_subscriptions();
    wait_for(&mut server.state.subscribed.subscribe(), "it has subscribed again", |count| *count == 2).await;
    // Its first wait for headers is under way now, and must not hold up the stop.
    within("it stops", responder.stop()).await;
}

#[tokio::test]
async fn stopping_lets_the_handler_that_has_begun_answer() {
    let server = Scripted::start();
    let (gate, begun) = (Arc::new(Semaphore::new(0)), Arc::new(tokio::sync::watch::Sender::new(false)));
    let (handler_gate, handler_begun) = (Arc::clone(&gate), Arc::clone(&begun));
    let waits = handler(move |_| {
        let (gate, begun) = (Arc::clone(&handler_gate), Arc::clone(&handler_begun));
        async move {
            begun.send_replace(true);
            gate.acquire().await.expect("open").forget();
            Answer { executed: true, ..Answer::default() }
        }
    });
    let responder = start(&server, "slow", waits);
    within("the subscription is open", responder.ready()).await;
    let broker = connect(&[server.address]).await;
    let call = tokio::spawn(broker.ask(request(Kind::Query, "slow", 60)));
    wait_for(&mut begun.subscribe(), "the handler has begun", |begun| *begun).await;
    let stopping = tokio::spawn(responder.stop());
    gate.add_permits(1);
    assert!(within("the call is answered", call).await.unwrap().unwrap().executed);
    within("it stops", stopping).await.unwrap();
}
