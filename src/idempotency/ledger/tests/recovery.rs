//! What a start makes of what the last life has left.

use super::*;
use crate::idempotency::Doubt;

#[test]
fn open_claims_of_this_instance_are_in_doubt() {
    let mut bench = Bench::new();
    bench.ended("done", executed());
    bench.ended("doubted", timed_out());
    let open = run(bench.claim("open"));
    bench.pass(5 * SECOND);
    assert_eq!(bench.restart(), Recovered { records: 3, doubted: 1 });
    let recovered = bench.show("open").unwrap();
    let since = Timestamp::from_milliseconds(START + 5 * SECOND);
    assert_eq!((&recovered.state, recovered.doubt), (&State::InDoubt, Some((since, Doubt::Interrupted))));
    assert_eq!(frame(&recovered), frame(&open));
    assert_eq!(known(bench.claim("open")), recovered);
    assert_eq!(known(bench.claim("done")).state_name(), StateName::Executed);
    // What was in doubt before is so for its own reason.
    assert_ne!(bench.show("doubted").unwrap().doubt, recovered.doubt);
}

#[test]
fn a_recovery_is_durable_before_it_returns() {
    let mut bench = Bench::new();
    run(bench.claim("open"));
    bench.restart();
    let disk = bench.store.get(&identity("open")).unwrap().unwrap();
    assert_eq!(disk.state, State::InDoubt);
    assert_eq!(bench.restart(), Recovered { records: 1, doubted: 0 });
}

#[test]
fn an_open_claim_of_another_instance_is_left_alone() {
    let mut bench = Bench::new();
    let claimed = run(bench.claim("a"));
    let owner = Owner { instance: claimed.owner.instance + 1, boot: 9 };
    let other = Record { owner, ..claimed.clone() };
    let change = Change { identity: identity("a"), before: Some(claimed), after: Some(other.clone()) };
    let head = bench.store.head();
    bench.store.commit(&[change], &head).unwrap();
    assert_eq!(bench.restart(), Recovered { records: 1, doubted: 0 });
    assert_eq!(bench.claim("a"), Decision::Running(Box::new(other)));
}

#[test]
fn more_open_claims_than_one_commit_takes_are_all_in_doubt() {
    let mut bench = Bench::new();
    let claims = (0..1_030).map(|number| {
        let proposal = bench.proposal(&format!("key-{number}"));
        Operation::Claim(Box::new(proposal))
    });
    let claims = claims.collect();
    bench.batch(claims);
    assert_eq!(bench.restart(), Recovered { records: 1_030, doubted: 1_030 });
    assert_eq!(bench.ledger.usage().records_in(StateName::InDoubt), 1_030);
}

#[test]
fn a_store_that_has_lost_or_found_records_is_refused() {
    for (counted, found) in [(3, 2), (1, 2)] {
        let mut bench = Bench::new();
        bench.ended("a", executed());
        bench.ended("b", executed());
        let head = Head { records: counted, ..bench.store.head() };
        bench.store.commit(&[], &head).unwrap();
        let wall = Timestamp::from_milliseconds(START);
        let error = Ledger::recover(&mut bench.store, &bench.limits, wall).map(|_| ()).unwrap_err();
        assert_eq!(error, RecoveryError::Lost { counted, found });
    }
}

#[test]
fn a_store_that_cannot_be_written_is_not_recovered() {
    let mut bench = Bench::new();
    run(bench.claim("open"));
    let broken = StoreError::Broken("on purpose".into());
    bench.store.fail_with(Some(broken.clone()));
    let wall = Timestamp::from_milliseconds(START);
    let error = Ledger::recover(&mut bench.store, &bench.limits, wall).map(|_| ()).unwrap_err();
    assert_eq!(error, RecoveryError::Store(broken));
    bench.store.fail_with(None);
    assert_eq!(bench.restart(), Recovered { records: 1, doubted: 1 });
}

#[test]
fn each_start_is_an_owner_of_its_own() {
    let mut bench = Bench::new();
    let first = run(bench.claim("a"));
    // The later ones find nothing to doubt, and count all the same.
    for _ in 0..3 {
        bench.restart();
    }
    let later = run(bench.claim("b"));
    assert_eq!(later.owner.boot, first.owner.boot + 3);
    assert_eq!(later.owner.instance, first.owner.instance);
}

#[test]
fn time_and_fence_never_fall_below_what_any_record_names() {
    let mut bench = Bench::new();
    let claimed = run(bench.claim("a"));
    bench.pass(DAY);
    recorded(bench.settle(&claimed, executed()));
    // A head that is older than the records, as a damaged file could leave it.
    let head = Head { fence: 0, latest: Timestamp::default(), ..bench.store.head() };
    bench.store.commit(&[], &head).unwrap();
    bench.wall = START - DAY;
    bench.restart();
    assert_eq!(bench.ledger.now(), Timestamp::from_milliseconds(START + DAY));
    let next = run(bench.claim("b"));
    assert!(next.fence > claimed.fence);
    assert_eq!(next.first_seen, Timestamp::from_milliseconds(START + DAY));
}

#[test]
fn usage_is_counted_anew_at_each_start() {
    let mut bench = Bench::new();
    bench.ended("done", executed());
    run(bench.claim("open"));
    let before = bench.ledger.usage().clone();
    bench.restart();
    assert_eq!(bench.ledger.usage().records(), before.records());
    assert_eq!(bench.ledger.usage().records_in(StateName::InProgress), 0);
    // The room that was reserved for the answer is free again.
    assert!(bench.ledger.usage().bytes() < before.bytes());
}
