//! One store through many lives of the connector, and what its agents were told in them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::harness::caller::{Keyed, Status, Told};
use crate::harness::life::{Life, Stillborn};
use crate::harness::outside::{Behaviour, Outside};
use crate::harness::shim::{Kill, Shim};

/// How many kills all tests make together.
const ROUNDS: &str = "KUBEMQ_MCP_CRASH_ROUNDS";
const ROUNDS_DEFAULT: usize = 200;
/// The dice of an earlier run.
const SEED: &str = "KUBEMQ_MCP_CRASH_SEED";

/// A store, those outside, and what has been told.
pub struct Lane {
    pub outside: Outside,
    pub runtime: Runtime,
    pub dice: fastrand::Rng,
    seed: Seed,
    directory: TempDir,
    settings: Vec<(&'static str, &'static str)>,
    told: BTreeMap<String, Option<Told>>,
    keys: usize,
    kills: usize,
}

/// Tells the dice of a lane that fails.
struct Seed {
    name: &'static str,
    seed: u64,
}

impl Drop for Seed {
    #[expect(clippy::print_stdout, reason = "a test that fails says how to repeat it")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}: run it again with {SEED}={}", self.name, self.seed);
        }
    }
}

/// So many of a hundred kills.
pub fn rounds(percent: usize) -> usize {
    let all = std::env::var(ROUNDS).map_or(ROUNDS_DEFAULT, |rounds| rounds.parse().expect("a number"));
    (all * percent).div_ceil(100)
}

impl Lane {
    /// An empty store.
    pub fn start(name: &'static str, settings: &[(&'static str, &'static str)]) -> Self {
        let seed =
            std::env::var(SEED).map_or_else(|_| fastrand::u64(..), |seed| seed.parse().expect("a seed"));
        let directory = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir(directory.path().join("disk")).expect("a new name");
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        Self {
            outside: Outside::start(),
            runtime: runtime.expect("a runtime"),
            dice: fastrand::Rng::with_seed(seed),
            seed: Seed { name, seed },
            directory,
            settings: settings.to_vec(),
            told: BTreeMap::new(),
            keys: 0,
            kills: 0,
        }
    }

    /// A life that is not killed by the shim.
    pub fn live(&self) -> Life {
        self.begin(None).unwrap_or_else(|stillborn| panic!("it did not start: {}", stillborn.last_words()))
    }

    /// A life that is killed at this operation, counted from [`Lane::arm`] on.
    pub fn live_until(&self, kill: Kill) -> Life {
        drop(std::fs::remove_file(self.armed()));
        let shim = Shim::over(&self.disk()).killing(kill).armed_by(&self.armed());
        self.begin(Some(&shim))
            .unwrap_or_else(|stillborn| panic!("it did not start: {}", stillborn.last_words()))
    }

    /// A start that is killed at this operation, if it comes to it before it is ready.
    pub fn start_until(&self, kill: Kill) -> Result<Life, Stillborn> {
        self.begin(Some(&Shim::over(&self.disk()).killing(kill)))
    }

    /// Begins to count towards the kill.
    pub fn arm(&self) {
        std::fs::write(self.armed(), "").expect("room");
    }

    /// Counts a kill.
    pub fn killed(&mut self) {
        self.kills += 1;
    }

    /// A command with a key of its own.
    pub fn command(&mut self, behaviour: Behaviour) -> Keyed {
        self.keys += 1;
        Keyed::new(format!("{}-{}", self.seed.name, self.keys), behaviour)
    }

    /// Notes what an agent was told, if it was told anything before the connector died.
    pub fn note(&mut self, command: &Keyed, told: Option<Told>) {
        let first = self.told.entry(command.key.clone()).or_default();
        match (&*first, told) {
            (None, told) => *first = told,
            (Some(first), Some(told)) => {
                assert_eq!(told.request_id, first.request_id, "{command:?} was told of two dispatches");
            }
            (Some(_), None) => {}
        }
    }

    /// Sends the command again, in a life after the one it was sent in, and holds the answer against all that is known.
    /// Tells what the store had made of the key.
    pub fn retry(&mut self, life: &Life, command: &Keyed) -> Status {
        let seen = self.outside.times(&command.key);
        let caller = life.caller();
        let status = self.runtime.block_on(caller.status(&command.key));
        let told = self.runtime.block_on(caller.send(command));
        let first = self.told.get(&command.key).cloned().flatten();
        let all = || format!("{command:?} was {status:?}, seen {seen} times, first {first:?}, then {told:?}");
        assert_ne!(told.outcome, "not_sent", "{}", all());
        match status {
            Status::Absent => {
                assert!(first.is_none(), "what was told is forgotten: {}", all());
                assert_eq!(seen, 0, "a dispatch is forgotten: {}", all());
                assert!(!told.replayed, "{}", all());
            }
            Status::Executed | Status::Rejected => {
                assert!(told.replayed, "{}", all());
                assert_eq!(told.executed, Some(status == Status::Executed), "{}", all());
            }
            Status::InDoubt => {
                assert_eq!((told.cause.as_str(), told.executed), ("in_doubt", None), "{}", all());
            }
            Status::InProgress => panic!("nothing of an earlier life runs: {}", all()),
        }
        match &first {
            Some(first) if first.is_definite() => assert!(told.repeats(first), "{}", all()),
            Some(first) => {
                assert_eq!(
                    (told.cause.as_str(), &told.request_id),
                    ("in_doubt", &first.request_id),
                    "{}",
                    all()
                );
            }
            None => {}
        }
        assert!(self.outside.times(&command.key) <= 1, "it was sent twice: {}", all());
        self.note(command, Some(told));
        status
    }

    /// Begins again with an empty store, whose keys are all new.
    pub fn begin_anew(&self) {
        std::fs::remove_dir_all(self.disk()).expect("a directory of ours");
        std::fs::create_dir(self.disk()).expect("a free name");
    }

    /// The end: no command has reached the responder twice.
    #[expect(clippy::print_stdout, reason = "whoever asks with --nocapture sees what was done")]
    pub fn finish(self) {
        let twice: Vec<_> =
            self.outside.stop().into_iter().filter(|(_, request_ids)| request_ids.len() > 1).collect();
        assert!(twice.is_empty(), "sent twice: {twice:?}");
        println!("{}: {} kills, {} keys", self.seed.name, self.kills, self.keys);
    }

    fn begin(&self, shim: Option<&Shim>) -> Result<Life, Stillborn> {
        Life::begin(&self.outside, &self.disk().join("store"), shim, &self.settings)
    }

    fn disk(&self) -> PathBuf {
        self.directory.path().join("disk")
    }

    fn armed(&self) -> PathBuf {
        self.directory.path().join("armed")
    }
}
