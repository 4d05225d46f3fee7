//! Limits stand before new keys only: what is known is told, and what was let go is settled.

use super::*;

/// A store with one settled, one doubted and one running key, and room for no other.
fn full(limit: impl FnOnce(&mut Bench)) -> (Bench, Record) {
    let mut bench = Bench::new();
    bench.ended("done", executed());
    bench.ended("doubted", timed_out());
    let running = run(bench.claim("running"));
    limit(&mut bench);
    bench.ledger.limits = bench.limits.clone();
    (bench, running)
}

fn known_keys_are_told_and_settled(bench: &mut Bench, running: &Record) {
    assert_eq!(known(bench.claim("done")).state_name(), StateName::Executed);
    assert_eq!(known(bench.look("done")).state_name(), StateName::Executed);
    assert_eq!(known(bench.claim("doubted")).state_name(), StateName::InDoubt);
    assert!(matches!(bench.claim("running"), Decision::Running(_)));
    let tags = Tags::from([("blob".into(), "x".repeat(8 << 10))]);
    let large = Settlement { tags, ..settlement(true) };
    let settled = recorded(bench.settle(running, Ended::Answered(large.clone())));
    assert_eq!(settled.state, State::Settled(Settlement { at: bench.ledger.now(), ..large }));
}

#[test]
fn a_store_with_all_its_records_refuses_new_keys_only() {
    let (mut bench, running) = full(|bench| bench.limits.records_max = 3);
    assert_eq!(bench.claim("new"), Decision::Full(Full::Records(3)));
    known_keys_are_told_and_settled(&mut bench, &running);
    assert_eq!(run(bench.claim_to_resend("doubted")).attempt, 2);
}

#[test]
fn a_principal_with_all_its_records_leaves_room_for_others() {
    let (mut bench, running) = full(|bench| bench.limits.records_per_principal_max = 3);
    assert_eq!(bench.claim("new"), Decision::Full(Full::Principal(3)));
    let proposal = bench.proposal("new");
    run(bench.propose(Proposal { principal: Principal::named("bob"), ..proposal }));
    known_keys_are_told_and_settled(&mut bench, &running);
}

#[test]
fn a_claim_reserves_the_room_for_its_settle() {
    let mut bench = Bench::new();
    let room = bench.limits.record_bytes_max as u64;
    bench.limits.records_bytes_max = 2 * room;
    bench.ledger.limits = bench.limits.clone();
    let (first, _) = (run(bench.claim("a")), run(bench.claim("b")));
    assert_eq!(bench.ledger.usage().bytes(), 2 * room);
    assert_eq!(bench.claim("c"), Decision::Full(Full::Bytes(2 * room)));
    recorded(bench.settle(&first, executed()));
    // What is settled takes what it is long.
    assert!(bench.ledger.usage().bytes() < 2 * room);
    assert_eq!(bench.claim("c"), Decision::Full(Full::Bytes(2 * room)));
}

#[test]
fn a_store_with_all_its_bytes_refuses_new_keys_only() {
    let (mut bench, running) = full(|bench| bench.limits.records_bytes_max = 16 << 10);
    assert_eq!(bench.claim("new"), Decision::Full(Full::Bytes(16 << 10)));
    known_keys_are_told_and_settled(&mut bench, &running);
}

#[test]
fn a_disk_with_no_room_refuses_new_keys_only() {
    let (mut bench, running) = full(|bench| bench.free_bytes = 1);
    let min = bench.limits.free_bytes_min;
    assert_eq!(bench.claim("new"), Decision::Full(Full::Disk { free: 1, min }));
    known_keys_are_told_and_settled(&mut bench, &running);
    bench.free_bytes = min;
    run(bench.claim("new"));
}

#[test]
fn a_key_in_doubt_that_has_no_room_to_leave_again_is_told_as_in_doubt() {
    let (mut bench, _) = full(|bench| bench.free_bytes = 1);
    let before = bench.show("doubted");
    // To say `store_full` would say that nothing was ever sent.
    assert_eq!(Some(known(bench.claim_to_resend("doubted"))), before);
}

#[test]
fn a_look_has_no_limit() {
    let (mut bench, _) = full(|bench| {
        bench.limits.records_max = 0;
        bench.free_bytes = 0;
    });
    assert_eq!(bench.look("new"), Decision::Free);
}

#[test]
fn room_that_was_withdrawn_is_room_again() {
    let mut bench = Bench::with(Config { records_max: 1, ..Config::default() });
    let claimed = run(bench.claim("a"));
    assert_eq!(bench.claim("b"), Decision::Full(Full::Records(1)));
    assert_eq!(bench.settle(&claimed, Ended::NotSent), Settled::Withdrawn);
    run(bench.claim("b"));
}
