//! What operators may do, and how they see what there is.

use super::*;
use crate::idempotency::{Listed, Resolution};

fn resolve(key: &str, executed: bool) -> Operation {
    let resolved = Some(Resolution { by: "kim".into(), why: "saw it in the warehouse".into() });
    let settlement = Box::new(Settlement { resolved, ..settlement(executed) });
    Operation::Resolve { identity: identity(key), settlement }
}

fn forget(key: &str, consent: Consent) -> Operation {
    Operation::Forget { identity: identity(key), consent }
}

#[test]
fn a_key_in_doubt_is_resolved_on_an_operators_word() {
    for (word, state) in [(true, StateName::Executed), (false, StateName::Rejected)] {
        let mut bench = Bench::new();
        bench.ended("a", timed_out());
        let before = bench.show("a").unwrap();
        bench.pass(SECOND);
        let resolved = *bench.govern(resolve("a", word)).unwrap();
        assert_eq!(resolved.state_name(), state);
        assert_eq!(frame(&resolved), frame(&before));
        let State::Settled(settlement) = &resolved.state else { panic!("{resolved:?}") };
        assert_eq!(settlement.at, bench.ledger.now());
        assert_eq!(settlement.resolved.as_ref().unwrap().by, "kim");
        assert_eq!(known(bench.claim_to_resend("a")), resolved);
    }
}

#[test]
fn an_operators_word_is_definite() {
    let mut bench = Bench::new();
    let claimed = bench.ended("a", timed_out());
    bench.govern(resolve("a", true)).unwrap();
    assert_eq!(bench.settle(&claimed, rejected()), Settled::Foreign);
    let refused = bench.govern(resolve("a", false));
    assert_eq!(refused, Err(Refusal::NotInDoubt(StateName::Executed)));
    assert_eq!(bench.show("a").unwrap().state_name(), StateName::Executed);
}

#[test]
fn only_what_is_in_doubt_can_be_resolved() {
    let mut bench = Bench::new();
    assert_eq!(bench.govern(resolve("a", true)), Err(Refusal::Absent));
    let claimed = run(bench.claim("a"));
    assert_eq!(bench.govern(resolve("a", true)), Err(Refusal::NotInDoubt(StateName::InProgress)));
    recorded(bench.settle(&claimed, rejected()));
    assert_eq!(bench.govern(resolve("a", true)), Err(Refusal::NotInDoubt(StateName::Rejected)));
    assert_eq!(bench.show("a").unwrap().state_name(), StateName::Rejected);
}

#[test]
fn a_long_reason_does_not_make_a_record_too_large() {
    let mut bench = Bench::new();
    bench.ended("a", timed_out());
    let resolved = Some(Resolution { by: "kim".into(), why: "ü".repeat(20 << 10) });
    let settlement = Box::new(Settlement { resolved, ..settlement(true) });
    bench.govern(Operation::Resolve { identity: identity("a"), settlement }).unwrap();
    let record = bench.show("a").unwrap();
    assert!(record.encoded_len() <= bench.limits.record_bytes_max);
    let State::Settled(kept) = record.state else { panic!("{record:?}") };
    assert!(kept.executed && kept.truncated);
    assert_eq!(kept.resolved.unwrap().by, "kim");
}

#[test]
fn a_settled_key_is_forgotten_and_new_again() {
    let mut bench = Bench::new();
    bench.ended("a", executed());
    let forgotten = bench.govern(forget("a", Consent::Missing)).unwrap();
    assert_eq!(forgotten.state_name(), StateName::Executed);
    assert_eq!(run(bench.claim("a")).attempt, 1);
}

#[test]
fn to_forget_what_may_have_run_needs_consent() {
    let mut bench = Bench::new();
    bench.ended("a", timed_out());
    assert_eq!(bench.govern(forget("a", Consent::Missing)), Err(Refusal::NeedsConsent));
    assert_eq!(known(bench.claim("a")).state, State::InDoubt);
    bench.govern(forget("a", Consent::MayRunAgain)).unwrap();
    run(bench.claim("a"));
}

