//! `kill -9` of the real connector at every point of a command, of a start and of a sweep: no command is ever sent twice, and
//! no outcome that was told is lost or changed.
//!
//! Broker and responder are processes of their own; the responder writes down what it gets. One command makes these steps,
//! and each test is named after the one it kills at:
//!
//! ```text
//!  claim: write, write, sync ─▶ dispatch ─▶ responder ─▶ reply ─▶ settle: write, write, sync ─▶ answer
//! ```
//!
//! `KUBEMQ_MCP_CRASH_ROUNDS` says how many kills are made in all (200), `KUBEMQ_MCP_CRASH_SEED` repeats the dice of a run.

mod lane;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lane::{Lane, rounds};

use crate::harness::caller::{Caller, Keyed, Status, Told};
use crate::harness::event::within;
use crate::harness::life::Life;
use crate::harness::outside::Behaviour;
use crate::harness::shim::{Kill, Moment, Operation};

const fn write(number: u32, moment: Moment) -> Kill {
    Kill { operation: Operation::Write, number, moment }
}

const fn sync(number: u32, moment: Moment) -> Kill {
    Kill { operation: Operation::DataSync, number, moment }
}

/// Sends one command to each of so many lives, which die at these operations in turn, and retries it in the next one.
fn killed_at(
    name: &'static str,
    kills: usize,
    points: &[Kill],
    seen: usize,
    expected: impl Fn(Kill, Status) -> bool,
) {
    let mut lane = Lane::start(name, &[]);
    for kill in points.iter().cycle().copied().take(kills) {
        let life = lane.live_until(kill);
        let command = lane.command(Behaviour::Executes);
        lane.arm();
        let told = lane.runtime.block_on(life.caller().try_send(&command));
        assert_eq!(told, None, "it was told before {kill}");
        life.until_killed();
        lane.killed();
        assert_eq!(lane.outside.times(&command.key), seen, "{kill}");
        let life = lane.live();
        let status = lane.retry(&life, &command);
        assert!(expected(kill, status), "{status:?} after {kill}");
        lane.retry(&life, &command);
        life.kill();
    }
    lane.finish();
}

#[test]
fn a_kill_before_the_claim_is_written_leaves_the_key_new() {
    let points = [write(1, Moment::Before), write(1, Moment::Halfway), write(2, Moment::Before)];
    killed_at("before-claim", rounds(9), &points, 0, |_, status| status == Status::Absent);
}

#[test]
fn a_kill_after_the_claim_leaves_it_in_doubt_though_nothing_was_sent() {
    let points = [sync(1, Moment::Before), sync(1, Moment::After)];
    killed_at("after-claim", rounds(9), &points, 0, |_, status| status == Status::InDoubt);
}

#[test]
fn a_kill_after_the_reply_leaves_what_was_written_of_it_or_a_doubt() {
    let points = [write(3, Moment::Before), write(3, Moment::Halfway), sync(2, Moment::Before)];
    killed_at("after-reply", rounds(9), &points, 1, |kill, status| match kill.operation {
        Operation::Write => status == Status::InDoubt,
        _ => status == Status::Executed,
    });
}

#[test]
fn a_kill_after_the_settle_is_answered_by_a_replay() {
    let points = [sync(2, Moment::After)];
    killed_at("after-settle", rounds(9), &points, 1, |_, status| status == Status::Executed);
}

/// Lets the responder get commands that it never answers.
fn leave_open(lane: &mut Lane, life: &Life, count: usize) -> Vec<Keyed> {
    let commands: Vec<_> = (0..count).map(|_| lane.command(Behaviour::Mute)).collect();
    for command in &commands {
        let (caller, sent) = (life.caller().clone(), command.clone());
        lane.runtime.spawn(async move { caller.try_send(&sent).await });
    }
    for command in &commands {
        lane.runtime.block_on(lane.outside.until_seen(&command.key));
    }
    commands
}

