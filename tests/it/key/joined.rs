//! A duplicate that arrives while the first call runs joins it. Nothing is sent again, and none is promoted.

use std::time::Duration;

use kubemq_mcp::broker::Fault;
use kubemq_mcp::domain::{Cause, Outcome, Retry};
use kubemq_mcp::idempotency::Config;
use tokio::time::Instant;

use super::world::{World, command, executed, patient};
use crate::harness::event::within;
use crate::harness::store::SharedStore;

#[tokio::test]
async fn five_hundred_calls_at_once_are_one_dispatch_and_equal_answers() {
    let world = World::new();
    let held = world.broker.hold();
    let calls: Vec<_> = (0..500).map(|_| world.begin(command("k"))).collect();
    world.broker.until_seen(1).await;
    held.send(Ok(executed())).expect("it is asked");
    let mut reports = Vec::new();
    for call in calls {
        reports.push(within("a report", call).await.expect("no panic"));
    }
    assert_eq!(world.broker.seen().len(), 1);
    assert_eq!(reports.iter().filter(|report| !report.memory.replayed).count(), 1);
    for report in &reports {
        assert_eq!((report.cause(), report.memory.recorded), (Cause::Completed, true));
        assert_eq!(report.request_id, reports[0].request_id);
        assert_eq!(report.first_sent_at, reports[0].first_sent_at);
        assert_eq!(report.memory.expires_at, reports[0].memory.expires_at);
    }
    world.stop().await;
}

#[tokio::test]
async fn a_joiner_with_a_longer_timeout_hears_how_the_first_ended() {
    let world = World::new();
    let held = world.broker.hold();
    let first = world.begin(patient("k", 1));
    world.broker.until_seen(1).await;
    let joiner = world.begin(patient("k", 60));
    held.send(Err(Fault::TimedOut)).expect("it is asked");
    let first = within("the first", first).await.expect("no panic");
    let joiner = within("the joiner", joiner).await.expect("no panic");
    assert_eq!(first.ending.cause, Cause::TimedOut);
    // It may have come before or after the end of the first: both say that nobody knows.
    assert!([Cause::TimedOut, Cause::InDoubt].contains(&joiner.cause()), "{joiner:?}");
    assert_eq!((joiner.executed(), joiner.request_id), (None, first.request_id));
    assert_eq!(world.broker.seen().len(), 1);
    world.stop().await;
}

#[tokio::test]
async fn a_joiner_with_a_shorter_timeout_hears_in_progress_in_time() {
    let world = World::new();
    let held = world.broker.hold();
    let first = world.begin(patient("k", 60));
    world.broker.until_seen(1).await;
    let begun = Instant::now();
    let joiner = world.call(patient("k", 1)).await;
    let waited = begun.elapsed();
    assert!(waited >= Duration::from_secs(1) && waited < Duration::from_millis(1_400), "{waited:?}");
    assert_eq!((joiner.cause(), joiner.outcome()), (Cause::InProgress, Outcome::Unknown));
    assert_eq!((joiner.cause().retry(), joiner.executed()), (Retry::SameKey, None));
    held.send(Ok(executed())).expect("it is asked");
    let first = within("the first", first).await.expect("no panic");
    assert_eq!(joiner.request_id, first.request_id);
    assert!(world.call(command("k")).await.memory.replayed);
    assert_eq!(world.broker.seen().len(), 1);
    world.stop().await;
}

#[tokio::test]
async fn a_joiner_hears_that_nothing_was_sent_and_is_not_promoted() {
    let world = World::new();
    let held = world.broker.hold();
    let first = world.begin(command("k"));
    world.broker.until_seen(1).await;
    let joiner = world.begin(command("k"));
    world.until_joined(1).await;
    held.send(Err(Fault::Unavailable("gone".into()))).expect("it is asked");
    for report in [first, joiner] {
        let report = within("a report", report).await.expect("no panic");
        assert_eq!((report.cause(), report.executed()), (Cause::BrokerUnavailable, Some(false)));
    }
    assert_eq!(world.broker.seen().len(), 1);
    assert_eq!(world.call(command("k")).await.cause(), Cause::Completed);
    world.stop().await;
}

#[tokio::test]
async fn a_joiner_that_leaves_is_gone_and_the_first_goes_on() {
    let world = World::new();
    let held = world.broker.hold();
    let first = world.begin(command("k"));
    world.broker.until_seen(1).await;
    let leaver = command("k");
    let leave = leaver.leave.clone();
    let leaver = world.begin(leaver);
    world.until_joined(1).await;
    leave.cancel();
    let left = within("the leaver", leaver).await.expect("no panic");
    assert_eq!((left.cause(), left.executed()), (Cause::Cancelled, None));
    held.send(Ok(executed())).expect("it is asked");
    assert_eq!(within("the first", first).await.expect("no panic").cause(), Cause::Completed);
    world.stop().await;
}

#[tokio::test]
async fn beyond_the_limit_of_joins_a_call_is_told_in_progress_at_once() {
    let config = Config { joins_per_key_max: 2, ..Config::default() };
    let world = World::on(SharedStore::new(), &config);
    let held = world.broker.hold();
    let first = world.begin(command("k"));
    world.broker.until_seen(1).await;
    let joiners = [world.begin(command("k")), world.begin(command("k"))];
    world.until_joined(2).await;
    let crowded = world.call(patient("k", 60)).await;
    assert_eq!(crowded.cause(), Cause::InProgress);
    assert!(crowded.ending.detail.contains("store.joins_per_key_max"), "{crowded:?}");
    held.send(Ok(executed())).expect("it is asked");
    for joiner in joiners {
        assert_eq!(within("a joiner", joiner).await.expect("no panic").cause(), Cause::Completed);
    }
    within("the first", first).await.expect("no panic");
    world.stop().await;
}

#[tokio::test]
async fn whoever_waits_keeps_no_room_on_the_channel() {
    let channel = kubemq_mcp::channel::Config {
        requests_pending_per_channel_max: 2,
        ..kubemq_mcp::channel::Config::default()
    };
    let world = World::with(SharedStore::new(), &Config::default(), channel);
    let held = world.broker.hold();
    let first = world.begin(command("k"));
    world.broker.until_seen(1).await;
    let mut joiners = Vec::new();
    for count in 1..=10 {
        joiners.push(world.begin(command("k")));
        world.until_joined(count).await;
    }
    assert_eq!(world.call(command("other")).await.cause(), Cause::Completed);
    held.send(Ok(executed())).expect("it is asked");
    for joiner in joiners {
        assert_eq!(within("a joiner", joiner).await.expect("no panic").cause(), Cause::Completed);
    }
    within("the first", first).await.expect("no panic");
    world.stop().await;
}
