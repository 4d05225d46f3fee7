//! A full disk, and a disk that cannot sync any more: the agents are told what is known, nothing is sent twice, and when the
//! disk is well again a new start is all it takes.

use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::join_all;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::harness::caller::{Caller, Keyed, Status, Told};
use crate::harness::disk::{Disk, Durable, Image, Survival};
use crate::harness::life::Life;
use crate::harness::outside::{Behaviour, Outside};
use crate::harness::recording::Recording;
use crate::harness::shim::{Failure, Shim};

const FAILURES: [Failure; 2] = [Failure::NoSpace, Failure::NoSync];

/// A store on a disk that fails when it is told to.
struct Bench {
    outside: Outside,
    runtime: Runtime,
    directory: TempDir,
}

impl Bench {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir(directory.path().join("disk")).expect("a new name");
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        Self { outside: Outside::start(), runtime: runtime.expect("a runtime"), directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn shim(&self, failure: Failure) -> Shim {
        Shim::over(&self.path("disk")).failing(failure, &self.path("failing"))
    }

    /// A life on the disk, or what it said when it did not start.
    fn live(&self, shim: Option<&Shim>, settings: &[(&str, &str)]) -> Result<Life, String> {
        Life::begin(&self.outside, &self.path("disk/store"), shim, settings)
            .map_err(|stillborn| stillborn.last_words())
    }

    /// A life on a disk that is well.
    fn live_well(&self) -> Life {
        self.live(None, &[]).unwrap_or_else(|words| panic!("it did not start: {words}"))
    }

    /// A life on a disk that fails from [`Bench::fail`] to [`Bench::mend`].
    fn live_with(&self, failure: Failure) -> Life {
        self.live(Some(&self.shim(failure)), &[]).unwrap_or_else(|words| panic!("it did not start: {words}"))
    }

    fn fail(&self) {
        std::fs::write(self.path("failing"), "").expect("room");
    }

    fn mend(&self) {
        std::fs::remove_file(self.path("failing")).expect("it fails");
    }

    fn send(&self, life: &Life, command: &Keyed) -> Told {
        self.runtime.block_on(life.caller().send(command))
    }

    fn status(&self, life: &Life, command: &Keyed) -> Status {
        self.runtime.block_on(life.caller().status(&command.key))
    }

    fn readiness(&self, life: &Life) -> (u16, String) {
        self.runtime.block_on(life.caller().get("/readyz"))
    }

    /// No command has reached the responder twice.
    fn finish(self) {
        let seen = self.outside.stop();
        assert!(seen.values().all(|request_ids| request_ids.len() == 1), "sent twice: {seen:?}");
    }
}

fn executes(key: &str) -> Keyed {
    Keyed::new(key, Behaviour::Executes)
}

/// A refusal for want of a store: nothing was sent, and the agent hears why.
fn is_refusal(told: &Told) -> bool {
    told.outcome == "not_sent"
        && told.cause == "store_unavailable"
        && !told.recorded
        && told.text.contains("store of keys")
        && !["os error", "Os {", "code:"].iter().any(|raw| told.text.contains(raw))
}

#[test]
fn a_disk_that_fails_while_a_command_runs_costs_the_record_and_not_the_truth() {
    for failure in FAILURES {
        let mut bench = Bench::new();
        let life = bench.live_with(failure);
        let (settled, held) = (executes("settled"), Keyed::new("held", Behaviour::Held));
        let first = bench.send(&life, &settled);
        let (caller, command) = (life.caller().clone(), held.clone());
        let running = bench.runtime.spawn(async move { caller.send(&command).await });
        bench.runtime.block_on(bench.outside.until_seen("held"));
        bench.fail();
        bench.outside.release(1);
        let told = bench.runtime.block_on(running).expect("no panic");
        assert_eq!(
            (told.executed, told.outcome.as_str(), told.recorded),
            (Some(true), "executed", false),
            "{told:?}"
        );
        // What an earlier call did cannot be looked up, so nothing is said of that, not even of a new key.
        for command in [&settled, &held, &executes("refused")] {
            let refused = bench.send(&life, command);
            assert!(is_refusal(&refused) && refused.executed.is_none(), "{refused:?}");
        }
        let (status, text) = bench.readiness(&life);
        assert_eq!(status, 503, "{text}");
        assert!(text.contains("\"store_up\":false"), "{text}");
        // It stays closed, since nobody can say what a disk holds that has failed once.
        bench.mend();
        assert!(is_refusal(&bench.send(&life, &executes("still refused"))));
        life.stop();
        let life = bench.live_well();
        assert_eq!(bench.readiness(&life).0, 200);
        assert!(bench.send(&life, &settled).repeats(&first));
        let retried = bench.send(&life, &held);
        assert!(retried.repeats(&told) || retried.cause == "in_doubt", "{retried:?}");
        for key in ["refused", "still refused"] {
            let command = executes(key);
            let again = (bench.status(&life, &command), bench.send(&life, &command));
            let free = again.0 == Status::Absent && again.1.cause == "completed";
            let doubtful = again.0 == Status::InDoubt && again.1.cause == "in_doubt";
            assert!(free || doubtful, "{again:?}");
        }
        life.stop();
        bench.finish();
    }
}

#[test]
fn a_claim_that_the_disk_does_not_take_is_not_sent() {
    for failure in FAILURES {
        let bench = Bench::new();
        let life = bench.live_with(failure);
        bench.fail();
        let command = executes("claim");
        let refused = bench.send(&life, &command);
        assert!(is_refusal(&refused), "{refused:?}");
        life.kill();
        assert_eq!(bench.outside.times("claim"), 0);
        bench.mend();
        let life = bench.live_well();
        let status = bench.status(&life, &command);
        assert!(matches!(status, Status::Absent | Status::InDoubt), "{status:?}");
        let again = bench.send(&life, &command);
        assert_eq!(again.cause, if status == Status::Absent { "completed" } else { "in_doubt" });
        life.stop();
        bench.finish();
    }
}

#[test]
fn a_start_on_a_failing_disk_refuses_and_a_later_one_finds_everything() {
    for failure in FAILURES {
        let bench = Bench::new();
        let life = bench.live_well();
        let command = executes("kept");
        let first = bench.send(&life, &command);
        life.kill();
        bench.fail();
        for _ in 0..2 {
            let words = bench.live(Some(&bench.shim(failure)), &[]).err().expect("it cannot start");
            let last = words.lines().find(|line| line.starts_with("kubemq-mcp: ")).expect("its last words");
            assert!(last.contains(&bench.path("disk/store").display().to_string()), "{words}");
        }
        bench.mend();
        let life = bench.live_well();
        assert!(bench.send(&life, &command).repeats(&first));
        life.stop();
        bench.finish();
    }
}

#[test]
fn a_disk_with_too_little_room_takes_no_new_key_and_goes_on_telling_the_old_ones() {
    let bench = Bench::new();
    let life = bench.live_well();
    let kept = executes("kept");
    let first = bench.send(&life, &kept);
    life.stop();
    let little = [("KUBEMQ_MCP__STORE__FREE_BYTES_MIN", "1099511627776")];
    let life = bench.live(None, &little).unwrap_or_else(|words| panic!("it did not start: {words}"));
    let refused = bench.send(&life, &executes("new"));
    assert_eq!((refused.outcome.as_str(), refused.cause.as_str()), ("not_sent", "store_full"), "{refused:?}");
    assert!(bench.send(&life, &kept).repeats(&first));
    assert_eq!(bench.outside.times("new"), 0);
    life.stop();
    let life = bench.live_well();
    assert_eq!(bench.send(&life, &executes("new")).cause, "completed");
    life.stop();
    bench.finish();
}

/// Agents that send at one time, and commands of each.
const AGENTS: usize = 6;
const COMMANDS: usize = 15;

async fn send_all(caller: &Caller, agent: usize, round: usize) -> Vec<(Keyed, Told)> {
    let mut sent = Vec::new();
    for number in 0..COMMANDS {
        let command = executes(&format!("{round}-{agent}-{number}"));
        let told = caller.send(&command).await;
        sent.push((command, told));
    }
    sent
}

#[test]
fn a_disk_that_fails_under_load_breaks_no_promise_not_even_in_a_power_cut() {
    for (round, failure) in FAILURES.into_iter().cycle().take(6).enumerate() {
        let bench = Bench::new();
        let shim = bench.shim(failure).recording(&bench.path("record"));
        let life = bench.live(Some(&shim), &[]).unwrap_or_else(|words| panic!("it did not start: {words}"));
        let agents = join_all((0..AGENTS).map(|agent| send_all(life.caller(), agent, round)));
        let failing = async {
            // When it fails is what is random here.
            tokio::time::sleep(Duration::from_millis(fastrand::u64(..100))).await;
            bench.fail();
        };
        let (sent, ()) = bench.runtime.block_on(async { tokio::join!(agents, failing) });
        life.kill();
        bench.mend();
        let sent: Vec<_> = sent.into_iter().flatten().collect();
        assert!(sent.iter().all(|(_, told)| told.is_definite() || is_refusal(told)), "{sent:?}");
        let life = bench.live_well();
        check(&bench, &life, &sent);
        life.stop();
        // The same again for what a power cut would have left of the failing life.
        let recording = Recording::read(&bench.path("record"));
        let mut disk = Disk::new(&Image::default(), Durable::AfterSync);
        recording.events().iter().for_each(|event| disk.apply(event));
        std::fs::remove_dir_all(bench.path("disk")).expect("a directory of ours");
        std::fs::create_dir(bench.path("disk")).expect("a free name");
        disk.cut(&mut Survival::new(0.0, 0)).build(&bench.path("disk"));
        let recorded: Vec<_> = sent.into_iter().filter(|(_, told)| told.recorded).collect();
        let life = bench.live_well();
        check(&bench, &life, &recorded);
        life.stop();
        bench.finish();
    }
}

/// Holds the retries of a later life against what was told on the failing disk.
fn check(bench: &Bench, life: &Life, sent: &[(Keyed, Told)]) {
    for (command, told) in sent {
        let seen = bench.outside.times(&command.key);
        let again = bench.send(life, command);
        let right = if told.recorded {
            again.repeats(told)
        } else if told.is_definite() {
            again.repeats(told) || again.cause == "in_doubt"
        } else {
            again.cause == "in_doubt" || (seen == 0 && again.cause == "completed" && !again.replayed)
        };
        assert!(right, "{command:?}, seen {seen} times, was told {told:?}, and then {again:?}");
    }
}
