//! Power cuts: a story of the real connector is recorded, the disk is rebuilt as a cut at any point would leave it, and the
//! real connector starts on what is left.
//!
//! Whatever had begun to leave for an agent before the cut must be told again unchanged; whatever had begun to leave for
//! the broker must never be taken for new. The disk is pessimistic, see `harness/disk.rs`.

mod story;

use std::ops::RangeInclusive;

use futures_util::future::join_all;
use story::{Command, Story, begin};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::harness::caller::{Keyed, Status};
use crate::harness::disk::{Disk, Durable, Image, Survival};
use crate::harness::life::Life;
use crate::harness::outside::{Behaviour, Outside};
use crate::harness::recording::Recording;
use crate::harness::shim::{Kill, Moment, Operation, Shim};

/// The dice of an earlier run.
const SEED: &str = "KUBEMQ_MCP_POWER_SEED";

/// How much of what is not safe survives, in turn.
const CHANCES: [f64; 3] = [0.0, 0.5, 0.9];

/// Of the commands before a cut: so many of the last ones, and as many of the others, are sent again.
const RETRIED: usize = 15;

/// Events until the first store is open, and some more.
const EVENTS_OF_MAKING: usize = 60;

/// A test that cuts the power.
struct Bench {
    outside: Outside,
    runtime: Runtime,
    dice: fastrand::Rng,
}

/// What a cut has left, and how it came about.
struct Left {
    image: Image,
    position: usize,
    survival: Survival,
}

impl Bench {
    #[expect(clippy::print_stdout, reason = "a test that fails says how to repeat it")]
    fn new() -> Self {
        let seed =
            std::env::var(SEED).map_or_else(|_| fastrand::u64(..), |seed| seed.parse().expect("a seed"));
        println!("{SEED}={seed}");
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let dice = fastrand::Rng::with_seed(seed);
        Self { outside: Outside::start(), runtime: runtime.expect("a runtime"), dice }
    }

    /// Cuts the recording at these positions.
    fn cut(
        &mut self,
        before: &Image,
        recording: &Recording,
        durable: Durable,
        mut at: Vec<usize>,
    ) -> Vec<Left> {
        at.sort_unstable();
        let mut disk = Disk::new(before, durable);
        let mut events = recording.events().iter();
        let (mut applied, mut left) = (0, Vec::new());
        for (number, position) in at.into_iter().enumerate() {
            events.by_ref().take(position - applied).for_each(|event| disk.apply(event));
            applied = position;
            let mut survival = Survival::new(CHANCES[number % 3], self.dice.u64(..));
            left.push(Left { image: disk.cut(&mut survival), position, survival });
        }
        left
    }

    fn positions(&mut self, count: usize, recording: &Recording) -> Vec<usize> {
        (0..count).map(|_| self.dice.usize(..=recording.events().len())).collect()
    }

    /// Starts the connector on what a cut of the story at this position has left, and sends again what was sent before.
    fn check(&mut self, image: &Image, position: usize) -> Result<(), String> {
        let disk = built(image);
        let life = begin(&self.outside, disk.path(), None, &[])?;
        let story = Story::get().commands.iter();
        let mut due: Vec<&Command> = story.filter(|command| command.dispatched < position).collect();
        due.sort_by_key(|command| command.dispatched);
        let mut retried = due.split_off(due.len().saturating_sub(RETRIED));
        self.dice.shuffle(&mut due);
        retried.extend(due.into_iter().take(RETRIED));
        let results = join_all(retried.iter().map(|command| check_one(&life, command, position)));
        let result = self.runtime.block_on(results).into_iter().collect();
        life.kill();
        result
    }

    /// No command may have reached the responder: all that was sent here had left before the cut.
    fn finish(self) {
        assert_eq!(self.outside.stop(), Default::default(), "sent a second time");
    }
}

/// One command that had begun to leave before the cut.
async fn check_one(life: &Life, command: &Command, position: usize) -> Result<(), String> {
    let caller = life.caller();
    let status = caller.status(&command.keyed.key).await;
    if matches!(status, Status::Absent | Status::InProgress) {
        return Err(format!("{command:?} is {status:?}"));
    }
    let again = caller.send(&command.keyed).await;
    let right = match &command.told {
        Some((told, at)) if *at < position && told.is_definite() => again.repeats(told),
        Some((told, at)) if *at < position => {
            again.cause == "in_doubt" && again.request_id == told.request_id
        }
        _ => again.replayed || again.cause == "in_doubt",
    };
    if right { Ok(()) } else { Err(format!("{command:?} was {status:?}, and then {again:?}")) }
}

fn built(image: &Image) -> TempDir {
    let disk = tempfile::tempdir().expect("a temporary directory");
    image.build(disk.path());
    disk
}

