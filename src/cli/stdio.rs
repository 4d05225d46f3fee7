//! `kubemq-mcp stdio`: the same service over standard input and output, alone or in front of a running `serve`.
//!
//! One line in is one HTTP exchange, in this process or with the running connector, so there is one path for every
//! message whatever it came over. Standard output carries MCP only.

mod answer;
mod envelope;
mod exchange;
mod in_flight;
mod pump;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use self::exchange::Exchange;
use super::{Common, credential};
use crate::app::{App, Face, Options};

/// How long a command may go on after its agent has closed standard input. A host that stops a server waits about two
/// seconds before it kills it.
const DRAIN_AFTER_END_OF_INPUT: Duration = Duration::from_millis(1_500);

/// Options of `stdio`.
#[derive(Debug, Parser)]
#[command(mut_arg("token_file", |option| option.requires("connect")))]
pub struct Args {
    /// Stand in front of a connector that runs already, such as http://127.0.0.1:9090/mcp, instead of being one.
    #[arg(long, value_name = "URL")]
    connect: Option<String>,
    #[command(flatten)]
    credential: credential::Source,
    #[command(flatten)]
    common: Common,
    /// The broker: `embedded`, or HOST:PORT, or several of them, comma-separated.
    #[arg(long, value_name = "embedded|HOST:PORT")]
    broker: Option<String>,
    /// Add two responders to try: `example-commands` and `example-queries`.
    #[arg(long)]
    demo: bool,
}

/// Runs the subcommand until standard input ends.
///
/// # Errors
/// When the connector cannot be started.
pub async fn run(args: Args) -> anyhow::Result<ExitCode> {
    if let Some(url) = args.connect {
        super::install_log(&args.common, &[])?;
        let token = args.credential.token(std::env::var_os(credential::TOKEN_VARIABLE))?;
        let exchange = Exchange::remote(&url, token.as_ref())?;
        pump::run(exchange, tokio::io::stdin(), tokio::io::stdout()).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let flags = super::flags([("broker.address", "--broker", args.broker)]);
    let mut config = super::load(&args.common, flags)?;
    // Two desktop clients may each start one: the embedded broker then takes whatever port is free.
    if config.broker.address == "embedded" {
        config.embedded.listen.set_port(0);
    }
    let demo = super::demo_flag(args.demo);
    let app = App::start(config, Options { face: Face::InProcess, demo }).await?;
    let ended = pump::run(Exchange::local(app.front()), tokio::io::stdin(), tokio::io::stdout()).await;
    app.stop(Some(DRAIN_AFTER_END_OF_INPUT)).await;
    ended?;
    Ok(ExitCode::SUCCESS)
}
