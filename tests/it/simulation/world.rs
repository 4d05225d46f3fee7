//! One run: everything that happens, in the order of time.

use std::collections::BTreeMap;

use kubemq_mcp::idempotency::{Answer as Says, Consent, Operation};

use super::agent::Agent;
use super::commits::Task;
use super::connector::Connector;
use super::disk::Fate;
use super::responder::Responder;
use super::stage::{Event, SECOND, Stage, Step};

const AGENTS: usize = 4;

/// Time in which things go wrong; what began before it comes to its end after it.
const TROUBLE: u64 = 150 * SECOND;

pub struct World {
    stage: Stage,
    agents: Vec<Agent>,
    responder: Responder,
    connector: Option<Connector>,
    lives: u32,
}

/// What happened in a run, and how often.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures(BTreeMap<String, u64>);

impl Figures {
    pub fn count(&mut self, what: impl Into<String>) {
        *self.0.entry(what.into()).or_default() += 1;
    }

    pub fn add(&mut self, other: &Self) {
        for (what, times) in &other.0 {
            *self.0.entry(what.clone()).or_default() += times;
        }
    }

    pub fn assert_that_everything_happened(&self) {
        for what in [
            "crashes",
            "closed stores",
            "failed recoveries",
            "recovered in doubt",
            "dispatches",
            "resends",
            "withdrawals",
            "withdrawn resends",
            "lives after expiry",
            "lives after a forget",
            "late replies recorded",
            "foreign settles",
            "rejected later",
            "resolved",
            "replays",
            "joined",
            "acknowledged and told again",
            "told completed",
            "told rejected",
            "told timed_out",
            "told connection_lost",
            "told in_doubt",
            "told in_progress",
            "told broker_unavailable",
            "told key_conflict",
            "told store_unavailable",
            "told store_full",
            "told overloaded",
            "told internal",
            "told nothing",
        ] {
            assert!(self.0.get(what).is_some_and(|times| *times > 0), "never: {what}; {self:?}");
        }
    }
}

impl World {
    pub fn new(seed: u64, is_told: bool) -> Self {
        let mut stage = Stage::new(seed, is_told);
        let agents = (0..AGENTS).map(|number| Agent::new(number, &mut stage)).collect();
        stage.after(0, Event::Start);
        for event in [Event::SetClock, Event::Operate] {
            let after = stage.between(0, 20 * SECOND);
            stage.after(after, event);
        }
        Self { stage, agents, responder: Responder::default(), connector: None, lives: 0 }
    }

    pub fn run(mut self) -> Figures {
        while let Some(event) = self.stage.next() {
            self.event(event);
            let is_troubled = self.stage.now() < TROUBLE;
            if is_troubled && self.connector.is_some() && self.stage.happens(self.stage.chances.crash) {
                self.crash();
            }
        }
        self.end()
    }

    fn event(&mut self, event: Event) {
        let Self { stage, agents, responder, connector, .. } = self;
        match event {
            Event::Call { agent } => agents[agent].call(stage),
            Event::Silence { agent, turn } => agents[agent].silence(turn, stage),
            Event::Told(call) => {
                let (agent, turn, answer) = stage.oracle.told(call);
                agents[agent].told(turn, &answer, stage);
            }
            Event::Arrive(call) => match connector {
                Some(connector) => connector.arrive(call, stage),
                None => stage.oracle.went_nowhere(call),
            },
            Event::Request { call, life } => responder.request(call, life, stage),
            Event::Inside { life, step } => self.inside(life, step),
            Event::Crash => self.crash(),
            Event::Start => self.start(),
            Event::SetClock => {
                stage.set_clock();
                self.again(Event::SetClock, 30 * SECOND);
            }
            Event::Operate => {
                self.operate();
                self.again(Event::Operate, 8 * SECOND);
            }
        }
    }

