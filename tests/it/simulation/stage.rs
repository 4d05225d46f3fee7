//! What every part of a simulation shares: time, chance, and what happens next.

use std::collections::BTreeMap;

use kubemq_mcp::domain::Cause;
use kubemq_mcp::idempotency::{Config, Timestamp};

use super::commits::Task;
use super::disk::Disk;
use super::oracle::Oracle;

/// A call in the order of arrival at the network; its request has the same number.
pub type CallId = usize;

/// 2027; the wall clock of the connector stands there when a run begins.
const WALL_START: i64 = 1_800_000_000_000;

pub const SECOND: u64 = 1_000;

/// Something that happens at one moment.
#[derive(Clone, Debug)]
pub enum Event {
    /// An agent makes its next call.
    Call { agent: usize },
    /// An agent has waited long enough.
    Silence { agent: usize, turn: u32 },
    /// A call reaches the connector.
    Arrive(CallId),
    /// An answer reaches its agent.
    Told(CallId),
    /// A request reaches the responder.
    Request { call: CallId, life: u32 },
    /// Something happens in one life of the connector; it is nothing in another.
    Inside { life: u32, step: Step },
    /// The connector loses all but its disk.
    Crash,
    /// It starts again.
    Start,
    /// Somebody sets the clock.
    SetClock,
    /// An operator looks after the keys.
    Operate,
}

/// What happens inside the connector.
#[derive(Clone, Debug)]
pub enum Step {
    /// The commit thread takes what waits and applies it.
    Apply,
    /// It writes what that has changed.
    Write,
    /// The actor takes what is durable.
    Tell,
    /// A claimed command leaves.
    Dispatch(CallId),
    /// A responder's answer comes back.
    Reply { call: CallId, executed: bool },
    /// The call ends without an answer.
    Fail { call: CallId, cause: Cause },
    /// The time of a call is over.
    Deadline(CallId),
    /// A call does not wait for the store any longer.
    Impatience(CallId),
    /// A settle is handed over again, long after the first time.
    Again(Box<Task>),
    /// Records whose time is over are taken away.
    Sweep,
    /// The actors of the channels die with what they have in flight.
    Death,
}

/// How likely each misfortune is; every seed has its own mixture, and some have none of a kind.
#[derive(Clone, Debug)]
pub struct Chances {
    pub crash: f64,
    pub commit_fails: f64,
    pub read_fails: f64,
    pub lost: f64,
    pub late: f64,
    pub repeated: f64,
    pub broker_down: f64,
    pub mute: f64,
    pub overloaded: f64,
    pub impatient: f64,
    pub death: f64,
    pub disk_full: f64,
    pub handed_over_twice: f64,
}

pub struct Stage {
    pub config: Config,
    pub chances: Chances,
    pub disk: Disk,
    pub oracle: Oracle,
    rng: fastrand::Rng,
    now: u64,
    clock_offset: i64,
    events: BTreeMap<(u64, u64), Event>,
    scheduled: u64,
    is_told: bool,
}

impl Stage {
    pub fn new(seed: u64, is_told: bool) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut up_to = |most: f64| if rng.bool() { rng.f64() * most } else { 0.0 };
        let chances = Chances {
            crash: up_to(0.01),
            commit_fails: up_to(0.03),
            read_fails: up_to(0.01),
            lost: up_to(0.3),
            late: up_to(0.6),
            repeated: up_to(0.6),
            broker_down: up_to(0.3),
            mute: up_to(0.3),
            overloaded: up_to(0.2),
            impatient: up_to(0.1),
            death: up_to(0.5),
            disk_full: up_to(0.1),
            handed_over_twice: up_to(0.2),
        };
        let config = Config {
            records_max: 6,
            records_per_principal_max: 4,
            record_keep_seconds: 40,
            in_doubt_keep_seconds: 120,
            attempts_max: 3,
            joins_per_key_max: 3,
            commit_batch_max: 4,
            sweep_seconds: rng.u64(1..=40),
            ..Config::default()
        };
        Self {
            oracle: Oracle::new(&config),
            disk: Disk::new(u128::from(seed) + 1),
            config,
            chances,
            rng,
            now: 0,
            clock_offset: 0,
            events: BTreeMap::new(),
            scheduled: 0,
            is_told,
        }
    }

    /// Virtual time in milliseconds since the start of the run.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// What the connector's wall clock shows.
    pub fn wall(&self) -> Timestamp {
        wall(self.now, self.clock_offset)
    }

    /// Mostly a little forwards or backwards, sometimes far.
    pub fn set_clock(&mut self) {
        let most = if self.happens(0.1) { 400_000 } else { 30_000 };
        self.clock_offset += self.rng.i64(-most..=most);
        self.tell(|| "the clock is set".into());
    }

    pub fn happens(&mut self, chance: f64) -> bool {
        self.rng.f64() < chance
    }

    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        self.rng.u64(least..=most)
    }

    pub fn below(&mut self, count: usize) -> usize {
        self.rng.usize(0..count)
    }

    /// How long a message is on its way.
    pub fn transit(&mut self) -> u64 {
        if self.happens(self.chances.late) { self.between(20, 25 * SECOND) } else { self.between(1, 20) }
    }

    pub fn after(&mut self, milliseconds: u64, event: Event) {
        // The number keeps two events of one moment apart, and a run the same each time.
        self.scheduled += 1;
        self.events.insert((self.now + milliseconds, self.scheduled), event);
    }

    pub fn inside(&mut self, life: u32, milliseconds: u64, step: Step) {
        self.after(milliseconds, Event::Inside { life, step });
    }

    /// The next event, at whose time it is now.
    pub fn next(&mut self) -> Option<Event> {
        let ((at, _), event) = self.events.pop_first()?;
        self.now = at;
        self.tell(|| format!("{event:?}"));
        Some(event)
    }

    /// Prints what happens when one seed is run alone.
    #[expect(clippy::print_stdout, reason = "whoever runs one seed wants to read it")]
    pub fn tell(&self, line: impl FnOnce() -> String) {
        if self.is_told {
            println!("{:>7} ms  {}", self.now, line());
        }
    }
}

fn wall(now: u64, offset: i64) -> Timestamp {
    let now = i64::try_from(now).expect("a run is short");
    Timestamp::from_milliseconds(u64::try_from(WALL_START + now + offset).expect("later than 1970"))
}
