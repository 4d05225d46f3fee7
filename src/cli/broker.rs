//! `kubemq-mcp broker`: the embedded development broker alone.

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use super::Common;
use super::signal::Signals;
use crate::embedded::EmbeddedBroker;

/// Options of `broker`.
#[derive(Debug, Parser)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    /// The address that KubeMQ clients connect to.
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
}

/// Runs the subcommand until a signal has stopped it.
///
/// # Errors
/// When the broker cannot be started.
pub async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let config = super::load(&args.common, super::flags([("embedded.listen", "--listen", args.listen)]))?;
    let mut signals = Signals::listen()?;
    let broker = EmbeddedBroker::start(config.embedded).await?;
    super::say(&format!(
        "the embedded KubeMQ broker is ready: {} (for development, keeps nothing)",
        broker.address()
    ))?;
    signals.next().await;
    let patience = Duration::from_secs(config.server.drain_seconds);
    Ok(signals.unless_told_again(broker.stop(patience)).await)
}