#[test]
fn what_runs_cannot_be_forgotten() {
    let mut bench = Bench::new();
    let claimed = run(bench.claim("a"));
    assert_eq!(bench.govern(forget("a", Consent::MayRunAgain)), Err(Refusal::InProgress));
    assert_eq!(bench.show("a"), Some(claimed));
    assert_eq!(bench.govern(forget("b", Consent::MayRunAgain)), Err(Refusal::Absent));
}

#[test]
fn what_is_over_can_be_neither_resolved_nor_forgotten() {
    let mut bench = Bench::new();
    bench.ended("a", timed_out());
    bench.pass(30 * DAY);
    assert_eq!(bench.govern(resolve("a", true)), Err(Refusal::Absent));
    assert_eq!(bench.govern(forget("a", Consent::MayRunAgain)), Err(Refusal::Absent));
}

fn page(bench: &mut Bench, selection: Selection) -> Listed {
    match bench.one(Operation::List(Box::new(selection))) {
        Answer::Listed(listed) => listed,
        other => panic!("not the answer to a list: {other:?}"),
    }
}

/// Every record of a selection, and how many pieces it came in.
fn pages(bench: &mut Bench, selection: &Selection) -> (Vec<Record>, usize) {
    let (mut records, mut pieces, mut after) = (Vec::new(), 0, None);
    loop {
        let listed = page(bench, Selection { after, ..selection.clone() });
        assert!(listed.records.len() <= selection.max);
        records.extend(listed.records);
        pieces += 1;
        after = listed.next;
        if after.is_none() {
            return (records, pieces);
        }
    }
}

#[test]
fn a_list_shows_every_record_once_in_pieces_of_any_size() {
    let mut bench = Bench::new();
    for number in 0..7 {
        run(bench.claim(&format!("key-{number}")));
    }
    for max in 1..9 {
        let (records, pieces) = pages(&mut bench, &Selection { max, ..Selection::default() });
        assert_eq!(records.len(), 7);
        assert!(records.is_sorted_by(|one, other| one.fence < other.fence), "in the order of claims");
        assert!(pieces <= 7 / max + 1);
    }
    assert_eq!(page(&mut bench, Selection::default()), Listed::default());
}

#[test]
fn a_list_holds_what_was_asked_for_and_nothing_that_is_over() {
    let mut bench = Bench::new();
    bench.ended("over", executed());
    bench.pass(DAY);
    bench.ended("done", executed());
    bench.ended("refused", rejected());
    bench.ended("doubted", timed_out());
    run(bench.claim("running"));
    let proposal = bench.proposal("of bob");
    run(bench.propose(Proposal { principal: Principal::named("bob"), ..proposal }));
    let all = Selection { max: 2, ..Selection::default() };
    assert_eq!(pages(&mut bench, &all).0.len(), 5);
    for (state, count) in [
        (StateName::Executed, 1),
        (StateName::Rejected, 1),
        (StateName::InDoubt, 1),
        (StateName::InProgress, 2),
    ] {
        let (records, _) = pages(&mut bench, &Selection { state: Some(state), ..all.clone() });
        assert_eq!(records.len(), count, "{state:?}");
        assert!(records.iter().all(|record| record.state_name() == state));
    }
    let principal = Some(Principal::named("bob"));
    let (records, _) = pages(&mut bench, &Selection { principal, ..all });
    assert_eq!(records.len(), 1);
}

#[test]
fn a_list_that_finds_nothing_still_ends_its_piece_after_so_many_records() {
    let mut bench = Bench::new();
    let keys = LIST_VISITS_MAX + 2;
    let claims = (0..keys).map(|number| {
        let proposal = bench.proposal(&format!("key-{number}"));
        Operation::Claim(Box::new(proposal))
    });
    let claims = claims.collect();
    bench.batch(claims);
    let selection = Selection { state: Some(StateName::InDoubt), max: 10, ..Selection::default() };
    let first = page(&mut bench, selection.clone());
    assert!(first.records.is_empty() && first.next.is_some());
    let second = page(&mut bench, Selection { after: first.next, ..selection });
    assert_eq!(second, Listed::default());
}
