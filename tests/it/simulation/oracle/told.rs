//! What may be said: once to each call, nothing but the truth, and never differently later.

use kubemq_mcp::domain::{Cause, Outcome, RequestId};
use kubemq_mcp::idempotency::{Identity, Record, State};

use super::super::answer::Answer;
use super::super::disk::Disk;
use super::super::stage::CallId;
use super::{Oracle, Way, call_of};

/// A definite outcome that somebody was told, and that will be told again.
#[derive(Clone)]
pub struct Acknowledged {
    at: u64,
    command: u8,
    executed: bool,
    request: RequestId,
}

impl Oracle {
    /// A call is answered.
    pub fn answered(&mut self, call: CallId, answer: Answer, disk: &Disk) {
        let asked = &self.calls[call];
        assert!(asked.answer.is_none(), "call {call} is answered twice");
        assert!(!asked.is_gone, "call {call} is answered after a crash");
        self.is_true(call, &answer);
        self.is_of_its_life(call, &answer);
        self.is_what_was_told_before(call, &answer);
        if answer.is_definite() && answer.recorded {
            let executed = answer.executed() == Some(true);
            let request = answer.request.clone().expect("what is definite names its request");
            let life = self.life_of(call_of(&request));
            // Settled and forgotten in one batch, it never was there.
            let is_there = disk.has_said(&request, executed) || life.is_forgotten;
            assert!(is_there, "call {call} is told what is not on the disk");
            life.is_denied |= !executed;
            let (identity, command) = (self.calls[call].identity, self.calls[call].errand.command);
            let at = self.arrivals;
            self.acknowledged.insert(identity, Acknowledged { at, command, executed, request });
        }
        self.figures.count(format!("told {}", answer.cause.as_str()));
        if answer.replayed {
            self.figures.count("replays");
        }
        self.calls[call].answer = Some(answer);
    }

    /// It does not contradict what the responder did.
    fn is_true(&mut self, call: CallId, answer: &Answer) {
        match answer.outcome() {
            Outcome::Executed | Outcome::Rejected => {
                let request = call_of(answer.request.as_ref().expect("what is definite names its request"));
                self.life_of(request);
                let lives = &self.lives[&self.calls[request].identity];
                let life = lives.iter().find(|life| life.claims.contains(&request));
                let ran = life.is_some_and(|life| self.any(life, Way::Ran));
                assert_eq!(answer.executed(), Some(ran), "call {call} is told {answer:?}");
            }
            Outcome::NotSent => {
                let way = self.calls[call].request;
                assert_eq!(way, Way::Never, "call {call} was sent and is told {answer:?}");
                // A conflict is about another command than the one that may have run.
                if answer.executed() == Some(false) && answer.cause != Cause::KeyConflict {
                    let last = self.last(self.calls[call].identity);
                    let ran = last.is_some_and(|life| self.is_alive(life) && self.any(life, Way::Ran));
                    assert!(!ran, "call {call} is told that nothing ran: {answer:?}");
                }
            }
            Outcome::Unknown => {
                let request = answer.request.as_ref().map(call_of).expect("something may have run");
                let [asks, runs] = [call, request].map(|call| self.calls[call].arrival.map(|(life, _)| life));
                let may_run = answer.cause != Cause::InProgress || asks == runs;
                assert!(may_run, "call {call} is told that what a crash has ended is in progress");
            }
        }
    }

    /// It names a request of the key's life: the first one, where there is only one.
    fn is_of_its_life(&mut self, call: CallId, answer: &Answer) {
        let Some(request) = answer.request.as_ref().map(call_of) else { return };
        let (own, told) = (self.calls[call].identity, self.calls[request].identity);
        assert_eq!(own, told, "call {call} is told of another key");
        let (mine, other) = (self.calls[call].errand.command, self.calls[request].errand.command);
        assert_eq!(mine, other, "call {call} is told of another command");
        let is_sent = answer.outcome() != Outcome::NotSent;
        let arrived = self.calls[call].arrival.expect("who is answered has come").1;
        let life = self.life_of(request);
        assert!(life.over_at.is_none_or(|over| arrived <= over), "call {call} is told of a life before it");
        if !life.takes_care {
            assert_eq!(request, life.claims[0], "call {call} is not told of the first request");
        }
        assert!(!is_sent || life.attempts.contains(&request), "call {call} is told of what never left");
        assert!(!answer.replayed || request != call, "call {call} is told that it is a replay of itself");
    }

    /// What somebody was told for good is told to everybody who asks later, as long as it is kept.
    fn is_what_was_told_before(&mut self, call: CallId, answer: &Answer) {
        let asked = &self.calls[call];
        let arrived = asked.arrival.expect("who is answered has come").1;
        let Some(before) = self.acknowledged(asked.identity).filter(|before| before.at < arrived) else {
            return;
        };
        if !answer.looked_up {
            return;
        }
        if asked.errand.command != before.command {
            assert_eq!(answer.cause, Cause::KeyConflict, "call {call}");
            return;
        }
        let told = (answer.executed(), answer.request.as_ref(), answer.replayed);
        let same = (Some(before.executed), Some(&before.request), true);
        assert_eq!(told, same, "call {call} is told otherwise: {answer:?}");
        self.figures.count("acknowledged and told again");
    }

    /// The last definite word on a key, unless its life is over.
    fn acknowledged(&self, identity: Identity) -> Option<Acknowledged> {
        let before = self.acknowledged.get(&identity)?;
        let life = self.last(identity).filter(|life| self.is_alive(life))?;
        life.claims.contains(&call_of(&before.request)).then(|| before.clone())
    }

    /// Somebody looks at a key.
    pub fn shown(&self, identity: Identity, record: Option<&Record>) {
        let Some(before) = self.acknowledged(identity) else { return };
        let record = record.expect("what was acknowledged is lost");
        assert_eq!(record.request_id, before.request);
        let State::Settled(settlement) = &record.state else { panic!("unsettled again: {record:?}") };
        assert_eq!(settlement.executed, before.executed);
    }

    /// The agent, its turn and what it is told.
    pub fn told(&self, call: CallId) -> (usize, u32, Answer) {
        let told = &self.calls[call];
        (told.agent, told.turn, told.answer.clone().expect("it was answered"))
    }

    /// What that life had open is told nothing.
    pub fn crashed(&mut self, life: u32) {
        self.figures.count("crashes");
        for call in &mut self.calls {
            if call.arrival.is_some_and(|(of, _)| of == life) && call.answer.is_none() {
                call.is_gone = true;
                self.figures.count("told nothing");
            }
        }
    }

    /// At the end everybody was told, or a crash is the reason.
    pub fn everybody_was_told(&self) {
        for (call, asked) in self.calls.iter().enumerate() {
            assert!(asked.answer.is_some() != asked.is_gone, "call {call} waits for ever");
        }
    }
}
