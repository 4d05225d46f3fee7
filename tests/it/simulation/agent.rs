//! Agents: they call, wait for a while, and call again with the same key, as agents do.

use kubemq_mcp::domain::Retry;

use super::answer::Answer;
use super::stage::{Event, SECOND, Stage};

/// Two principals, each with these keys. The responder of the last one takes care of duplicates.
pub const PRINCIPALS: [&str; 2] = ["ada", "bob"];
pub const KEYS: [&str; 3] = ["one", "two", "three"];

/// Turns that an agent has in one run: one for each call, and one for each thought after it.
const TURNS: u32 = 40;

#[derive(Clone, Copy, Debug)]
pub struct Errand {
    pub who: usize,
    pub key: usize,
    pub command: u8,
}

pub struct Agent {
    number: usize,
    errand: Option<Errand>,
    turn: u32,
}

impl Agent {
    pub fn new(number: usize, stage: &mut Stage) -> Self {
        let after = stage.between(0, SECOND);
        stage.after(after, Event::Call { agent: number });
        Self { number, errand: None, turn: 0 }
    }

    /// Makes a call; on its way it can be lost, or come twice.
    pub fn call(&mut self, stage: &mut Stage) {
        if self.turn >= TURNS {
            return;
        }
        self.turn += 1;
        let errand = *self.errand.get_or_insert_with(|| Errand {
            who: stage.below(PRINCIPALS.len()),
            key: stage.below(KEYS.len()),
            command: if stage.happens(0.9) { 1 } else { 2 },
        });
        let copies = if stage.happens(stage.chances.repeated) { 2 } else { 1 };
        for _ in 0..copies {
            if !stage.happens(stage.chances.lost) {
                let timeout = SECOND * if stage.happens(0.5) { 1 } else { stage.between(1, 10) };
                let call = stage.oracle.calls(self.number, self.turn, errand, timeout);
                let transit = stage.transit();
                stage.after(transit, Event::Arrive(call));
            }
        }
        let patience = stage.between(2 * SECOND, 15 * SECOND);
        stage.after(patience, Event::Silence { agent: self.number, turn: self.turn });
    }

    /// No answer came in time.
    pub fn silence(&mut self, turn: u32, stage: &mut Stage) {
        if turn == self.turn {
            self.next(0.8, stage);
        }
    }

    /// An answer came; it may be the answer to an earlier turn, which nobody waits for.
    pub fn told(&mut self, turn: u32, answer: &Answer, stage: &mut Stage) {
        if turn == self.turn {
            let again = match answer.cause.retry() {
                Retry::Again | Retry::SameKey => 0.9,
                Retry::Verify => 0.6,
                Retry::None | Retry::NewKey | Retry::AfterFix => 0.3,
            };
            self.next(again, stage);
        }
    }

    /// The same errand again, or another one.
    fn next(&mut self, again: f64, stage: &mut Stage) {
        if !stage.happens(again) {
            self.errand = None;
        }
        let after = if stage.happens(0.2) { stage.between(0, 60 * SECOND) } else { stage.between(0, SECOND) };
        stage.after(after, Event::Call { agent: self.number });
        self.turn += 1;
    }
}
