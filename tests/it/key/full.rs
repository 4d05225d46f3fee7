//! A store without room refuses new keys, and tells what it knows all the same.

use kubemq_mcp::channel;
use kubemq_mcp::domain::{Cause, Outcome, Principal};
use kubemq_mcp::idempotency::Config;

use super::world::{World, command, executed};
use crate::harness::event::within;
use crate::harness::store::SharedStore;

async fn refused(world: &World, key: &str, option: &str) {
    let report = world.call(command(key)).await;
    assert_eq!((report.cause(), report.outcome()), (Cause::StoreFull, Outcome::NotSent), "{report:?}");
    assert_eq!(report.executed(), Some(false), "the key was looked up and is new");
    assert!(report.ending.detail.contains(option), "{report:?}");
}

#[tokio::test]
async fn a_store_with_its_records_refuses_new_keys_and_replays_old_ones() {
    let world = World::on(SharedStore::new(), &Config { records_max: 2, ..Config::default() });
    world.call(command("a")).await;
    world.call(command("b")).await;
    refused(&world, "c", "store.records_max").await;
    assert!(world.call(command("a")).await.memory.replayed);
    assert_eq!(world.broker.seen().len(), 2);
    world.stop().await;
}

#[tokio::test]
async fn one_principal_cannot_take_the_room_of_all() {
    let world = World::on(SharedStore::new(), &Config { records_per_principal_max: 1, ..Config::default() });
    world.call(command("a")).await;
    refused(&world, "b", "store.records_per_principal_max").await;
    let mut other = command("b");
    other.principal = Principal::named("ann");
    assert_eq!(world.call(other).await.cause(), Cause::Completed);
    world.stop().await;
}

#[tokio::test]
async fn a_claim_reserves_room_for_its_settle() {
    let config = Config { records_bytes_max: 20_000, ..Config::default() };
    let world = World::on(SharedStore::new(), &config);
    let held = world.broker.hold();
    let first = world.begin(command("a"));
    world.broker.until_seen(1).await;
    refused(&world, "b", "store.records_bytes_max").await;
    held.send(Ok(executed())).expect("it is asked");
    assert!(within("the first", first).await.expect("no panic").memory.recorded);
    assert_eq!(world.call(command("b")).await.cause(), Cause::Completed);
    world.stop().await;
}

#[tokio::test]
async fn a_disk_without_room_refuses_new_keys_until_there_is_some() {
    let world = World::new();
    world.call(command("a")).await;
    world.store.disk(|store| store.leave_free(1_000));
    refused(&world, "b", "store.free_bytes_min").await;
    assert!(world.call(command("a")).await.memory.replayed);
    world.store.disk(|store| store.leave_free(u64::MAX));
    assert_eq!(world.call(command("b")).await.cause(), Cause::Completed);
    world.stop().await;
}

#[tokio::test]
async fn a_full_channel_replays_and_refuses_only_what_is_new() {
    let channel = channel::Config { requests_pending_per_channel_max: 1, ..channel::Config::default() };
    let world = World::with(SharedStore::new(), &Config::default(), channel);
    let known = world.call(command("known")).await;
    let held = world.broker.hold();
    let first = world.begin(command("running"));
    world.broker.until_seen(2).await;
    let again = world.call(command("known")).await;
    assert_eq!((again.memory.replayed, again.request_id), (true, known.request_id));
    let new = world.call(command("new")).await;
    assert_eq!((new.cause(), new.executed()), (Cause::Overloaded, Some(false)));
    held.send(Ok(executed())).expect("it is asked");
    within("the first", first).await.expect("no panic");
    world.stop().await;
}