fn survives_cuts(durable: Durable, cuts: usize) {
    let (mut bench, recording) = (Bench::new(), &Story::get().recording);
    let at = bench.positions(cuts, recording);
    for left in bench.cut(&Image::default(), recording, durable, at) {
        let checked = bench.check(&left.image, left.position);
        assert_eq!(checked, Ok(()), "cut at {} with {:?}", left.position, left.survival);
    }
    bench.finish();
}

#[test]
fn no_cut_loses_what_was_told_or_sent() {
    survives_cuts(Durable::AfterSync, 130);
}

#[test]
fn no_cut_loses_what_was_told_or_sent_where_names_are_safe_at_once() {
    survives_cuts(Durable::AtOnce, 70);
}

#[test]
fn a_cut_while_the_store_is_made_leaves_a_directory_that_opens() {
    let (mut bench, recording) = (Bench::new(), &Story::get().recording);
    for durable in [Durable::AfterSync, Durable::AtOnce] {
        let at = (0..=EVENTS_OF_MAKING).collect();
        for left in bench.cut(&Image::default(), recording, durable, at) {
            let checked = bench.check(&left.image, left.position);
            assert_eq!(checked, Ok(()), "cut at {} with {:?}", left.position, left.survival);
        }
    }
    bench.finish();
}

#[test]
fn a_cut_of_the_start_after_a_cut_loses_nothing_either() {
    let (mut bench, recording) = (Bench::new(), &Story::get().recording);
    let at = bench.positions(30, recording);
    for (number, first) in bench.cut(&Image::default(), recording, Durable::AfterSync, at).iter().enumerate()
    {
        let durable = if number % 2 == 0 { Durable::AfterSync } else { Durable::AtOnce };
        let second = recorded_start(&bench, &first.image);
        let at = bench.positions(3, &second);
        for left in bench.cut(&first.image, &second, durable, at) {
            let checked = bench.check(&left.image, first.position);
            let (one, two) = (first.position, left.position);
            assert_eq!(
                checked,
                Ok(()),
                "cut at {one} with {:?}, then at {two} with {:?}",
                first.survival,
                left.survival
            );
        }
    }
    bench.finish();
}

/// Starts the connector on what a cut has left, and records what it does there until it is killed.
fn recorded_start(bench: &Bench, image: &Image) -> Recording {
    let (disk, record) = (built(image), tempfile::NamedTempFile::new().expect("a file"));
    let shim = Shim::over(disk.path()).recording(record.path());
    begin(&bench.outside, disk.path(), Some(&shim), &[]).unwrap_or_else(|words| panic!("{words}")).kill();
    Recording::read(record.path())
}

#[test]
fn a_cut_after_a_start_that_was_killed_loses_nothing() {
    survives_a_killed_start(1..=12);
}

/// Makes a store in two starts, the first of which dies after so many operations, and cuts the power.
fn survives_a_killed_start(numbers: RangeInclusive<u32>) {
    let mut bench = Bench::new();
    for number in numbers {
        let disk = tempfile::tempdir().expect("a temporary directory");
        let record = |number: u32| disk.path().with_extension(number.to_string());
        let kill = Kill { operation: Operation::Any, number, moment: Moment::After };
        let dies = Shim::over(disk.path()).recording(&record(1)).killing(kill);
        assert!(begin(&bench.outside, disk.path(), Some(&dies), &[]).is_err(), "{kill}");
        let lives = Shim::over(disk.path()).recording(&record(2));
        let life =
            begin(&bench.outside, disk.path(), Some(&lives), &[]).unwrap_or_else(|words| panic!("{words}"));
        let command = Keyed::new(format!("after-{number}"), Behaviour::Executes);
        let told = bench.runtime.block_on(life.caller().send(&command));
        life.kill();
        let recording = Recording::read(&record(1)).then(Recording::read(&record(2)));
        let at = vec![recording.events().len(); CHANCES.len()];
        for left in bench.cut(&Image::default(), &recording, Durable::AfterSync, at) {
            let disk = built(&left.image);
            let life =
                begin(&bench.outside, disk.path(), None, &[]).unwrap_or_else(|words| panic!("{words}"));
            let again = bench.runtime.block_on(life.caller().send(&command));
            life.kill();
            assert!(
                again.repeats(&told),
                "killed at {kill}, cut with {:?}: {told:?}, then {again:?}",
                left.survival
            );
        }
        for file in [record(1), record(2)] {
            std::fs::remove_file(file).expect("a file of ours");
        }
    }
}

#[test]
fn a_disk_that_forgets_its_syncs_is_found_out() {
    let mut bench = Bench::new();
    let recording = Story::get().recording.clone().without_syncs();
    let at = bench.positions(12, &recording);
    // Without the ends of syncs the positions are others; every command had left at the end.
    let lost = bench.cut(&Image::default(), &recording, Durable::AtOnce, at);
    let lost = lost.iter().filter(|left| bench.check(&left.image, usize::MAX).is_err()).count();
    assert_eq!(lost, 12, "every cut should have lost something");
}
