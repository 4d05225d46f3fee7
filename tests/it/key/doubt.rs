//! In doubt: nobody can say whether it ran, so it is never sent again by us, unless its channel says otherwise.

use kubemq_mcp::broker::Fault;
use kubemq_mcp::domain::{Cause, Key, Outcome, Principal, Retry};
use kubemq_mcp::idempotency::{
    Config, Consent, Identity, Refusal, Resolution, Settlement, StateName, StoreError, Timestamp,
};

use super::world::{World, command, executed, rejected, resendable};
use crate::harness::event::within;

fn identity(key: &str) -> Identity {
    Identity::of(&Principal::anonymous(), &Key::parse(key).expect("a valid key"))
}

async fn state(world: &World, key: &str) -> Option<StateName> {
    world.keys.show(identity(key)).await.expect("the store is open").map(|record| record.state_name())
}

fn resolution(executed: bool) -> Settlement {
    Settlement {
        executed,
        at: Timestamp::default(),
        elapsed_milliseconds: 0,
        error: String::new(),
        responder: String::new(),
        tags: kubemq_mcp::domain::Tags::new(),
        truncated: false,
        resolved: Some(Resolution { by: "ann".into(), why: "seen in the ledger".into() }),
    }
}

#[tokio::test]
async fn an_unknown_end_puts_the_key_in_doubt_and_it_is_not_sent_again() {
    let world = World::new();
    world.broker.answer(Err(Fault::ConnectionLost("reset".into())));
    let first = world.call(command("k")).await;
    assert_eq!((first.cause(), first.memory.recorded), (Cause::ConnectionLost, true));
    let again = world.call(command("k")).await;
    assert_eq!((again.cause(), again.executed()), (Cause::InDoubt, None));
    assert_eq!((again.cause().retry(), again.request_id.clone()), (Retry::Verify, first.request_id));
    assert!(again.ending.detail.contains("connection_lost"), "{again:?}");
    assert_eq!(world.broker.seen().len(), 1);
    world.stop().await;
}

#[tokio::test]
async fn a_crash_leaves_the_open_claim_in_doubt() {
    let world = World::new();
    let _held = world.broker.hold();
    let running = world.begin(command("k"));
    world.broker.until_seen(1).await;
    let left = world.crash();
    drop(running);
    let next = World::on(left, &Config::default());
    let report = next.call(command("k")).await;
    assert_eq!((report.cause(), report.outcome()), (Cause::InDoubt, Outcome::Unknown));
    assert!(report.ending.detail.contains("stopped while it ran"), "{report:?}");
    assert_eq!(next.broker.seen().len(), 0);
    next.stop().await;
}

#[tokio::test]
async fn a_stop_in_order_leaves_what_still_runs_in_doubt() {
    let world = World::new();
    let _held = world.broker.hold();
    let running = world.begin(command("k"));
    world.broker.until_seen(1).await;
    let store = world.stop().await;
    let told = within("an answer", running).await.expect("no panic");
    assert_eq!(told.outcome(), Outcome::Unknown, "{told:?}");
    let next = World::on(store, &Config::default());
    assert_eq!(next.call(command("k")).await.cause(), Cause::InDoubt);
    next.stop().await;
}

#[tokio::test]
async fn a_key_in_doubt_is_kept_longer_and_is_new_again_after_that() {
    let world = World::new();
    world.store.set_now(2_000_000);
    world.broker.answer(Err(Fault::TimedOut));
    world.call(command("k")).await;
    let keep = 30 * 86_400_000;
    world.store.set_now(2_000_000 + keep - 1);
    assert_eq!(world.call(command("k")).await.cause(), Cause::InDoubt);
    world.store.set_now(2_000_000 + keep);
    assert_eq!(world.call(command("k")).await.cause(), Cause::Completed);
    world.stop().await;
}

#[tokio::test]
async fn what_is_in_progress_never_expires() {
    let world = World::new();
    let held = world.broker.hold();
    let first = world.begin(command("k"));
    world.broker.until_seen(1).await;
    world.store.set_now(400 * 86_400_000);
    assert_eq!(state(&world, "k").await, Some(StateName::InProgress));
    held.send(Ok(executed())).expect("it is asked");
    within("the first", first).await.expect("no panic");
    world.stop().await;
}

#[tokio::test]
async fn a_withdrawal_that_cannot_be_made_durable_is_still_not_sent_and_reads_in_doubt_later() {
    let world = World::new();
    let held = world.broker.hold();
    let first = world.begin(command("k"));
    world.broker.until_seen(1).await;
    world.store.disk(|store| store.fail_with(Some(StoreError::Broken("no sync".into()))));
    held.send(Err(Fault::Unavailable("gone".into()))).expect("it is asked");
    let first = within("the first", first).await.expect("no panic");
    assert_eq!((first.cause(), first.outcome()), (Cause::BrokerUnavailable, Outcome::NotSent));
    let left = world.crash();
    left.disk(|store| store.fail_with(None));
    let next = World::on(left, &Config::default());
    assert_eq!(next.call(command("k")).await.cause(), Cause::InDoubt);
    next.stop().await;
}

