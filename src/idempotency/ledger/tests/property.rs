//! Whatever is asked in whatever order, the ledger says what the naive model says.

use proptest::prelude::*;
use proptest::sample::Index;

use super::model::{End, Entry, Limits, Model, Phase, Told, Wish};
use super::*;
use crate::domain::Cause;

const LIMITS: Limits =
    Limits { records: 5, records_each: 4, attempts: 3, keep: 20 * SECOND, keep_doubts: 60 * SECOND };
const PRINCIPALS: [&str; 2] = ["ada", "bob"];
const KEYS: [&str; 3] = ["a", "b", "c"];

#[derive(Clone, Debug)]
enum Act {
    Claim { name: Name, command: u8, resends: bool },
    Look { name: Name, command: u8 },
    Settle { which: Index, forgery: Forgery, end: End },
    Show(Name),
    List { who: usize },
    Resolve { name: Name, executed: bool },
    Forget { name: Name, may_run_again: bool },
    Sweep { max: usize },
}

#[derive(Clone, Copy, Debug)]
struct Name {
    who: usize,
    key: usize,
}

/// What is wrong with the claim that a settle shows.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Forgery {
    Genuine,
    Fence,
    Attempt,
    Boot,
    Instance,
}

#[derive(Clone, Debug)]
enum Move {
    Batch { acts: Vec<Act>, disk_is_full: bool, fate: Fate },
    ClockTo(u64),
    Restart,
}

/// What becomes of a commit.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Durable,
    FailsAndIsNotThere,
    FailsAndIsThere,
}

fn name() -> impl Strategy<Value = Name> {
    (0..PRINCIPALS.len(), 0..KEYS.len()).prop_map(|(who, key)| Name { who, key })
}

fn act() -> impl Strategy<Value = Act> {
    let command = || prop_oneof![5 => Just(1_u8), 1 => Just(2)];
    let end = prop_oneof![
        3 => any::<bool>().prop_map(|executed| End::Answered { executed }),
        3 => Just(End::Unknown),
        2 => Just(End::NotSent),
    ];
    let forgery = prop_oneof![
        12 => Just(Forgery::Genuine),
        1 => Just(Forgery::Fence),
        1 => Just(Forgery::Attempt),
        1 => Just(Forgery::Boot),
        1 => Just(Forgery::Instance),
    ];
    prop_oneof![
        8 => (name(), command(), any::<bool>())
            .prop_map(|(name, command, resends)| Act::Claim { name, command, resends }),
        1 => (name(), command()).prop_map(|(name, command)| Act::Look { name, command }),
        8 => (any::<Index>(), forgery, end)
            .prop_map(|(which, forgery, end)| Act::Settle { which, forgery, end }),
        1 => name().prop_map(Act::Show),
        1 => (0..PRINCIPALS.len()).prop_map(|who| Act::List { who }),
        1 => (name(), any::<bool>()).prop_map(|(name, executed)| Act::Resolve { name, executed }),
        1 => (name(), any::<bool>()).prop_map(|(name, may_run_again)| Act::Forget { name, may_run_again }),
        1 => (0_usize..4).prop_map(|max| Act::Sweep { max }),
    ]
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let fate = prop_oneof![
        12 => Just(Fate::Durable),
        1 => Just(Fate::FailsAndIsNotThere),
        1 => Just(Fate::FailsAndIsThere),
    ];
    let batch = (prop::collection::vec(act(), 0..4), prop::bool::weighted(0.1), fate)
        .prop_map(|(acts, disk_is_full, fate)| Move::Batch { acts, disk_is_full, fate });
    let one = prop_oneof![
        12 => batch,
        // The clock stands anywhere around the start, before or after where it stood.
        2 => (0..120_u64).prop_map(|seconds| Move::ClockTo(START - 30 * SECOND + seconds * SECOND)),
        1 => Just(Move::Restart),
    ];
    prop::collection::vec(one, 0..40)
}

/// The ledger and the model, side by side.
struct Pair {
    bench: Bench,
    model: Model,
    /// The claims that were told, with the ticket of the model.
    claims: Vec<(Record, usize)>,
    fence: u64,
}

