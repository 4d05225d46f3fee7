//! The connector around the ledger: claim ─▶ dispatch ─▶ settle ─▶ answer, with joins in memory. It takes the steps of the
//! real one in the same order; between any two of them it can be gone.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use kubemq_mcp::domain::{Cause, Outcome, Sent, Tags};
use kubemq_mcp::idempotency::{
    Answer as Says, Decision, Ended, Ledger, Record, Recovered, RecoveryError, Settled, Settlement, State,
    Timestamp,
};

use super::answer::Answer;
use super::commits::{Batch, Finished, Task, Work};
use super::responder;
use super::stage::{CallId, SECOND, Stage, Step};

pub struct Connector {
    pub(super) life: u32,
    pub(super) ledger: Ledger,
    pub(super) is_closed: bool,
    pub(super) queue: VecDeque<Work>,
    pub(super) writing: Option<Batch>,
    pub(super) is_busy: bool,
    pub(super) outbox: VecDeque<Vec<Finished>>,
    /// Who waits for the store to decide.
    asking: BTreeSet<CallId>,
    /// Who waits for the end of a claim, by its fence.
    joins: BTreeMap<u64, Vec<Join>>,
    /// Claimed, and not yet on the way.
    claimed: BTreeMap<CallId, Box<Record>>,
    /// On the way.
    flights: BTreeMap<CallId, Box<Record>>,
    /// Ended without an answer, which may still come.
    late: BTreeMap<CallId, Box<Record>>,
}

/// A call that waits for another one, with the record of that.
struct Join {
    call: CallId,
    record: Box<Record>,
}

impl Connector {
    /// Starts over what the last life has left.
    pub fn start(life: u32, stage: &mut Stage) -> Result<(Self, Recovered), RecoveryError> {
        let (wall, written) = (stage.wall(), stage.disk.written());
        let recovered = Ledger::recover(&mut stage.disk, &stage.config, wall);
        stage.oracle.recovered(wall, stage.disk.written() > written, recovered.is_ok());
        let (ledger, recovered) = recovered?;
        stage.oracle.time_is(ledger.now());
        let connector = Self {
            life,
            ledger,
            is_closed: false,
            queue: VecDeque::new(),
            writing: None,
            is_busy: false,
            outbox: VecDeque::new(),
            asking: BTreeSet::new(),
            joins: BTreeMap::new(),
            claimed: BTreeMap::new(),
            flights: BTreeMap::new(),
            late: BTreeMap::new(),
        };
        Ok((connector, recovered))
    }

    pub fn life(&self) -> u32 {
        self.life
    }

    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// A call has come.
    pub fn arrive(&mut self, call: CallId, stage: &mut Stage) {
        stage.oracle.arrived_in(call, self.life);
        self.asking.insert(call);
        let has_room = !stage.happens(stage.chances.overloaded);
        if stage.happens(stage.chances.impatient) {
            let after = stage.between(0, 20);
            stage.inside(self.life, after, Step::Impatience(call));
        }
        self.submit(if has_room { Task::Claim(call) } else { Task::Look(call) }, stage);
    }

    pub fn step(&mut self, step: Step, stage: &mut Stage) {
        match step {
            Step::Apply => self.apply(stage),
            Step::Write => self.write(stage),
            Step::Tell => {
                for finished in self.outbox.pop_front().expect("one for each step") {
                    self.finished(finished, stage);
                }
            }
            Step::Dispatch(call) => self.dispatch(call, stage),
            Step::Reply { call, executed } => self.reply(call, executed, stage),
            Step::Fail { call, cause } => self.fail(call, cause, stage),
            Step::Deadline(call) => self.deadline(call, stage),
            Step::Impatience(call) => {
                if self.asking.remove(&call) {
                    stage.answer(call, Answer::refused(Cause::StoreUnavailable, false));
                }
            }
            Step::Again(task) => self.submit(*task, stage),
            Step::Sweep => self.submit(Task::Sweep, stage),
            Step::Death => self.death(stage),
        }
    }