#[tokio::test]
async fn an_outcome_that_cannot_be_recorded_is_told_and_says_so_and_the_store_closes() {
    let world = World::new();
    let held = world.broker.hold();
    let first = world.begin(command("k"));
    world.broker.until_seen(1).await;
    world.store.disk(|store| store.fail_with(Some(StoreError::Broken("no sync".into()))));
    held.send(Ok(executed())).expect("it is asked");
    let first = within("the first", first).await.expect("no panic");
    assert_eq!((first.cause(), first.executed()), (Cause::Completed, Some(true)));
    assert!(!first.memory.recorded);
    let refused = world.call(command("other")).await;
    assert_eq!((refused.cause(), refused.outcome()), (Cause::StoreUnavailable, Outcome::NotSent));
    assert_eq!(refused.executed(), None, "what an earlier call did was not looked up");
    assert!(world.keys.health().is_err());
    let left = world.crash();
    left.disk(|store| store.fail_with(None));
    let next = World::on(left, &Config::default());
    assert_eq!(next.call(command("k")).await.cause(), Cause::InDoubt);
    next.stop().await;
}

#[tokio::test]
async fn where_the_channel_allows_it_two_racing_retries_of_a_key_in_doubt_send_it_once() {
    let world = World::new();
    world.broker.answer(Err(Fault::TimedOut));
    world.call(resendable("k")).await;
    let held = world.broker.hold();
    let retries: Vec<_> = (0..2).map(|_| world.begin(resendable("k"))).collect();
    world.broker.until_seen(2).await;
    world.until_joined(1).await;
    held.send(Ok(executed())).expect("it is asked");
    for retry in retries {
        let report = within("a retry", retry).await.expect("no panic");
        assert_eq!((report.cause(), report.attempt()), (Cause::Completed, 2));
    }
    assert_eq!(world.broker.seen().len(), 2);
    world.stop().await;
}

#[tokio::test]
async fn a_rejection_of_a_later_attempt_stays_unknown() {
    let world = World::new();
    world.broker.answer(Err(Fault::TimedOut));
    world.call(resendable("k")).await;
    world.broker.answer(Ok(rejected("done already")));
    let second = world.call(resendable("k")).await;
    assert_eq!((second.cause(), second.executed()), (Cause::InDoubt, None));
    assert!(second.ending.detail.contains("done already"), "{second:?}");
    assert_eq!(state(&world, "k").await, Some(StateName::InDoubt));
    world.stop().await;
}

#[tokio::test]
async fn a_rejection_of_a_later_attempt_stays_unknown_when_it_cannot_be_recorded() {
    let world = World::new();
    world.broker.answer(Err(Fault::TimedOut));
    world.call(resendable("k")).await;
    let held = world.broker.hold();
    let second = world.begin(resendable("k"));
    world.broker.until_seen(2).await;
    world.store.disk(|store| store.fail_with(Some(StoreError::Broken("no sync".into()))));
    held.send(Ok(rejected("done already"))).expect("it is asked");
    let second = within("the second", second).await.expect("no panic");
    assert_eq!((second.cause(), second.executed(), second.memory.recorded), (Cause::InDoubt, None, false));
    world.stop().await;
}

#[tokio::test]
async fn a_later_attempt_that_was_not_sent_says_nothing_of_the_first() {
    let world = World::new();
    world.broker.answer(Err(Fault::TimedOut));
    world.call(resendable("k")).await;
    world.broker.answer(Err(Fault::Unavailable("gone".into())));
    let second = world.call(resendable("k")).await;
    assert_eq!((second.cause(), second.executed(), second.attempt()), (Cause::BrokerUnavailable, None, 1));
    assert_eq!(state(&world, "k").await, Some(StateName::InDoubt));
    world.stop().await;
}

#[tokio::test]
async fn attempts_end_at_their_limit() {
    let world = World::new();
    for _ in 0..5 {
        world.broker.answer(Err(Fault::TimedOut));
        world.call(resendable("k")).await;
    }
    let last = world.call(resendable("k")).await;
    assert_eq!(last.cause(), Cause::InDoubt);
    assert!(last.ending.detail.contains("as often as store.attempts_max allows"), "{last:?}");
    assert_eq!(world.broker.seen().len(), 5);
    world.stop().await;
}

#[tokio::test]
async fn an_operator_settles_a_key_in_doubt_once() {
    let world = World::new();
    world.broker.answer(Err(Fault::TimedOut));
    world.call(command("k")).await;
    let resolved =
        world.keys.resolve(identity("k"), resolution(true)).await.expect("open").expect("in doubt");
    assert_eq!(resolved.state_name(), StateName::Executed);
    let told = world.call(command("k")).await;
    assert_eq!((told.cause(), told.memory.replayed), (Cause::Completed, true));
    assert_eq!(told.memory.resolved.map(|word| word.by), Some("ann".to_owned()));
    let again = world.keys.resolve(identity("k"), resolution(false)).await.expect("open");
    assert_eq!(again, Err(Refusal::NotInDoubt(StateName::Executed)));
    let absent = world.keys.resolve(identity("nope"), resolution(true)).await.expect("open");
    assert_eq!(absent, Err(Refusal::Absent));
    world.stop().await;
}

#[tokio::test]
async fn to_forget_a_key_in_doubt_needs_consent() {
    let world = World::new();
    world.broker.answer(Err(Fault::TimedOut));
    world.call(command("k")).await;
    let refused = world.keys.forget(identity("k"), Consent::Missing).await.expect("open");
    assert_eq!(refused, Err(Refusal::NeedsConsent));
    world.keys.forget(identity("k"), Consent::MayRunAgain).await.expect("open").expect("it was there");
    assert_eq!(world.call(command("k")).await.cause(), Cause::Completed);
    assert_eq!(world.broker.seen().len(), 2);
    world.stop().await;
}
