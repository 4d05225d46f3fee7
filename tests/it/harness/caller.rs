//! An agent that sends commands with keys, and what it is told.

use serde_json::json;

use super::agent::{Agent, Answer, Era};
use super::event::within;
use super::outside::{Behaviour, CHANNEL};

/// A command with a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Keyed {
    /// Its key.
    pub key: String,
    /// What its responder does.
    pub behaviour: Behaviour,
}

/// What an answer says, as far as a retry must say the same, and whether it is one.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// The first text.
    pub text: String,
    /// Whether it was done: yes, no, or unknown.
    pub executed: Option<bool>,
    /// Which dispatch it speaks of.
    pub request_id: String,
    /// What became of it.
    pub outcome: String,
    /// Why.
    pub cause: String,
    /// Whether it was done by an earlier call.
    pub replayed: bool,
    /// Whether a retry will hear of it.
    pub recorded: bool,
}

/// What `command_status` says of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Never seen, or over.
    Absent,
    /// It runs.
    InProgress,
    /// Done.
    Executed,
    /// Refused.
    Rejected,
    /// Nobody knows.
    InDoubt,
}

/// An agent of one connector.
#[derive(Clone)]
pub struct Caller {
    agent: Agent,
}

impl Keyed {
    /// The command of this key.
    pub fn new(key: impl Into<String>, behaviour: Behaviour) -> Self {
        Self { key: key.into(), behaviour }
    }

    /// How long its sender waits: nobody waits long for a mute responder.
    fn timeout_seconds(&self) -> u32 {
        if self.behaviour == Behaviour::Mute { 1 } else { 10 }
    }
}

impl Told {
    /// Whether it is known what became of the command.
    pub fn is_definite(&self) -> bool {
        self.executed.is_some() && self.outcome != "not_sent"
    }

    /// Whether this is the answer to a retry of what was told first.
    pub fn repeats(&self, first: &Self) -> bool {
        let same = |told: &Self| (told.text.clone(), told.executed, told.request_id.clone());
        self.replayed && same(self) == same(first)
    }

    fn of(answer: &Answer) -> Self {
        let structured = answer.structured();
        let text = |name: &str| structured[name].as_str().unwrap_or_default().to_owned();
        let says = |name: &str| structured[name].as_bool();
        Self {
            text: answer.text(0).to_owned(),
            executed: says("executed"),
            request_id: text("request_id"),
            outcome: text("outcome"),
            cause: text("cause"),
            replayed: says("replayed").unwrap_or_else(|| panic!("no word on replay: {answer:?}")),
            recorded: says("recorded").unwrap_or_else(|| panic!("no word on the record: {answer:?}")),
        }
    }
}

impl Caller {
    /// An agent of the connector at this URL.
    pub fn new(url: &str) -> Self {
        Self { agent: Agent::new(url) }
    }

    /// Sends the command, and is told what became of it; `None` when the connector dies meanwhile.
    pub async fn try_send(&self, command: &Keyed) -> Option<Told> {
        let arguments = json!({
            "channel": CHANNEL,
            "body": command.key,
            "metadata": command.behaviour.metadata(),
            "timeout_seconds": command.timeout_seconds(),
            "idempotency_key": command.key,
        });
        let answer = self.agent.try_call(Era::Plain, "command_send", arguments);
        within("an answer or a death", answer).await.ok().map(|answer| Told::of(&answer))
    }

    /// Sends the command to a connector that lives.
    pub async fn send(&self, command: &Keyed) -> Told {
        self.try_send(command).await.expect("the connector lives")
    }

    /// What is known of a key.
    pub async fn status(&self, key: &str) -> Status {
        let answer = self.agent.call("command_status", json!({ "idempotency_key": key })).await;
        match answer.structured()["state"].as_str() {
            Some("absent") => Status::Absent,
            Some("in_progress") => Status::InProgress,
            Some("executed") => Status::Executed,
            Some("rejected") => Status::Rejected,
            Some("in_doubt") => Status::InDoubt,
            _ => panic!("no state: {answer:?}"),
        }
    }

    /// Fetches a path beside the endpoint.
    pub async fn get(&self, path: &str) -> (u16, String) {
        self.agent.get(path).await
    }
}