impl Pair {
    fn new() -> Self {
        let limits = Config {
            records_max: LIMITS.records,
            records_per_principal_max: LIMITS.records_each,
            attempts_max: LIMITS.attempts,
            record_keep_seconds: LIMITS.keep / SECOND,
            in_doubt_keep_seconds: LIMITS.keep_doubts / SECOND,
            ..Config::default()
        };
        let (bench, model) = (Bench::with(limits), Model::new(LIMITS, START));
        Self { bench, model, claims: Vec::new(), fence: 0 }
    }

    fn go(&mut self, step: Move) {
        match step {
            Move::Batch { acts, disk_is_full, fate } => self.batch(acts, disk_is_full, fate),
            Move::ClockTo(wall) => self.bench.wall = wall,
            Move::Restart => self.restart(),
        }
        assert_eq!(self.bench.ledger.now().milliseconds(), self.model.now());
    }

    fn restart(&mut self) {
        self.bench.restart();
        self.model.restart(self.bench.wall);
    }

    fn batch(&mut self, acts: Vec<Act>, disk_is_full: bool, fate: Fate) {
        self.bench.free_bytes = if disk_is_full { 0 } else { PLENTY };
        self.bench.staged(Vec::new());
        self.model.begin(self.bench.wall);
        let mut runs = Vec::new();
        for act in acts {
            let (operation, expected, ticket) = self.both(act.clone(), disk_is_full);
            let answer = self.bench.staged(vec![operation]).remove(0);
            if let (Answer::Decision(Decision::Run(record)), Some(ticket)) = (&answer, ticket) {
                runs.push((*record.clone(), ticket));
            }
            assert_eq!(told(answer), expected, "{act:?}");
        }
        let (changes, head) = self.bench.ledger.take();
        if fate != Fate::FailsAndIsNotThere {
            if !changes.is_empty() {
                self.bench.store.commit(&changes, &head).unwrap();
            }
            self.model.commit(!changes.is_empty());
        }
        if fate != Fate::Durable {
            // Nothing of the batch is told, and the store is closed until the next start.
            self.restart();
            return;
        }
        self.bench.counts_are_right();
        for (record, _) in &runs {
            assert!(record.fence > self.fence, "a fence comes twice");
            self.fence = record.fence;
        }
        self.claims.extend(runs);
    }

    /// The operation, what the model says to it, and the ticket of a claim.
    fn both(&mut self, act: Act, disk_is_full: bool) -> (Operation, Told, Option<usize>) {
        match act {
            Act::Claim { name, command, resends } => self.claim(name, command, resends, disk_is_full),
            Act::Look { name, command } => {
                let identity = name.identity();
                let operation = Operation::Look { identity, fingerprint: [command; 32].into() };
                (operation, self.model.look(identity, command), None)
            }
            Act::Settle { which, forgery, end } => {
                if self.claims.is_empty() {
                    return (Operation::Sweep { max: 0 }, Told::Swept(0), None);
                }
                let (claimed, ticket) = which.get(&self.claims).clone();
                let identity = claimed.identity();
                let ticket = (forgery == Forgery::Genuine).then_some(ticket);
                let claimed = Box::new(forged(claimed, forgery));
                let operation = Operation::Settle { claimed, ended: ended(end) };
                (operation, self.model.settle(identity, ticket, end), None)
            }
            Act::Show(name) => {
                let identity = name.identity();
                (Operation::Show(identity), self.model.show(identity), None)
            }
            Act::List { who } => {
                let principal = Some(Principal::named(PRINCIPALS[who]));
                let selection = Selection { principal, max: 100, ..Selection::default() };
                (Operation::List(Box::new(selection)), self.model.list(who), None)
            }
            Act::Resolve { name, executed } => {
                let identity = name.identity();
                let settlement = Box::new(settlement(executed));
                let expected = self.model.resolve(identity, executed);
                (Operation::Resolve { identity, settlement }, expected, None)
            }
            Act::Forget { name, may_run_again } => {
                let identity = name.identity();
                let consent = if may_run_again { Consent::MayRunAgain } else { Consent::Missing };
                let expected = self.model.forget(identity, may_run_again);
                (Operation::Forget { identity, consent }, expected, None)
            }
            Act::Sweep { max } => (Operation::Sweep { max }, self.model.sweep(max), None),
        }
    }

