//! The command line: one file per subcommand.

mod broker;
pub mod call;
mod check;
pub mod credential;
mod demo;
mod explain;
mod key;
mod respond;
mod serve;
mod signal;
pub mod stdio;
mod store;
mod token;
pub mod trust;
mod web;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

use crate::app::Demo;
use crate::config::{self, Config, Flag, Sources};
use crate::telemetry;

/// Lets AI agents call the services behind a KubeMQ cluster.
#[derive(Debug, Parser)]
#[command(name = "kubemq-mcp", version, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve agents over HTTP.
    Serve(serve::Args),
    /// Serve one agent over standard input and output, alone or in front of a running `serve`.
    Stdio(stdio::Args),
    /// Run the embedded development broker alone.
    Broker(broker::Args),
    /// Read the configuration, reach the broker, say what was found.
    Check(check::Args),
    /// Say whether a caller may make a call, and which line of the configuration decides.
    Explain(explain::Args),
    /// Look after the store of idempotency keys.
    Store(store::Args),
    /// Call a tool, as an agent would.
    Call(call::Args),
    /// Answer the requests of a channel, as a service would.
    Respond(respond::Args),
    /// See keys, settle those in doubt, have them forgotten: for operators of a running `serve`.
    Key(key::Args),
    /// Make a token, with which a caller is told apart from others.
    Token(token::Args),
    /// Start everything on free ports and show a query, a command, a rejection and a timeout.
    Demo(demo::Args),
}

/// Options that every subcommand with a configuration has.
#[derive(Debug, clap::Args)]
pub struct Common {
    /// The configuration; ./config.toml when there is one and none is named.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// How a line of the log looks.
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<LogFormat>,
    /// What is logged: error, warn, info, debug, trace, or a filter.
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

/// Runs the subcommand.
///
/// # Errors
/// Says what failed and what would help; `main` prints it.
pub async fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    // Before anything that may speak TLS, as the broker's and the HTTP client do.
    crate::broker::install_crypto_provider();
    match cli.command {
        Command::Serve(args) => serve::run(args).await,
        Command::Stdio(args) => stdio::run(args).await,
        Command::Broker(args) => broker::run(args).await,
        Command::Check(args) => check::run(args).await,
        Command::Explain(args) => explain::run(&args),
        Command::Store(args) => store::run(args).await,
        Command::Call(args) => Ok(call::main(args).await),
        Command::Respond(args) => respond::run(args).await,
        Command::Key(args) => key::run(args).await,
        Command::Token(args) => token::run(args),
        Command::Demo(args) => demo::run(args).await,
    }
}

/// Prints why it failed, each cause once, and gives the exit status for it.
pub fn failed(error: &anyhow::Error) -> ExitCode {
    let mut text = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    // Without standard error there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "kubemq-mcp: {text}");
    ExitCode::FAILURE
}

/// Writes a line for the person at the terminal.
fn say(line: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

/// The flags that were given, as options.
fn flags<const COUNT: usize>(given: [(&'static str, &'static str, Option<String>); COUNT]) -> Vec<Flag> {
    let flag = |(key, name, value): (_, _, Option<_>)| Some(Flag { key, name, value: value? });
    given.into_iter().filter_map(flag).collect()
}

fn demo_flag(given: bool) -> Demo {
    if given { Demo::Added } else { Demo::Absent }
}

/// Reads the configuration from its three sources and installs the log.
fn load(common: &Common, flags: Vec<Flag>) -> anyhow::Result<Config> {
    let config = read(common, flags)?;
    telemetry::install_log(&config.log)?;
    for (variable, meant) in config::lookalikes(std::env::vars_os().map(|(name, _)| name)) {
        tracing::warn!(
            variable,
            meant,
            "this variable sets nothing: an option has two underscores behind each part"
        );
    }
    Ok(config)
}

fn read(common: &Common, mut flags: Vec<Flag>) -> anyhow::Result<Config> {
    let format = common.log_format.map(|format| match format {
        LogFormat::Text => "text".to_owned(),
        LogFormat::Json => "json".to_owned(),
    });
    flags.extend(self::flags([
        ("log.format", "--log-format", format),
        ("log.level", "--log-level", common.log_level.clone()),
    ]));
    let sources = Sources { file: common.config.clone(), environment: std::env::vars_os(), flags };
    Ok(Config::load(sources)?)
}