    fn again(&mut self, event: Event, within: u64) {
        if self.stage.now() < TROUBLE {
            let after = self.stage.between(1, within);
            self.stage.after(after, event);
        }
    }

    fn inside(&mut self, life: u32, step: Step) {
        let Some(connector) = self.connector.as_mut().filter(|connector| connector.life() == life) else {
            return;
        };
        let was_closed = connector.is_closed();
        let again = match &step {
            Step::Sweep => Some(self.stage.config.sweep_seconds * SECOND),
            Step::Death => Some(20 * SECOND),
            _ => None,
        };
        connector.step(step.clone(), &mut self.stage);
        if connector.is_closed() && !was_closed {
            self.stage.oracle.figures.count("closed stores");
            // Somebody is called, looks at it and starts it anew.
            let after = self.stage.between(0, 10 * SECOND);
            self.stage.after(after, Event::Crash);
        }
        if let Some(within) = again {
            self.again(Event::Inside { life, step }, within);
        }
    }

    fn crash(&mut self) {
        if let Some(connector) = self.connector.take() {
            self.stage.tell(|| "the connector is gone".into());
            self.stage.oracle.crashed(connector.life());
            let after = self.stage.between(1, 2 * SECOND);
            self.stage.after(after, Event::Start);
        }
    }

    fn start(&mut self) {
        self.lives += 1;
        let stage = &mut self.stage;
        // The disk can fail during a start as well, at its first or its second write.
        let fates = [(); 2].map(|()| match stage.happens(stage.chances.commit_fails) {
            true if stage.happens(0.5) => Fate::FailsAndIsThere,
            true => Fate::FailsAndIsNotThere,
            false => Fate::Durable,
        });
        stage.disk.decide(fates.into());
        let started = Connector::start(self.lives, stage);
        stage.disk.decide(Vec::new());
        match started {
            Ok((connector, recovered)) => {
                stage.tell(|| format!("life {} begins: {recovered:?}", connector.life()));
                stage.inside(self.lives, 0, Step::Sweep);
                if stage.happens(stage.chances.death) {
                    let after = stage.between(0, 20 * SECOND);
                    stage.inside(self.lives, after, Step::Death);
                }
                self.connector = Some(connector);
            }
            Err(error) => {
                stage.tell(|| format!("no start: {error}"));
                stage.oracle.figures.count("failed recoveries");
                let after = stage.between(1, 2 * SECOND);
                stage.after(after, Event::Start);
            }
        }
    }

    fn operate(&mut self) {
        let Some(connector) = &mut self.connector else { return };
        let doubted = self.stage.oracle.doubted();
        let looks_for_doubts = !doubted.is_empty() && self.stage.happens(0.6);
        let identities = if looks_for_doubts { doubted } else { self.stage.oracle.identities() };
        let identity = identities[self.stage.below(identities.len())];
        let task = match self.stage.below(6) {
            0 | 1 => Task::Resolve(identity),
            2 | 3 => Task::Forget { identity, consent: Consent::MayRunAgain },
            4 => Task::Forget { identity, consent: Consent::Missing },
            _ => Task::Show(identity),
        };
        connector.submit(task, &mut self.stage);
    }

    /// Everything has come to its end: nothing is left open, and nothing that was acknowledged is lost.
    fn end(mut self) -> Figures {
        self.stage.oracle.everybody_was_told();
        self.stage.chances.commit_fails = 0.0;
        self.lives += 1;
        let (mut connector, _) =
            Connector::start(self.lives, &mut self.stage).expect("nothing goes wrong any more");
        for identity in self.stage.oracle.identities() {
            let said = connector.ledger.apply(Operation::Show(identity), &self.stage.disk);
            let Ok(Says::Shown(record)) = said else { panic!("not shown: {said:?}") };
            self.stage.oracle.shown(identity, record.as_deref());
            self.stage.oracle.rests(identity, record.as_deref());
        }
        self.stage.oracle.figures.clone()
    }
}
