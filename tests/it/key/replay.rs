//! First write wins: a retry is told the first result, and nothing is sent again.

use kubemq_mcp::broker::Fault;
use kubemq_mcp::domain::{Cause, Channel, Outcome, Principal, Tags, Timeout};
use kubemq_mcp::idempotency::Config;
use kubemq_mcp::mcp::{Lookup, Report};

use super::world::{World, changed, command, executed, rejected};

fn same(first: &Report, second: &Report) {
    assert_eq!(first.ending, second.ending);
    assert_eq!(first.executed(), second.executed());
    assert_eq!(first.request_id, second.request_id);
    assert_eq!(first.first_sent_at, second.first_sent_at);
    assert_eq!(first.memory.expires_at, second.memory.expires_at);
}

#[tokio::test]
async fn the_second_call_gets_the_first_result_and_the_responder_sees_one_command() {
    let world = World::new();
    let tags = Tags::from([("order".to_owned(), "17".to_owned())]);
    let mut reply = executed();
    reply.tags = tags.clone();
    reply.error = "low stock".into();
    world.broker.answer(Ok(reply));
    let first = world.call(command("k")).await;
    assert_eq!(
        (first.cause(), first.memory.replayed, first.memory.recorded),
        (Cause::Completed, false, true)
    );
    assert_eq!((first.attempt(), first.memory.lookup), (1, Lookup::Done));
    for _ in 0..3 {
        let again = world.call(command("k")).await;
        same(&first, &again);
        assert!(again.memory.replayed && again.memory.recorded);
        let reply = again.reply.expect("what the responder said");
        assert_eq!((reply.tags, reply.responder.as_str()), (tags.clone(), "responder-1"));
    }
    assert_eq!(world.broker.seen().len(), 1);
    let store = world.stop().await;
    let next = World::on(store, &Config::default());
    same(&first, &next.call(command("k")).await);
    assert_eq!(next.broker.seen().len(), 0);
    next.stop().await;
}

#[tokio::test]
async fn a_rejection_is_replayed_and_looks_replayed() {
    let world = World::new();
    world.broker.answer(Ok(rejected("no such order")));
    let first = world.call(command("k")).await;
    let again = world.call(command("k")).await;
    same(&first, &again);
    assert_eq!((again.cause(), again.memory.replayed), (Cause::Rejected, true));
    assert_eq!(again.ending.detail, "no such order");
    assert_eq!(world.broker.seen().len(), 1);
    world.stop().await;
}

#[tokio::test]
async fn another_body_channel_tag_or_metadata_is_a_conflict_and_nothing_is_sent() {
    let world = World::new();
    world.call(command("k")).await;
    let others = [
        changed("k", |request| request.body = b"other".to_vec()),
        changed("k", |request| request.channel = Channel::parse("orders.eu").expect("a valid name")),
        changed("k", |request| request.metadata = "m".into()),
        changed("k", |request| drop(request.tags.insert("a".into(), "b".into()))),
    ];
    for other in others {
        let report = world.call(other).await;
        assert_eq!((report.cause(), report.outcome()), (Cause::KeyConflict, Outcome::NotSent));
    }
    assert_eq!(world.broker.seen().len(), 1);
    world.stop().await;
}

#[tokio::test]
async fn the_timeout_is_no_part_of_the_command() {
    let world = World::new();
    let first = world.call(command("k")).await;
    let patient = changed("k", |request| request.timeout = Timeout::capped_at(60, 300).expect("a timeout"));
    same(&first, &world.call(patient).await);
    world.stop().await;
}

#[tokio::test]
async fn another_principal_with_the_same_key_has_its_own_record() {
    let world = World::new();
    let first = world.call(command("k")).await;
    let mut other = command("k");
    other.principal = Principal::named("ann");
    let second = world.call(other).await;
    assert_ne!(first.request_id, second.request_id);
    assert!(!second.memory.replayed);
    assert_eq!(world.broker.seen().len(), 2);
    world.stop().await;
}

#[tokio::test]
async fn what_certainly_was_not_sent_leaves_the_key_free() {
    let world = World::new();
    world.broker.answer(Err(Fault::Unavailable("nobody there".into())));
    let first = world.call(command("k")).await;
    assert_eq!((first.cause(), first.executed()), (Cause::BrokerUnavailable, Some(false)));
    assert_eq!((first.attempt(), first.first_sent_at, first.memory.expires_at), (0, None, None));
    let second = world.call(command("k")).await;
    assert_eq!((second.cause(), second.memory.replayed), (Cause::Completed, false));
    world.stop().await;
}

#[tokio::test]
async fn a_result_too_large_for_a_record_keeps_what_happened_and_says_so() {
    let world = World::new();
    let mut reply = executed();
    reply.tags = (0..32).map(|number| (format!("t{number}"), "x".repeat(1_000))).collect();
    world.broker.answer(Ok(reply));
    let first = world.call(command("k")).await;
    assert_eq!(
        first.reply.as_ref().map(|reply| reply.tags.len()),
        Some(32),
        "the first call hears everything"
    );
    let again = world.call(command("k")).await;
    same(&first, &again);
    assert!(again.memory.truncated);
    assert_eq!(again.reply.map(|reply| reply.tags.len()), Some(0));
    world.stop().await;
}

#[tokio::test]
async fn a_long_rejection_is_replayed_with_the_same_first_text() {
    let world = World::new();
    world.broker.answer(Ok(rejected(&"ü".repeat(30_000))));
    let first = world.call(command("k")).await;
    let again = world.call(command("k")).await;
    let shown = |report: &Report| report.ending.detail.chars().take(2_001).collect::<String>();
    assert_eq!(shown(&first), shown(&again));
    world.stop().await;
}

#[tokio::test]
async fn a_settled_key_is_new_again_after_its_time() {
    let world = World::new();
    world.store.set_now(1_000_000);
    let first = world.call(command("k")).await;
    world.store.set_now(1_000_000 + 86_400_000 - 1);
    assert!(world.call(command("k")).await.memory.replayed);
    world.store.set_now(1_000_000 + 86_400_000);
    let second = world.call(command("k")).await;
    assert!(!second.memory.replayed);
    assert_ne!(first.request_id, second.request_id);
    assert_eq!(world.broker.seen().len(), 2);
    world.stop().await;
}

#[tokio::test]
async fn a_clock_that_steps_back_makes_no_record_live_again_nor_longer() {
    let world = World::new();
    world.store.set_now(2_000_000_000);
    let first = world.call(command("k")).await;
    world.store.set_now(1_000);
    assert!(world.call(command("k")).await.memory.replayed);
    let second = world.call(command("other")).await;
    assert_eq!(first.memory.expires_at, second.memory.expires_at, "the store's time has stood still");
    let store = world.stop().await;
    store.set_now(5);
    let next = World::on(store, &Config::default());
    assert_eq!(next.call(command("third")).await.memory.expires_at, first.memory.expires_at);
    next.stop().await;
}
