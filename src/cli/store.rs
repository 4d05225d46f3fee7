//! `kubemq-mcp store check`: reads a store that nobody runs on and says in plain lines whether it is sound.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use super::say;
use crate::clock;
use crate::idempotency::{CheckReport, SledStore, Timestamp};

/// Options of `store`.
#[derive(Debug, Parser)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Read every record of a store that no connector runs on; changes nothing.
    Check {
        /// The directory of the store, as in store.path.
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
}

/// Runs the subcommand; the exit status is 0 when the store is sound and 1 when it is damaged or cannot be checked.
///
/// # Errors
/// When a connector runs on the store, or its files cannot be opened at all.
pub async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Command::Check { directory } = args.command;
    let (report, directory) =
        tokio::task::spawn_blocking(move || SledStore::check(&directory).map(|report| (report, directory)))
            .await??;
    tell(&directory, &report)?;
    Ok(if report.is_sound() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn tell(directory: &Path, report: &CheckReport) -> std::io::Result<()> {
    let CheckReport { head, records, in_progress, in_doubt, executed, rejected, .. } = report;
    say(&format!(
        "store {}: instance {:032x}, opened {} times",
        directory.display(),
        head.instance,
        head.boot
    ))?;
    say(&format!(
        "records: {records} ({in_progress} in progress, {in_doubt} in doubt, {executed} executed, {rejected} rejected)"
    ))?;
    say(&format!("bytes: {} in records, {} on the disk", report.record_bytes, report.disk_bytes))?;
    if let Some(since) = report.oldest_in_doubt {
        say(&format!("oldest in doubt: since {}", time(since)))?;
    }
    for problem in &report.problems {
        say(&format!("damaged: {problem}"))?;
    }
    let untold = report.problems_total - report.problems.len();
    if untold > 0 {
        say(&format!("damaged: {untold} more"))?;
    }
    if report.is_sound() {
        return say("sound");
    }
    say(
        "not sound: restore the whole directory from a backup; keys that are not in it are forgotten, and their commands would run again",
    )
}

/// Times that a person can read end with the year 9999.
const LAST_READABLE: Timestamp = Timestamp::from_milliseconds(253_402_300_799_999);

fn time(time: Timestamp) -> String {
    let readable = time.system_time().filter(|_| time <= LAST_READABLE);
    readable.map_or_else(|| format!("{} milliseconds after 1970", time.milliseconds()), clock::rfc3339)
}
