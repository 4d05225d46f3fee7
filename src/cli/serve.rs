//! `kubemq-mcp serve`: agents over HTTP, until a signal.

use std::process::ExitCode;

use clap::Parser;

use super::Common;
use super::signal::Signals;
use crate::app::{App, Face, Options};

/// Options of `serve`.
#[derive(Debug, Parser)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    /// The address that agents connect to.
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// The broker: `embedded`, or HOST:PORT, or several of them, comma-separated.
    #[arg(long, value_name = "embedded|HOST:PORT")]
    broker: Option<String>,
    /// The address of the embedded broker.
    #[arg(long, value_name = "ADDR")]
    embedded_listen: Option<String>,
    /// Listen even where other machines call without a token.
    #[arg(long)]
    insecure: bool,
    /// Add two responders to try: `example-commands` and `example-queries`.
    #[arg(long)]
    demo: bool,
}

/// Runs the subcommand until a signal has stopped it.
///
/// # Errors
/// When the connector cannot be started.
pub async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let flags = super::flags([
        ("server.listen", "--listen", args.listen),
        ("server.insecure", "--insecure", args.insecure.then(|| "true".into())),
        ("broker.address", "--broker", args.broker),
        ("embedded.listen", "--embedded-listen", args.embedded_listen),
    ]);
    let config = super::load(&args.common, flags)?;
    let mut signals = Signals::listen()?;
    let options = Options { face: Face::Http, demo: super::demo_flag(args.demo) };
    let app = tokio::select! {
        app = App::start(config, options) => app?,
        () = signals.next() => return Ok(ExitCode::SUCCESS),
    };
    let url = app.url().unwrap_or_default();
    super::say(&format!("kubemq-mcp is ready: {url} (broker: {})", app.broker_text()))?;
    signals.next().await;
    tracing::info!(requests = app.requests_pending(), "stopping; what is in flight may end");
    Ok(signals.unless_told_again(app.stop(None)).await)
}