#[test]
fn a_kill_after_the_dispatch_leaves_the_command_in_doubt() {
    let mut lane = Lane::start("after-dispatch", &[]);
    for _ in 0..rounds(9) {
        let life = lane.live();
        let open = leave_open(&mut lane, &life, 2);
        life.kill();
        lane.killed();
        let life = lane.live();
        for command in &open {
            assert_eq!(lane.retry(&life, command), Status::InDoubt);
        }
        life.kill();
    }
    lane.finish();
}

/// Sends a command that is answered.
fn settle(lane: &mut Lane, life: &Life, behaviour: Behaviour) -> Keyed {
    let command = lane.command(behaviour);
    let told = lane.runtime.block_on(life.caller().send(&command));
    assert!(told.is_definite() && !told.replayed && told.recorded, "{told:?}");
    lane.note(&command, Some(told));
    command
}

/// Operations on files until a store is open, its old claims in doubt: one that is there, and one that has to be made.
const OPERATIONS_OF_OPENING: u32 = 22;
const OPERATIONS_OF_MAKING: u32 = 33;

#[test]
fn kills_during_a_start_lose_nothing_that_was_there_before() {
    let mut lane = Lane::start("during-open", &[]);
    let (mut known, mut died) = (Vec::new(), 0);
    let kills = rounds(20);
    for _ in 0..kills {
        // Claims that are open now become in doubt in the start that is killed, or in the one after it.
        let life = lane.live();
        let settled = [Behaviour::Executes, Behaviour::Rejects].map(|what| settle(&mut lane, &life, what));
        let open = leave_open(&mut lane, &life, 1);
        life.kill();
        let moments = [Moment::Before, Moment::Halfway, Moment::After];
        let kill = Kill {
            operation: Operation::Any,
            number: lane.dice.u32(1..=OPERATIONS_OF_OPENING),
            moment: moments[lane.dice.usize(..3)],
        };
        match lane.start_until(kill) {
            Err(stillborn) => {
                stillborn.was_killed();
                died += 1;
            }
            Ok(life) => life.kill(),
        }
        lane.killed();
        let life = lane.live();
        assert!(open.iter().all(|command| lane.retry(&life, command) == Status::InDoubt), "{kill}");
        known.extend(settled);
        known.extend(open);
        let from = known.len().saturating_sub(20);
        for command in &known[from..] {
            lane.retry(&life, command);
        }
        life.kill();
    }
    assert!(died * 2 > kills, "only {died} of {kills} starts came to their kill");
    lane.finish();
}

#[test]
fn a_kill_while_a_store_is_made_leaves_a_directory_that_opens() {
    let mut lane = Lane::start("during-creation", &[]);
    let kills = rounds(10);
    let mut died = 0;
    for _ in 0..kills {
        lane.begin_anew();
        let number = lane.dice.u32(1..=OPERATIONS_OF_MAKING);
        let kill = Kill { operation: Operation::Any, number, moment: Moment::Halfway };
        match lane.start_until(kill) {
            Err(stillborn) => {
                stillborn.was_killed();
                died += 1;
            }
            Ok(life) => life.kill(),
        }
        lane.killed();
        let life = lane.live();
        let command = settle(&mut lane, &life, Behaviour::Executes);
        life.kill();
        let life = lane.live();
        assert_eq!(lane.retry(&life, &command), Status::Executed);
        life.kill();
    }
    assert!(died * 2 > kills, "only {died} of {kills} starts came to their kill");
    lane.finish();
}

/// Waits until a key is over. Until then it says what it said.
async fn until_over(caller: &Caller, key: &str) {
    let until = async {
        loop {
            match caller.status(key).await {
                Status::Absent => break,
                status => assert_eq!(status, Status::Executed, "{key}"),
            }
        }
    };
    within(&format!("{key} is over"), until).await;
}

