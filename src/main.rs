//! Parses the command line and hands over to `cli`.

use std::process::ExitCode;

use clap::Parser;
use kubemq_mcp::cli::{self, Cli};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return cli::failed(&error.into()),
    };
    let ended = runtime.block_on(cli::run(cli));
    // A read of standard input cannot be interrupted; waiting for it would keep the process until the next line.
    runtime.shutdown_background();
    ended.unwrap_or_else(|error| cli::failed(&error))
}
