//! How a claimed command ended, and who may say so.

use super::*;
use crate::domain::Cause;
use crate::idempotency::Doubt;

#[test]
fn a_settle_changes_state_and_result_and_nothing_else() {
    for ended in [executed(), rejected(), timed_out(), Ended::Interrupted] {
        let mut bench = Bench::new();
        let claimed = run(bench.claim("a"));
        bench.pass(5 * SECOND);
        let settled = recorded(bench.settle(&claimed, ended));
        assert_eq!(frame(&settled), frame(&claimed));
        assert_eq!(bench.show("a"), Some(settled));
    }
}

#[test]
fn a_settlement_carries_the_time_of_the_store() {
    let mut bench = Bench::new();
    let claimed = run(bench.claim("a"));
    bench.pass(5 * SECOND);
    let settled = recorded(bench.settle(&claimed, executed()));
    let at = Timestamp::from_milliseconds(START + 5 * SECOND);
    assert_eq!(settled.state, State::Settled(Settlement { at, ..settlement(true) }));
}

#[test]
fn an_unknown_end_is_in_doubt_and_keeps_its_reason() {
    let mut bench = Bench::new();
    let claimed = run(bench.claim("a"));
    bench.pass(SECOND);
    let doubted = recorded(bench.settle(&claimed, Ended::Unknown(Cause::ConnectionLost)));
    let since = Timestamp::from_milliseconds(START + SECOND);
    assert_eq!(doubted.doubt, Some((since, Doubt::Ended(Cause::ConnectionLost))));
    bench.pass(SECOND);
    // A second word that says no more changes nothing.
    assert_eq!(recorded(bench.settle(&claimed, Ended::Interrupted)), doubted);
}

#[test]
fn a_late_reply_after_in_doubt_settles() {
    for late in [executed(), rejected()] {
        let mut bench = Bench::new();
        let claimed = bench.ended("a", timed_out());
        let told = known(bench.claim("a"));
        let settled = recorded(bench.settle(&claimed, late));
        assert!(matches!(settled.state, State::Settled(_)));
        // It stays as long as the doubt would have.
        assert_eq!(settled.expires(), told.expires());
        assert_eq!(known(bench.claim("a")), settled);
    }
}

#[test]
fn the_first_definite_word_stays() {
    for (first, second) in [(executed(), rejected()), (rejected(), executed())] {
        for other in [second, timed_out(), Ended::Interrupted, Ended::NotSent] {
            let mut bench = Bench::new();
            let claimed = bench.ended("a", first.clone());
            let before = bench.show("a");
            assert_eq!(bench.settle(&claimed, other), Settled::Foreign);
            assert_eq!(bench.show("a"), before);
        }
    }
}

#[test]
fn a_settle_that_is_handed_over_twice_is_recorded_once() {
    let mut bench = Bench::new();
    let claimed = run(bench.claim("a"));
    let first = recorded(bench.settle(&claimed, executed()));
    bench.pass(SECOND);
    assert_eq!(recorded(bench.settle(&claimed, executed())), first);
    assert_eq!(bench.show("a"), Some(first));
}

#[test]
fn a_foreign_attempts_settle_is_refused_and_changes_nothing() {
    let mut bench = Bench::new();
    let claimed = run(bench.claim("a"));
    let owner = claimed.owner;
    let foreign = [
        Record { fence: claimed.fence + 1, ..claimed.clone() },
        Record { fence: claimed.fence - 1, ..claimed.clone() },
        Record { attempt: 2, ..claimed.clone() },
        Record { owner: Owner { boot: owner.boot + 1, ..owner }, ..claimed.clone() },
        Record { owner: Owner { instance: owner.instance + 1, ..owner }, ..claimed.clone() },
        Record { key: Key::parse("b").unwrap(), ..claimed.clone() },
        Record { principal: Principal::named("bob"), ..claimed.clone() },
    ];
    for ended in [executed(), rejected(), timed_out(), Ended::Interrupted, Ended::NotSent] {
        for other in &foreign {
            assert_eq!(bench.settle(other, ended.clone()), Settled::Foreign, "{other:?}");
            assert_eq!(bench.show("a"), Some(claimed.clone()));
        }
    }
    assert_eq!(bench.ledger.usage().records(), 1);
}

#[test]
fn an_earlier_attempts_settle_is_refused_while_a_later_one_runs() {
    let mut bench = Bench::new();
    let first = bench.ended("a", timed_out());
    let second = run(bench.claim_to_resend("a"));
    for ended in [executed(), rejected(), timed_out(), Ended::NotSent] {
        assert_eq!(bench.settle(&first, ended), Settled::Foreign);
    }
    assert_eq!(bench.show("a"), Some(second));
}