#[test]
fn a_kill_during_a_sweep_takes_only_what_was_over() {
    let keep = [("KUBEMQ_MCP__STORE__RECORD_KEEP_SECONDS", "1")];
    let mut lane = Lane::start("during-sweep", &keep);
    let life = lane.live();
    let doubtful = leave_open(&mut lane, &life, 3);
    life.kill();
    for _ in 0..rounds(5) {
        let number = lane.dice.u32(1..=5);
        let kill = Kill { operation: Operation::Any, number, moment: Moment::Halfway };
        let life = lane.live_until(kill);
        for command in &doubtful {
            assert_eq!(lane.retry(&life, command), Status::InDoubt);
        }
        let over: Vec<_> = (0..3).map(|_| settle(&mut lane, &life, Behaviour::Executes)).collect();
        // From here on only the sweep writes.
        lane.arm();
        life.until_killed();
        lane.killed();
        let life = lane.live();
        for command in &over {
            lane.runtime.block_on(until_over(life.caller(), &command.key));
        }
        for command in &doubtful {
            assert_eq!(lane.retry(&life, command), Status::InDoubt);
        }
        life.kill();
    }
    lane.finish();
}

/// Agents that send at one time.
const AGENTS: usize = 6;

/// What was sent, and what was told of it.
type Sent = Arc<Mutex<Vec<(Keyed, Option<Told>)>>>;

/// Sends command after command until the connector dies, one in three of them twice at once.
async fn send_until_death(caller: Caller, commands: Vec<Keyed>, sent: Sent) {
    for (number, command) in commands.into_iter().enumerate() {
        let told = if number % 3 == 0 {
            let (first, second) = tokio::join!(caller.try_send(&command), caller.try_send(&command));
            vec![first, second]
        } else {
            vec![caller.try_send(&command).await]
        };
        let silent = told.iter().any(Option::is_none);
        let mut sent = sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.extend(told.into_iter().map(|told| (command.clone(), told)));
        if silent {
            break;
        }
    }
}

#[test]
fn kills_at_random_moments_never_repeat_or_forget_a_command() {
    let mut lane = Lane::start("random", &[]);
    let mut known: Vec<Keyed> = Vec::new();
    for _ in 0..rounds(29) {
        // Half of them die at an operation on the disk, the others at any time.
        let moments = [Moment::Before, Moment::Halfway, Moment::After];
        let by_operation = lane.dice.bool();
        let number = if by_operation { lane.dice.u32(1..150) } else { u32::MAX };
        let kill = Kill { operation: Operation::Any, number, moment: moments[lane.dice.usize(..3)] };
        let life = lane.live_until(kill);
        for _ in 0..known.len().min(10) {
            let command = known[lane.dice.usize(..known.len())].clone();
            lane.retry(&life, &command);
        }
        let (sent, mut sending) = (Sent::default(), Vec::new());
        lane.arm();
        for _ in 0..AGENTS {
            let commands = (0..50).map(|_| {
                let behaviour = match lane.dice.u8(..10) {
                    0 => Behaviour::Mute,
                    1 | 2 => Behaviour::Rejects,
                    _ => Behaviour::Executes,
                };
                lane.command(behaviour)
            });
            let commands = commands.collect();
            let agent = send_until_death(life.caller().clone(), commands, sent.clone());
            sending.push(lane.runtime.spawn(agent));
        }
        if by_operation {
            life.until_killed();
        } else {
            // The moment is what is random here.
            std::thread::sleep(Duration::from_micros(lane.dice.u64(..120_000)));
            life.kill();
        }
        lane.killed();
        for agent in sending {
            lane.runtime.block_on(agent).expect("an agent does not panic");
        }
        let sent = std::mem::take(&mut *sent.lock().unwrap_or_else(PoisonError::into_inner));
        let life = lane.live();
        for (command, told) in &sent {
            assert!(told.as_ref().is_none_or(|told| told.outcome != "not_sent"), "{told:?}");
            lane.note(command, told.clone());
        }
        for (command, _) in sent {
            lane.retry(&life, &command);
            known.push(command);
        }
        life.kill();
    }
    lane.finish();
}
