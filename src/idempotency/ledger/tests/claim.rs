//! Who may leave, and what everybody else hears.

use super::*;

#[test]
fn the_first_write_wins_and_a_retry_gets_the_original_result() {
    let mut bench = Bench::new();
    let first = bench.ended("a", executed());
    let replayed = known(bench.claim("a"));
    let State::Settled(settlement) = &replayed.state else { panic!("{replayed:?}") };
    assert!(settlement.executed);
    assert_eq!(replayed.request_id, first.request_id);
    assert_eq!(known(bench.claim("a")), replayed);
}

#[test]
fn of_two_claims_in_one_batch_only_the_first_may_leave() {
    let mut bench = Bench::new();
    let (first, second) = (bench.proposal("a"), bench.proposal("a"));
    let claims = [first, second].map(|proposal| Operation::Claim(Box::new(proposal)));
    let mut answers = bench.batch(claims.into()).into_iter().map(decision);
    let first = run(answers.next().unwrap());
    assert_eq!(answers.next().unwrap(), Decision::Running(Box::new(first)));
}

#[test]
fn a_duplicate_joins_while_the_first_runs() {
    let mut bench = Bench::new();
    let first = run(bench.claim("a"));
    assert_eq!(bench.claim("a"), Decision::Running(Box::new(first.clone())));
    assert_eq!(bench.look("a"), Decision::Running(Box::new(first)));
}

#[test]
fn the_same_key_with_another_command_is_a_conflict_in_every_state() {
    let ends = [None, Some(executed()), Some(rejected()), Some(timed_out())];
    for ended in ends {
        let mut bench = Bench::new();
        let first = run(bench.claim("a"));
        if let Some(ended) = ended {
            recorded(bench.settle(&first, ended));
        }
        let before = bench.show("a");
        let proposal = bench.proposal("a");
        let other = Proposal { fingerprint: [2; 32].into(), resend: Resend::InDoubt, ..proposal };
        assert_eq!(bench.propose(other), Decision::Conflict);
        assert_eq!(bench.show("a"), before);
    }
}

#[test]
fn the_same_key_of_another_principal_has_its_own_record() {
    let mut bench = Bench::new();
    bench.ended("a", executed());
    let proposal = bench.proposal("a");
    let other = run(bench.propose(Proposal { principal: Principal::named("bob"), ..proposal }));
    recorded(bench.settle(&other, rejected()));
    assert_eq!(bench.show("a").unwrap().state_name(), StateName::Executed);
    assert_eq!(bench.ledger.usage().records(), 2);
}

#[test]
fn a_look_never_claims() {
    let mut bench = Bench::new();
    assert_eq!(bench.look("a"), Decision::Free);
    assert_eq!(bench.ledger.usage().records(), 0);
    let claimed = run(bench.claim("a"));
    recorded(bench.settle(&claimed, timed_out()));
    let told = known(bench.look("a"));
    assert_eq!(told.state, State::InDoubt);
    assert_eq!(bench.show("a"), Some(told));
}

#[test]
fn a_rejection_is_told_again_and_not_sent_again() {
    let mut bench = Bench::new();
    bench.ended("a", rejected());
    assert_eq!(known(bench.claim("a")).state_name(), StateName::Rejected);
    assert_eq!(known(bench.claim_to_resend("a")).state_name(), StateName::Rejected);
}

#[test]
fn what_is_in_doubt_is_never_sent_again() {
    let mut bench = Bench::new();
    let first = bench.ended("a", timed_out());
    for _ in 0..3 {
        let told = known(bench.claim("a"));
        assert_eq!((told.state, told.attempt), (State::InDoubt, 1));
        assert_eq!(told.request_id, first.request_id);
    }
}

#[test]
fn resend_in_doubt_with_two_racing_retries_dispatches_one() {
    let mut bench = Bench::new();
    let first = bench.ended("a", timed_out());
    bench.pass(SECOND);
    let resend = |proposal| Proposal { resend: Resend::InDoubt, ..proposal };
    let (one, two) = (resend(bench.proposal("a")), resend(bench.proposal("a")));
    let claims = [one.clone(), two].map(|proposal| Operation::Claim(Box::new(proposal)));
    let mut answers = bench.batch(claims.into()).into_iter().map(decision);
    let second = run(answers.next().unwrap());
    assert_eq!(answers.next().unwrap(), Decision::Running(Box::new(second.clone())));
    assert_eq!(second.attempt, 2);
    assert_eq!(second.request_id, one.request_id);
    assert!(second.fence > first.fence);
    let kept = |record: &Record| (record.fingerprint, record.first_seen, record.in_doubt_until);
    assert_eq!(kept(&second), kept(&first));
}

#[test]
fn a_key_is_resent_until_it_has_had_all_its_attempts() {
    let mut bench = Bench::with(Config { attempts_max: 3, ..Config::default() });
    bench.ended("a", timed_out());
    for attempt in 2..=3 {
        let claimed = run(bench.claim_to_resend("a"));
        assert_eq!(claimed.attempt, attempt);
        recorded(bench.settle(&claimed, timed_out()));
    }
    let told = known(bench.claim_to_resend("a"));
    assert_eq!((told.state, told.attempt), (State::InDoubt, 3));
}

#[test]
fn fences_grow_with_every_claim_and_never_come_twice() {
    let mut bench = Bench::new();
    let mut last = 0;
    for round in 0..4 {
        let claimed = run(bench.claim("a"));
        assert!(claimed.fence > last);
        last = claimed.fence;
        assert_eq!(bench.settle(&claimed, Ended::NotSent), Settled::Withdrawn);
        if round % 2 == 1 {
            bench.restart();
        }
    }
}