    fn dispatch(&mut self, call: CallId, stage: &mut Stage) {
        // Its actor may have died meanwhile.
        let Some(claimed) = self.claimed.remove(&call) else { return };
        if stage.happens(stage.chances.broker_down) {
            self.settle(Some(call), claimed, Cause::BrokerUnavailable, Ended::NotSent, stage);
            return;
        }
        stage.oracle.dispatched(call, &stage.disk);
        self.flights.insert(call, claimed);
        let timeout = stage.oracle.timeout(call);
        stage.inside(self.life, timeout, Step::Deadline(call));
        responder::send(call, self.life, stage);
    }

    fn reply(&mut self, call: CallId, executed: bool, stage: &mut Stage) {
        let cause = if executed { Cause::Completed } else { Cause::Rejected };
        let ended = Ended::Answered(settlement(executed));
        if let Some(claimed) = self.flights.remove(&call) {
            self.late.insert(call, claimed.clone());
            self.settle(Some(call), claimed, cause, ended, stage);
        } else if let Some(claimed) = self.late.get(&call).cloned() {
            self.settle(None, claimed, cause, ended, stage);
        }
    }

    fn fail(&mut self, call: CallId, cause: Cause, stage: &mut Stage) {
        if let Some(claimed) = self.flights.remove(&call) {
            self.late.insert(call, claimed.clone());
            self.settle(Some(call), claimed, cause, Ended::Unknown(cause), stage);
        }
    }

    fn deadline(&mut self, call: CallId, stage: &mut Stage) {
        self.fail(call, Cause::TimedOut, stage);
        for joined in self.joins.values_mut() {
            if let Some(place) = joined.iter().position(|join| join.call == call) {
                let join = joined.remove(place);
                stage.answer(call, Answer::in_progress(&join.record));
            }
        }
    }

    fn death(&mut self, stage: &mut Stage) {
        for (call, claimed) in std::mem::take(&mut self.claimed) {
            self.settle(Some(call), claimed, Cause::Internal(Sent::No), Ended::NotSent, stage);
        }
        for (call, claimed) in std::mem::take(&mut self.flights) {
            self.late.insert(call, claimed.clone());
            self.settle(Some(call), claimed, Cause::Internal(Sent::Maybe), Ended::Interrupted, stage);
        }
    }

    fn settle(
        &mut self,
        waiter: Option<CallId>,
        claimed: Box<Record>,
        cause: Cause,
        ended: Ended,
        stage: &mut Stage,
    ) {
        let task = Task::Settle { claimed, cause, ended, waiter };
        if stage.happens(stage.chances.handed_over_twice) {
            // The first one's answer is lost with its actor, or the second one comes when nobody asks any more.
            if stage.happens(0.5) {
                self.submit(task.without_waiter(), stage);
            } else {
                let after = stage.between(0, 30 * SECOND);
                stage.inside(self.life, after, Step::Again(Box::new(task.without_waiter())));
            }
        }
        self.submit(task, stage);
    }

    /// What is durable, or cannot be made so, is told.
    fn finished(&mut self, Finished { task, says }: Finished, stage: &mut Stage) {
        match (task, says) {
            (Task::Claim(call) | Task::Look(call), Some(Says::Decision(decision))) => {
                self.decided(call, decision, stage);
            }
            (Task::Claim(call) | Task::Look(call), None) => {
                if self.asking.remove(&call) {
                    stage.answer(call, Answer::refused(Cause::StoreUnavailable, false));
                }
            }
            (Task::Settle { claimed, cause, ended, waiter }, says) => {
                let settled = says.map(|says| match says {
                    Says::Settled(settled) => settled,
                    other => panic!("not the answer to a settle: {other:?}"),
                });
                self.settled(waiter, claimed, cause, &ended, settled, stage);
            }
            (Task::Show(identity), Some(Says::Shown(record))) => {
                stage.oracle.shown(identity, record.as_deref());
            }
            (Task::Show(_) | Task::Resolve(_) | Task::Forget { .. } | Task::Sweep, _) => {}
            (task, says) => panic!("not an answer to {task:?}: {says:?}"),
        }
    }

