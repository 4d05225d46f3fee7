//! Knows what really happened, and what may be said of it. Everything that the connector does passes by here.

mod claims;
mod told;

use std::collections::BTreeMap;
use std::time::Duration;

use kubemq_mcp::domain::{Channel, Key, Principal, RequestId};
use kubemq_mcp::idempotency::{Config, Identity, Proposal, Resend, Timestamp};

use super::agent::{Errand, KEYS, PRINCIPALS};
use super::answer::Answer;
use super::stage::CallId;
use super::world::Figures;
use told::Acknowledged;

/// A call, from its agent to its end.
struct Call {
    agent: usize,
    turn: u32,
    errand: Errand,
    identity: Identity,
    timeout: u64,
    /// In which life of the connector it has come, and as which of all arrivals.
    arrival: Option<(u32, u64)>,
    answer: Option<Answer>,
    /// Whether a crash has taken it.
    is_gone: bool,
    request: Way,
}

/// Where the request of a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Never,
    Travelling,
    Lost,
    Refused,
    Ran,
}

/// The life of a key: from the claim that found it new until it is new again.
struct Life {
    first_seen: Timestamp,
    takes_care: bool,
    /// The attempts that count, the last of them last.
    attempts: Vec<CallId>,
    /// Those and the ones that were withdrawn.
    claims: Vec<CallId>,
    is_open: bool,
    /// Whether it is or ever was in doubt.
    doubted: bool,
    settled: Option<bool>,
    is_withdrawn: bool,
    is_forgotten: bool,
    /// How many calls had come when it was over.
    over_at: Option<u64>,
    /// Whether somebody was told for good that it did not run.
    is_denied: bool,
}

pub struct Oracle {
    keep: Duration,
    keep_doubts: Duration,
    attempts_max: usize,
    /// The store's time, as far as this life of the connector knows it and as far as the disk does.
    now: Timestamp,
    now_on_disk: Timestamp,
    arrivals: u64,
    calls: Vec<Call>,
    lives: BTreeMap<Identity, Vec<Life>>,
    acknowledged: BTreeMap<Identity, Acknowledged>,
    names: Vec<Vec<Identity>>,
    pub figures: Figures,
}

fn identity(who: usize, key: usize) -> Identity {
    Identity::of(&Principal::named(PRINCIPALS[who]), &Key::parse(KEYS[key]).expect("a key"))
}

fn call_of(request: &RequestId) -> CallId {
    request.as_str().parse().expect("requests have the numbers of their calls")
}

impl Oracle {
    pub fn new(config: &Config) -> Self {
        let names = |who| (0..KEYS.len()).map(|key| identity(who, key)).collect();
        Self {
            keep: Duration::from_secs(config.record_keep_seconds),
            keep_doubts: Duration::from_secs(config.in_doubt_keep_seconds),
            attempts_max: config.attempts_max as usize,
            now: Timestamp::default(),
            now_on_disk: Timestamp::default(),
            arrivals: 0,
            calls: Vec::new(),
            lives: BTreeMap::new(),
            acknowledged: BTreeMap::new(),
            names: (0..PRINCIPALS.len()).map(names).collect(),
            figures: Figures::default(),
        }
    }

    /// An agent sends a call.
    pub fn calls(&mut self, agent: usize, turn: u32, errand: Errand, timeout: u64) -> CallId {
        let identity = self.names[errand.who][errand.key];
        self.calls.push(Call {
            agent,
            turn,
            errand,
            identity,
            timeout,
            arrival: None,
            answer: None,
            is_gone: false,
            request: Way::Never,
        });
        self.calls.len() - 1
    }

    pub fn arrived_in(&mut self, call: CallId, life: u32) {
        self.arrivals += 1;
        self.calls[call].arrival = Some((life, self.arrivals));
    }

    /// The connector was not there.
    pub fn went_nowhere(&mut self, call: CallId) {
        self.calls[call].is_gone = true;
    }

    pub fn timeout(&self, call: CallId) -> u64 {
        self.calls[call].timeout
    }

    pub fn proposal(&self, call: CallId) -> Proposal {
        let Errand { who, key, command } = self.calls[call].errand;
        let takes_care = takes_care(key);
        Proposal {
            principal: Principal::named(PRINCIPALS[who]),
            key: Key::parse(KEYS[key]).expect("a key"),
            fingerprint: [command; 32].into(),
            channel: Channel::parse(if takes_care { "stock" } else { "orders" }).expect("a channel"),
            request_id: RequestId::from(call.to_string().as_str()),
            resend: if takes_care { Resend::InDoubt } else { Resend::Never },
        }
    }

    /// Whose key a call has, and whether its responder takes care of duplicates.
    pub fn whose(&self, call: CallId) -> (Identity, bool) {
        (self.calls[call].identity, takes_care(self.calls[call].errand.key))
    }

    /// Every key of everybody.
    pub fn identities(&self) -> Vec<Identity> {
        self.names.concat()
    }

    /// The keys that are in doubt.
    pub fn doubted(&self) -> Vec<Identity> {
        let is_doubted = |life: &Life| life.doubted && !life.is_open && life.settled.is_none();
        let mut identities = self.identities();
        identities.retain(|identity| {
            self.last(*identity).is_some_and(|life| is_doubted(life) && self.is_alive(life))
        });
        identities
    }

    fn is_alive(&self, life: &Life) -> bool {
        let keep = if life.doubted { self.keep_doubts } else { self.keep };
        let is_there = !life.is_withdrawn && !life.is_forgotten;
        is_there && (life.is_open || self.now < life.first_seen.plus(keep))
    }

    fn last(&self, identity: Identity) -> Option<&Life> {
        self.lives.get(&identity)?.last()
    }

    fn last_mut(&mut self, identity: Identity) -> Option<&mut Life> {
        self.lives.get_mut(&identity)?.last_mut()
    }

    /// The life that a request was claimed in.
    fn life_of(&mut self, call: CallId) -> &mut Life {
        let identity = self.calls[call].identity;
        let lives = self.lives.entry(identity).or_default();
        let life = lives.iter_mut().find(|life| life.claims.contains(&call));
        life.unwrap_or_else(|| panic!("request {call} was never claimed"))
    }

    fn any(&self, life: &Life, way: Way) -> bool {
        life.claims.iter().any(|call| self.calls[*call].request == way)
    }
}

/// Whether the responder of a key takes care of duplicates.
fn takes_care(key: usize) -> bool {
    key == KEYS.len() - 1
}
