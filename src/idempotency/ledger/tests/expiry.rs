//! When a key is new again, by a time that never runs backwards.

use super::*;

const IN_DOUBT_DAYS: u64 = 30;

#[test]
fn a_settled_key_is_new_after_its_time_and_not_before() {
    for ended in [executed(), rejected()] {
        let mut bench = Bench::new();
        bench.ended("a", ended);
        bench.pass(DAY - 1);
        let told = known(bench.claim("a"));
        assert_eq!(told.expires(), Some(Timestamp::from_milliseconds(START + DAY)));
        bench.pass(1);
        assert_eq!(bench.show("a"), None);
        assert_eq!(bench.look("a"), Decision::Free);
        let again = run(bench.claim("a"));
        assert_eq!(again.first_seen, Timestamp::from_milliseconds(START + DAY));
        assert_eq!(bench.ledger.usage().records(), 1);
    }
}

#[test]
fn the_time_of_a_key_counts_from_its_first_claim() {
    let mut bench = Bench::new();
    let claimed = run(bench.claim("a"));
    bench.pass(DAY / 2);
    recorded(bench.settle(&claimed, executed()));
    bench.pass(DAY / 2);
    run(bench.claim("a"));
}

#[test]
fn a_key_in_doubt_is_new_after_a_longer_time() {
    let mut bench = Bench::new();
    bench.ended("a", timed_out());
    bench.pass(IN_DOUBT_DAYS * DAY - 1);
    assert_eq!(known(bench.claim("a")).state, State::InDoubt);
    bench.pass(1);
    run(bench.claim("a"));
}

#[test]
fn a_key_that_ever_was_in_doubt_keeps_the_longer_time() {
    let mut bench = Bench::new();
    let claimed = bench.ended("a", timed_out());
    recorded(bench.settle(&claimed, executed()));
    bench.pass(IN_DOUBT_DAYS * DAY - 1);
    assert_eq!(known(bench.claim("a")).state_name(), StateName::Executed);
    bench.pass(1);
    run(bench.claim("a"));
}

#[test]
fn in_progress_never_expires() {
    let mut bench = Bench::new();
    let claimed = run(bench.claim("a"));
    bench.pass(1_000 * DAY);
    assert_eq!(bench.claim("a"), Decision::Running(Box::new(claimed.clone())));
    assert_eq!(bench.one(Operation::Sweep { max: 10 }), Answer::Swept(0));
    assert_eq!(bench.show("a"), Some(claimed.clone()));
    recorded(bench.settle(&claimed, executed()));
}

#[test]
fn a_clock_that_steps_back_brings_nothing_back() {
    let mut bench = Bench::new();
    bench.ended("a", executed());
    bench.pass(DAY);
    bench.ended("b", executed());
    bench.wall = START;
    assert_eq!(bench.show("a"), None);
    let again = run(bench.claim("a"));
    assert_eq!(again.first_seen, Timestamp::from_milliseconds(START + DAY));
    // Nor does it live longer than the store's time says.
    bench.wall = START + 2 * DAY - 1;
    assert_eq!(known(bench.claim("b")).state_name(), StateName::Executed);
}

#[test]
fn a_clock_that_steps_back_over_a_restart_brings_nothing_back() {
    let mut bench = Bench::new();
    bench.ended("a", executed());
    bench.pass(DAY);
    bench.ended("b", executed());
    bench.wall = START - DAY;
    bench.restart();
    assert_eq!(bench.ledger.now(), Timestamp::from_milliseconds(START + DAY));
    assert_eq!(bench.show("a"), None);
}

#[test]
fn a_sweep_takes_what_is_over_and_nothing_else() {
    let mut bench = Bench::new();
    bench.ended("done", executed());
    bench.ended("refused", rejected());
    bench.ended("doubted", timed_out());
    run(bench.claim("running"));
    bench.pass(DAY);
    bench.ended("later", executed());
    assert_eq!(bench.one(Operation::Sweep { max: 1 }), Answer::Swept(1));
    assert_eq!(bench.one(Operation::Sweep { max: 10 }), Answer::Swept(1));
    assert_eq!(bench.one(Operation::Sweep { max: 10 }), Answer::Swept(0));
    for (key, is_left) in [("done", false), ("refused", false), ("doubted", true), ("running", true)] {
        assert_eq!(bench.store.get(&identity(key)).unwrap().is_some(), is_left, "{key}");
    }
    bench.pass(IN_DOUBT_DAYS * DAY);
    assert_eq!(bench.one(Operation::Sweep { max: 10 }), Answer::Swept(2));
    assert_eq!(bench.ledger.usage().records(), 1);
}

#[test]
fn a_start_knows_when_each_record_ends() {
    let mut bench = Bench::new();
    bench.ended("done", executed());
    bench.ended("doubted", timed_out());
    run(bench.claim("running"));
    bench.restart();
    bench.pass(DAY);
    assert_eq!(bench.one(Operation::Sweep { max: 10 }), Answer::Swept(1));
    bench.pass(IN_DOUBT_DAYS * DAY);
    assert_eq!(bench.one(Operation::Sweep { max: 10 }), Answer::Swept(2));
    assert_eq!(bench.ledger.usage().records(), 0);
}

#[test]
fn a_sweep_spares_a_key_that_was_claimed_anew_in_its_batch() {
    let mut bench = Bench::new();
    bench.ended("a", executed());
    bench.pass(DAY);
    let claim = Operation::Claim(Box::new(bench.proposal("a")));
    let answers = bench.batch(vec![claim, Operation::Sweep { max: 10 }]);
    assert!(matches!(answers[0], Answer::Decision(Decision::Run(_))));
    assert_eq!(answers[1], Answer::Swept(0));
    assert_eq!(bench.show("a").unwrap().state, State::InProgress);
}

#[test]
fn the_late_reply_of_an_expired_attempt_does_not_touch_the_next_one() {
    let mut bench = Bench::new();
    let first = bench.ended("a", timed_out());
    bench.pass(IN_DOUBT_DAYS * DAY);
    let second = run(bench.claim("a"));
    assert_eq!(bench.settle(&first, executed()), Settled::Foreign);
    assert_eq!(bench.show("a"), Some(second));
}
