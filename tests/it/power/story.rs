//! The recorded story: four lives of the connector on one disk, and what their agents were told.

use std::path::Path;
use std::sync::OnceLock;

use futures_util::future::join_all;
use regex::bytes::{Regex, RegexBuilder};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::harness::caller::{Caller, Keyed, Told};
use crate::harness::life::Life;
use crate::harness::outside::{Behaviour, Outside};
use crate::harness::recording::Recording;
use crate::harness::shim::Shim;

/// Commands of one agent in one life, and agents at one time. Together they fill more than one segment of sled's log.
const COMMANDS: usize = 60;
const AGENTS: usize = 6;

/// What was recorded.
pub struct Story {
    /// Everything on the disk and on the sockets.
    pub recording: Recording,
    /// The commands whose keys are kept, and where in the recording they left and were told.
    pub commands: Vec<Command>,
}

/// One command of the story.
#[derive(Debug)]
pub struct Command {
    /// What was sent.
    pub keyed: Keyed,
    /// What its agent was told first, and where in the recording that began to leave; nothing when the life ended before.
    pub told: Option<(Told, usize)>,
    /// Where its key began to leave for the broker.
    pub dispatched: usize,
}

impl Story {
    /// The one story of all tests: it is recorded once.
    pub fn get() -> &'static Self {
        static STORY: OnceLock<Story> = OnceLock::new();
        STORY.get_or_init(|| Teller::new().tell())
    }
}

/// Tells the story, life by life.
struct Teller {
    outside: Outside,
    runtime: Runtime,
    directory: TempDir,
    sent: Vec<(Keyed, Option<Told>)>,
}

impl Teller {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir(directory.path().join("disk")).expect("a new name");
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        Self { outside: Outside::start(), runtime, directory, sent: Vec::new() }
    }

    fn tell(mut self) -> Story {
        // Keys that are soon over: the next life sweeps them away while it serves.
        let life = self.live("1", &[("KUBEMQ_MCP__STORE__RECORD_KEEP_SECONDS", "1")]);
        self.agents(&life, "short");
        self.sent.clear();
        life.stop();
        // Commands of every kind, and a death with three of them open.
        let life = self.live("2", &[]);
        self.agents(&life, "early");
        let silent = self.commands("silent", Behaviour::Mute, 3);
        self.send_all(&life, silent);
        let open = self.commands("open", Behaviour::Mute, 3);
        for command in &open {
            let (caller, command) = (life.caller().clone(), command.clone());
            self.runtime.spawn(async move { caller.try_send(&command).await });
        }
        for command in open {
            self.runtime.block_on(self.outside.until_seen(&command.key));
            self.sent.push((command, None));
        }
        life.kill();
        // The start after it finds them. Then retries, among new commands.
        let life = self.live("3", &[]);
        let again: Vec<_> = self.sent.iter().rev().map(|(command, _)| command.clone()).take(40).collect();
        self.send_all(&life, again);
        self.agents(&life, "late");
        life.stop();
        let life = self.live("4", &[]);
        self.agents(&life, "last");
        life.kill();
        let lives = ["1", "2", "3", "4"].map(|life| Recording::read(&self.directory.path().join(life)));
        let recording = lives.into_iter().reduce(Recording::then).expect("there are some");
        // The id is in what goes to the broker as well, but not like this.
        let told_at = recording.first_sent(&pattern(r#""request_id":"([0-9a-f-]{36})""#));
        // As protobuf has it: the value is the second field of the pair, and its length comes before it.
        let dispatched_at = recording.first_sent(&pattern("x-idempotency-key\x12.([a-z0-9-]+)"));
        let place = |(keyed, told): (Keyed, Option<Told>)| {
            let told = told.map(|told| {
                let at = told_at[&told.request_id];
                (told, at)
            });
            let dispatched = dispatched_at[&keyed.key];
            Command { keyed, told, dispatched }
        };
        let commands: Vec<_> = std::mem::take(&mut self.sent).into_iter().map(place).collect();
        Story { recording, commands }
    }

    fn live(&self, record: &str, settings: &[(&str, &str)]) -> Life {
        let disk = self.directory.path().join("disk");
        let shim = Shim::over(&disk).recording(&self.directory.path().join(record));
        begin(&self.outside, &disk, Some(&shim), settings).unwrap_or_else(|words| panic!("{words}"))
    }

    fn commands(&self, name: &str, behaviour: Behaviour, count: usize) -> Vec<Keyed> {
        (0..count).map(|number| Keyed::new(format!("{name}-{number:04}"), behaviour)).collect()
    }

    /// Agents that send one command after another, each third one twice at once.
    fn agents(&mut self, life: &Life, name: &str) {
        let agents = (0..AGENTS).map(|agent| {
            let behaviour = if agent % 2 == 0 { Behaviour::Executes } else { Behaviour::Rejects };
            agent_sends(life.caller(), self.commands(&format!("{name}-{agent}"), behaviour, COMMANDS))
        });
        let told = self.runtime.block_on(join_all(agents));
        self.sent.extend(told.into_iter().flatten());
    }

    fn send_all(&mut self, life: &Life, commands: Vec<Keyed>) {
        let told =
            self.runtime.block_on(join_all(commands.iter().map(|command| life.caller().send(command))));
        for (command, told) in commands.into_iter().zip(told) {
            match self.sent.iter_mut().find(|(sent, _)| *sent == command) {
                Some((_, first)) => {
                    first.get_or_insert(told);
                }
                None => self.sent.push((command, Some(told))),
            }
        }
    }
}

async fn agent_sends(caller: &Caller, commands: Vec<Keyed>) -> Vec<(Keyed, Option<Told>)> {
    let mut sent = Vec::new();
    for (number, command) in commands.into_iter().enumerate() {
        let first = if number % 3 == 0 {
            let (first, second) = tokio::join!(caller.send(&command), caller.send(&command));
            assert!(first.repeats(&second) || second.repeats(&first), "{first:?} {second:?}");
            first
        } else {
            caller.send(&command).await
        };
        assert!(first.is_definite(), "{first:?}");
        sent.push((command, Some(first)));
    }
    sent
}

fn pattern(text: &str) -> Regex {
    RegexBuilder::new(text).unicode(false).build().expect("a pattern")
}

/// A life on the store of this disk, or what it said when it did not start.
pub fn begin(
    outside: &Outside,
    disk: &Path,
    shim: Option<&Shim>,
    settings: &[(&str, &str)],
) -> Result<Life, String> {
    // Below a directory that is made with it, so that the syncs of parents count as well.
    let store = disk.join("kubemq/store");
    Life::begin(outside, &store, shim, settings).map_err(|stillborn| stillborn.last_words())
}