    fn claim(
        &mut self,
        name: Name,
        command: u8,
        resends: bool,
        disk_is_full: bool,
    ) -> (Operation, Told, Option<usize>) {
        let proposal = Proposal {
            principal: Principal::named(PRINCIPALS[name.who]),
            fingerprint: [command; 32].into(),
            resend: if resends { Resend::InDoubt } else { Resend::Never },
            ..self.bench.proposal(KEYS[name.key])
        };
        let request = proposal.request_id.to_string();
        let wish = Wish { identity: name.identity(), who: name.who, command, request, resends };
        let (expected, ticket) = self.model.claim(wish, disk_is_full);
        (Operation::Claim(Box::new(proposal)), expected, ticket)
    }
}

impl Name {
    fn identity(self) -> Identity {
        Identity::of(&Principal::named(PRINCIPALS[self.who]), &Key::parse(KEYS[self.key]).unwrap())
    }
}

fn forged(claimed: Record, forgery: Forgery) -> Record {
    let owner = claimed.owner;
    match forgery {
        Forgery::Genuine => claimed,
        // Far from any claim that there is.
        Forgery::Fence => Record { fence: claimed.fence + 1_000, ..claimed },
        Forgery::Attempt => Record { attempt: claimed.attempt + 1, ..claimed },
        Forgery::Boot => Record { owner: Owner { boot: owner.boot + 1, ..owner }, ..claimed },
        Forgery::Instance => Record { owner: Owner { instance: owner.instance + 1, ..owner }, ..claimed },
    }
}

fn ended(end: End) -> Ended {
    match end {
        End::Answered { executed } => Ended::Answered(settlement(executed)),
        End::Unknown => Ended::Unknown(Cause::TimedOut),
        End::NotSent => Ended::NotSent,
    }
}

fn entry(record: &Record) -> Entry {
    let who = PRINCIPALS.iter().position(|name| *name == record.principal.as_str()).unwrap();
    let (command, first_seen) = (record.fingerprint.as_bytes()[0], record.first_seen.milliseconds());
    let phase = match &record.state {
        State::InProgress => Phase::Running,
        State::InDoubt => Phase::Doubt,
        State::Settled(settlement) => Phase::Done { executed: settlement.executed },
    };
    let doubted = record.doubt.is_some();
    let mut seen = Entry::of(who, command, record.request_id.as_str(), record.attempt, first_seen);
    (seen.phase, seen.doubted) = (phase, doubted);
    seen
}

/// What the ledger says, in the words of the model.
fn told(answer: Answer) -> Told {
    match answer {
        Answer::Decision(decision) => match decision {
            Decision::Run(record) => Told::Run(entry(&record)),
            Decision::Free => Told::Free,
            Decision::Running(record) => Told::Running(entry(&record)),
            Decision::Known(record) => Told::Known(entry(&record)),
            Decision::Conflict => Told::Conflict,
            Decision::Full(_) => Told::Full,
        },
        Answer::Settled(Settled::Recorded(record)) => Told::Recorded(entry(&record)),
        Answer::Settled(Settled::Withdrawn) => Told::Withdrawn,
        Answer::Settled(Settled::Foreign) => Told::Foreign,
        Answer::Shown(record) => Told::Shown(record.map(|record| entry(&record))),
        Answer::Listed(listed) => Told::Listed(listed.records.iter().map(entry).collect()),
        Answer::Governed(Ok(record)) => Told::Changed(entry(&record)),
        Answer::Governed(Err(_)) => Told::Unchanged,
        Answer::Swept(swept) => Told::Swept(swept),
    }
}

proptest! {
    #[test]
    fn the_ledger_says_what_the_model_says(moves in moves()) {
        let mut pair = Pair::new();
        for step in moves {
            pair.go(step);
        }
    }
}
