//! What the store of keys costs: `cargo bench --bench store [-- pairs | actor | start | growth]`.
//!
//! Every figure of speed is a ratio to something simpler in the same run, since machines differ and are busy.

mod actor;
mod growth;
mod pairs;
mod sample;
mod start;

use std::io::{self, Write};

/// The program's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> io::Result<()> {
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    if is_wanted("pairs") {
        pairs::run()?;
    }
    if is_wanted("actor") {
        actor::run()?;
    }
    if is_wanted("start") {
        start::run()?;
    }
    if is_wanted("growth") {
        growth::run()?;
    }
    Ok(())
}

fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
