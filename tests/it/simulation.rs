//! Agents, connector, store and responder in one thread and in virtual time, all from one seed.
//!
//! ```text
//! agents ─ lost, late, repeated ─▶ connector: claim ─▶ dispatch ─▶ settle ─▶ answer        the oracle watches each step
//!                                    │  ▲ crash                       ─ lost, late, repeated ─▶ responder
//!                                    ▼  │ at any step
//!                                  Ledger over a store whose writes fail, and that time goes wrong around
//! ```
//!
//! The ledger and the store in memory are the real ones; the connector around them takes the steps of the real one in the
//! same order. `just sim` runs ten thousand seeds, and `just sim 4711` one, with everything that happens in it.

mod agent;
mod answer;
mod commits;
mod connector;
mod disk;
mod oracle;
mod responder;
mod stage;
mod world;

use std::panic::catch_unwind;
use std::sync::atomic::{AtomicU64, Ordering};

use world::World;

/// How many seeds are run; the default is for every `cargo test`.
const RUNS: &str = "KUBEMQ_MCP_SIM_RUNS";
const RUNS_DEFAULT: u64 = 300;

/// One seed to run and to tell all of.
const SEED: &str = "KUBEMQ_MCP_SIM_SEED";

fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number, not `{text}`")))
}

/// Runs a seed, and names it if it fails.
fn run(seed: u64, is_told: bool) -> world::Figures {
    catch_unwind(|| World::new(seed, is_told).run())
        .unwrap_or_else(|_| panic!("seed {seed} failed; run it with {SEED}={seed}, or `just sim {seed}`"))
}

#[test]
fn a_key_runs_at_most_once_and_nobody_is_told_otherwise() {
    if let Some(seed) = variable(SEED) {
        run(seed, true);
        return;
    }
    let runs = variable(RUNS).unwrap_or(RUNS_DEFAULT);
    let next = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut total = world::Figures::default();
    std::thread::scope(|scope| {
        let work = || {
            let mut figures = world::Figures::default();
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= runs {
                    return figures;
                }
                figures.add(&run(seed, false));
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            total.add(&worker.join().expect("every seed holds"));
        }
    });
    println!("{runs} seeds: {total:?}");
    // A simulation in which nothing goes wrong proves nothing.
    if runs >= RUNS_DEFAULT {
        total.assert_that_everything_happened();
    }
}

#[test]
fn a_seed_is_the_same_run_each_time() {
    for seed in 0..3 {
        assert_eq!(run(seed, false), run(seed, false));
    }
}