    fn decided(&mut self, call: CallId, decision: Decision, stage: &mut Stage) {
        if !self.asking.remove(&call) {
            // Nobody waits for it any more. A claim that nobody holds is withdrawn.
            if let Decision::Run(claimed) = decision {
                self.settle(None, claimed, Cause::Cancelled, Ended::NotSent, stage);
            }
            return;
        }
        let answer = match decision {
            Decision::Run(claimed) => {
                self.claimed.insert(call, claimed);
                let after = stage.between(0, 5);
                stage.inside(self.life, after, Step::Dispatch(call));
                return;
            }
            Decision::Running(record) => {
                let joined = self.joins.entry(record.fence).or_default();
                if joined.len() < stage.config.joins_per_key_max {
                    joined.push(Join { call, record });
                    stage.oracle.figures.count("joined");
                    let timeout = stage.oracle.timeout(call);
                    stage.inside(self.life, timeout, Step::Deadline(call));
                    return;
                }
                Answer::in_progress(&record)
            }
            Decision::Free => Answer::refused(Cause::Overloaded, true),
            Decision::Known(record) => Answer::known(&record),
            Decision::Conflict => Answer::refused(Cause::KeyConflict, true),
            Decision::Full(_) => Answer::refused(Cause::StoreFull, true),
        };
        stage.answer(call, answer);
    }

    fn settled(
        &mut self,
        waiter: Option<CallId>,
        claimed: Box<Record>,
        cause: Cause,
        ended: &Ended,
        settled: Option<Settled>,
        stage: &mut Stage,
    ) {
        let fence = claimed.fence;
        let is_foreign = settled == Some(Settled::Foreign);
        let (recorded, record) = match settled {
            Some(Settled::Recorded(record)) => (true, record),
            Some(Settled::Withdrawn) => (true, claimed),
            Some(Settled::Foreign) => (false, claimed),
            None => (false, would_be(claimed, ended)),
        };
        // A rejection does not disprove an earlier attempt.
        let is_doubt = record.state == State::InDoubt && cause.outcome() == Outcome::Rejected;
        let cause = if is_doubt { Cause::InDoubt } else { cause };
        if !is_foreign {
            for joined in self.joins.remove(&fence).unwrap_or_default() {
                stage.answer(joined.call, Answer::joined(&record, cause, recorded));
            }
        }
        if let Some(call) = waiter {
            stage.answer(call, Answer::own(&record, cause, recorded));
        }
    }
}

impl Stage {
    /// A call is answered, once; the answer may not reach its agent.
    pub(super) fn answer(&mut self, call: CallId, answer: Answer) {
        self.tell(|| format!("call {call} is told {answer:?}"));
        self.oracle.answered(call, answer, &self.disk);
        if !self.happens(self.chances.lost) {
            let transit = self.transit();
            self.after(transit, super::stage::Event::Told(call));
        }
    }
}

/// What the record would say if it could be written.
fn would_be(mut claimed: Box<Record>, ended: &Ended) -> Box<Record> {
    match ended {
        Ended::Answered(settlement) if settlement.executed || claimed.attempt == 1 => {
            claimed.state = State::Settled(settlement.clone());
        }
        Ended::Answered(_) => claimed.state = State::InDoubt,
        Ended::Unknown(_) | Ended::Interrupted | Ended::NotSent => {}
    }
    claimed
}

pub fn settlement(executed: bool) -> Settlement {
    Settlement {
        executed,
        at: Timestamp::default(),
        elapsed_milliseconds: 1,
        error: String::new(),
        responder: "responder".into(),
        tags: Tags::new(),
        truncated: false,
        resolved: None,
    }
}
