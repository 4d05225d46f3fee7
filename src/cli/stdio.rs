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
use tokio_util::sync::CancellationToken;

use self::exchange::Exchange;
use self::pump::Stop;
use super::signal::Signals;
use super::{Common, credential, trust};
use crate::app::{App, Face, Options};
use crate::config::Config;

/// How long a command may go on after its agent has closed standard input. A host that stops a server waits about two
/// seconds before it kills it.
const DRAIN_AFTER_END_OF_INPUT: Duration = Duration::from_millis(1_500);

/// Options of `stdio`.
#[derive(Debug, Parser)]
#[command(mut_arg("token_file", |option| option.requires("connect")))]
#[command(mut_arg("ca_file", |option| option.requires("connect")))]
pub struct Args {
    /// Stand in front of a connector that runs already, such as http://127.0.0.1:9090/mcp, instead of being one.
    #[arg(long, value_name = "URL", conflicts_with_all = ["broker", "demo"])]
    connect: Option<String>,
    #[command(flatten)]
    credential: credential::Source,
    #[command(flatten)]
    trust: trust::Source,
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
        let config = super::load(&args.common, Vec::new())?;
        let signals = Signals::listen()?;
        let token = args.credential.token(std::env::var_os(credential::TOKEN_VARIABLE))?;
        let exchange = Exchange::remote(&url, token.as_ref(), &args.trust.certificates()?)?;
        let (ended, _) = until_told(exchange, signals, drain(&config)).await;
        return ended;
    }
    let flags = super::flags([("broker.address", "--broker", args.broker)]);
    let mut config = super::load(&args.common, flags)?;
    anyhow::ensure!(
        config.audit.path != "-",
        "`audit.path` is `-`, and standard output carries MCP only here: name a file"
    );
    // Two desktop clients may each start one: the embedded broker then takes whatever port is free.
    if config.broker.address == "embedded" {
        config.embedded.listen.set_port(0);
    }
    let demo = super::demo_flag(args.demo);
    let mut signals = Signals::listen()?;
    let patience = drain(&config);
    let app = tokio::select! {
        app = App::start(config, Options { face: Face::InProcess, demo }) => app?,
        () = signals.next() => return Ok(ExitCode::SUCCESS),
    };
    match until_told(Exchange::local(app.front()), signals, patience).await {
        // Told twice: what is in flight ends here, and its keys are in doubt at the next start.
        (Ok(code), None) => Ok(code),
        (ended, Some(mut signals)) => {
            let stopped = signals.unless_told_again(app.stop(Some(DRAIN_AFTER_END_OF_INPUT))).await;
            ended.map(|_| stopped)
        }
        (Err(error), None) => Err(error),
    }
}

fn drain(config: &Config) -> Duration {
    Duration::from_secs(config.server.drain_seconds)
}

/// Serves until the input ends or a signal comes, and then what is in flight for `patience` longer. Gives the signals
/// back unless a second one has come.
async fn until_told(
    exchange: Exchange,
    mut signals: Signals,
    patience: Duration,
) -> (anyhow::Result<ExitCode>, Option<Signals>) {
    let told = CancellationToken::new();
    let stop = Stop { told: told.clone(), patience };
    let pumping = pump::run(exchange, tokio::io::stdin(), tokio::io::stdout(), stop);
    tokio::pin!(pumping);
    let mut ended = Ok(());
    let code = tokio::select! {
        done = &mut pumping => {
            ended = done;
            ExitCode::SUCCESS
        }
        () = signals.next() => {
            tracing::info!("stopping; what is in flight may end");
            told.cancel();
            signals.unless_told_again(async { ended = pumping.await }).await
        }
    };
    let told_twice = code != ExitCode::SUCCESS;
    (ended.map(|()| code).map_err(Into::into), (!told_twice).then_some(signals))
}
