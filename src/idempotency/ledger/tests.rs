//! One test for each rule of the ledger, and a naive model that it must agree with.

mod claim;
mod expiry;
mod limit;
mod model;
mod operator;
mod property;
mod recovery;
mod settle;

use std::collections::BTreeMap;

use super::*;
use crate::domain::{Channel, Key, Principal, RequestId, Tags};
use crate::idempotency::{Ended, MemoryStore, Proposal, Settled, Store};

const SECOND: u64 = 1_000;
const DAY: u64 = 86_400 * SECOND;
const START: u64 = 1_800_000_000 * SECOND;
const PLENTY: u64 = u64::MAX;

/// A ledger over a store, driven as the commit thread drives it.
struct Bench {
    limits: Config,
    store: MemoryStore,
    ledger: Ledger,
    wall: u64,
    free_bytes: u64,
    requests: u32,
}

impl Bench {
    fn new() -> Self {
        Self::with(Config::default())
    }

    fn with(limits: Config) -> Self {
        let mut store = MemoryStore::new(7);
        let (ledger, _) = Ledger::recover(&mut store, &limits, Timestamp::from_milliseconds(START)).unwrap();
        Self { limits, store, ledger, wall: START, free_bytes: PLENTY, requests: 0 }
    }

    /// Applies a batch and makes it durable.
    fn batch(&mut self, operations: Vec<Operation>) -> Vec<Answer> {
        let answers = self.staged(operations);
        let (changes, head) = self.ledger.take();
        self.store.commit(&changes, &head).unwrap();
        self.counts_are_right();
        answers
    }

    /// Applies a batch and leaves it staged.
    fn staged(&mut self, operations: Vec<Operation>) -> Vec<Answer> {
        self.ledger.begin(Timestamp::from_milliseconds(self.wall), self.free_bytes);
        operations.into_iter().map(|operation| self.ledger.apply(operation, &self.store).unwrap()).collect()
    }

    fn one(&mut self, operation: Operation) -> Answer {
        self.batch(vec![operation]).remove(0)
    }

    /// What a crash leaves is opened again.
    fn restart(&mut self) -> Recovered {
        let wall = Timestamp::from_milliseconds(self.wall);
        let (ledger, recovered) = Ledger::recover(&mut self.store, &self.limits, wall).unwrap();
        self.ledger = ledger;
        self.counts_are_right();
        recovered
    }

    fn pass(&mut self, milliseconds: u64) {
        self.wall += milliseconds;
    }

    fn proposal(&mut self, key: &str) -> Proposal {
        self.requests += 1;
        Proposal {
            principal: Principal::named("ada"),
            key: Key::parse(key).unwrap(),
            fingerprint: [1; 32].into(),
            channel: Channel::parse("orders").unwrap(),
            request_id: RequestId::from(format!("request-{}", self.requests).as_str()),
            resend: Resend::Never,
        }
    }

    fn propose(&mut self, proposal: Proposal) -> Decision {
        decision(self.one(Operation::Claim(Box::new(proposal))))
    }

    fn claim(&mut self, key: &str) -> Decision {
        let proposal = self.proposal(key);
        self.propose(proposal)
    }

    fn claim_to_resend(&mut self, key: &str) -> Decision {
        let proposal = self.proposal(key);
        self.propose(Proposal { resend: Resend::InDoubt, ..proposal })
    }

    fn look(&mut self, key: &str) -> Decision {
        decision(self.one(Operation::Look { identity: identity(key), fingerprint: [1; 32].into() }))
    }

    fn settle(&mut self, claimed: &Record, ended: Ended) -> Settled {
        match self.one(Operation::Settle { claimed: Box::new(claimed.clone()), ended }) {
            Answer::Settled(settled) => settled,
            other => panic!("not the answer to a settle: {other:?}"),
        }
    }

    fn govern(&mut self, operation: Operation) -> Result<Box<Record>, Refusal> {
        match self.one(operation) {
            Answer::Governed(governed) => governed,
            other => panic!("not the answer to an operator: {other:?}"),
        }
    }

    fn show(&mut self, key: &str) -> Option<Record> {
        match self.one(Operation::Show(identity(key))) {
            Answer::Shown(record) => record.map(|record| *record),
            other => panic!("not the answer to a show: {other:?}"),
        }
    }

    /// A key whose command has ended like this.
    fn ended(&mut self, key: &str, ended: Ended) -> Record {
        let claimed = run(self.claim(key));
        assert!(matches!(self.settle(&claimed, ended), Settled::Recorded(_)));
        claimed
    }

    /// What is counted is what a walk finds.
    fn counts_are_right(&self) {
        let mut records = Vec::new();
        self.store
            .walk(None, &mut |record| {
                records.push(record);
                Walk::On
            })
            .unwrap();
        let usage = self.ledger.usage();
        assert_eq!(usage.records(), records.len());
        assert_eq!(self.store.head().records, records.len() as u64);
        for state in StateName::ALL {
            let found = records.iter().filter(|record| record.state_name() == state).count();
            assert_eq!(usage.records_in(state), found, "{state:?}");
        }
        let mut principals = BTreeMap::new();
        for record in &records {
            *principals.entry(record.principal.as_str()).or_insert(0) += 1;
        }
        for (name, found) in principals {
            assert_eq!(usage.records_of(&Principal::named(name)), found, "{name}");
        }
        let bytes = records.iter().map(|record| match record.state {
            State::InProgress => record.encode().len().max(self.limits.record_bytes_max) as u64,
            _ => record.encode().len() as u64,
        });
        assert_eq!(usage.bytes(), bytes.sum::<u64>());
        let doubts = records.iter().filter(|record| record.state == State::InDoubt);
        assert_eq!(usage.oldest_doubt(), doubts.filter_map(|record| record.doubt.map(|(at, _)| at)).min());
        let mut ends = ends::Ends::default();
        records.iter().for_each(|record| ends.change(&record.identity(), None, Some(record)));
        assert_eq!(self.ledger.ends, ends);
    }
}

fn identity(key: &str) -> Identity {
    Identity::of(&Principal::named("ada"), &Key::parse(key).unwrap())
}

fn decision(answer: Answer) -> Decision {
    match answer {
        Answer::Decision(decision) => decision,
        other => panic!("not the answer to a claim: {other:?}"),
    }
}

#[track_caller]
fn run(decision: Decision) -> Record {
    match decision {
        Decision::Run(record) => *record,
        other => panic!("it may not leave: {other:?}"),
    }
}

#[track_caller]
fn known(decision: Decision) -> Record {
    match decision {
        Decision::Known(record) => *record,
        other => panic!("it is not known: {other:?}"),
    }
}

#[track_caller]
fn recorded(settled: Settled) -> Record {
    match settled {
        Settled::Recorded(record) => *record,
        other => panic!("it is not recorded: {other:?}"),
    }
}

fn settlement(executed: bool) -> Settlement {
    Settlement {
        executed,
        at: Timestamp::default(),
        elapsed_milliseconds: 12,
        error: if executed { String::new() } else { "out of stock".into() },
        responder: "warehouse".into(),
        tags: Tags::from([("order".into(), "4711".into())]),
        truncated: false,
        resolved: None,
    }
}

fn executed() -> Ended {
    Ended::Answered(settlement(true))
}

fn rejected() -> Ended {
    Ended::Answered(settlement(false))
}

fn timed_out() -> Ended {
    Ended::Unknown(crate::domain::Cause::TimedOut)
}

/// Everything of a record but its state and its doubt.
fn frame(record: &Record) -> Record {
    Record { state: State::InProgress, doubt: None, ..record.clone() }
}