#[test]
fn the_settle_of_a_claim_that_was_forgotten_does_not_touch_the_next_one() {
    let mut bench = Bench::new();
    let first = bench.ended("a", timed_out());
    let consent = Consent::MayRunAgain;
    bench.govern(Operation::Forget { identity: identity("a"), consent }).unwrap();
    assert_eq!(bench.settle(&first, executed()), Settled::Foreign);
    let second = run(bench.claim("a"));
    assert_eq!(bench.settle(&first, rejected()), Settled::Foreign);
    assert_eq!(bench.show("a"), Some(second));
}

#[test]
fn a_withdrawal_of_the_first_attempt_frees_the_key() {
    let mut bench = Bench::new();
    let claimed = run(bench.claim("a"));
    assert_eq!(bench.settle(&claimed, Ended::NotSent), Settled::Withdrawn);
    assert_eq!(bench.show("a"), None);
    assert_eq!(bench.look("a"), Decision::Free);
    let again = run(bench.claim("a"));
    assert_eq!(again.attempt, 1);
    // The withdrawn claim has no say any more.
    assert_eq!(bench.settle(&claimed, executed()), Settled::Foreign);
    assert_eq!(bench.settle(&claimed, Ended::NotSent), Settled::Foreign);
    assert_eq!(bench.show("a"), Some(again));
}

#[test]
fn a_withdrawal_of_a_later_attempt_leaves_the_key_as_it_was_before() {
    let mut bench = Bench::new();
    let first = bench.ended("a", timed_out());
    let before = bench.show("a");
    let second = run(bench.claim_to_resend("a"));
    assert_eq!(bench.settle(&second, Ended::NotSent), Settled::Withdrawn);
    // The request that may have run is the first one; the second never left.
    assert_eq!(bench.show("a"), before);
    assert_eq!(bench.settle(&second, executed()), Settled::Foreign);
    assert_eq!(recorded(bench.settle(&first, executed())).attempt, 1);
}

#[test]
fn a_withdrawn_attempt_does_not_count_as_one() {
    let mut bench = Bench::with(Config { attempts_max: 2, ..Config::default() });
    bench.ended("a", timed_out());
    for _ in 0..3 {
        let second = run(bench.claim_to_resend("a"));
        assert_eq!(second.attempt, 2);
        assert_eq!(bench.settle(&second, Ended::NotSent), Settled::Withdrawn);
    }
}

#[test]
fn a_rejection_of_a_later_attempt_stays_unknown() {
    let mut bench = Bench::new();
    bench.ended("a", timed_out());
    bench.pass(SECOND);
    let second = run(bench.claim_to_resend("a"));
    let told = recorded(bench.settle(&second, rejected()));
    let since = Timestamp::from_milliseconds(START);
    assert_eq!((&told.state, told.doubt), (&State::InDoubt, Some((since, Doubt::RejectedLater))));
    assert_eq!(known(bench.claim("a")), told);
}

#[test]
fn a_later_attempt_that_was_executed_settles_the_key() {
    let mut bench = Bench::new();
    bench.ended("a", timed_out());
    let second = run(bench.claim_to_resend("a"));
    let settled = recorded(bench.settle(&second, executed()));
    assert_eq!((settled.state_name(), settled.attempt), (StateName::Executed, 2));
    assert_eq!(known(bench.claim_to_resend("a")).request_id, second.request_id);
}

#[test]
fn a_result_too_large_for_a_record_keeps_what_happened() {
    let mut bench = Bench::new();
    let claimed = run(bench.claim("a"));
    let tags = Tags::from([("blob".into(), "x".repeat(20 << 10))]);
    let large = Settlement { tags, ..settlement(true) };
    let settled = recorded(bench.settle(&claimed, Ended::Answered(large)));
    let State::Settled(kept) = &settled.state else { panic!("{settled:?}") };
    assert!(kept.executed && kept.truncated && kept.tags.is_empty());
    assert!(settled.encoded_len() <= bench.limits.record_bytes_max);
    assert_eq!(bench.show("a"), Some(settled));
}

#[test]
fn nothing_that_is_staged_is_on_the_disk() {
    let mut bench = Bench::new();
    let proposal = bench.proposal("a");
    let answers = bench.staged(vec![Operation::Claim(Box::new(proposal))]);
    assert!(matches!(answers[0], Answer::Decision(Decision::Run(_))));
    assert_eq!(bench.store.get(&identity("a")), Ok(None));
    // A crash here: nobody was told, and the key is new.
    assert_eq!(bench.restart(), Recovered { records: 0, doubted: 0 });
    run(bench.claim("a"));
}
