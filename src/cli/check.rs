//! `kubemq-mcp check`: reads the configuration, reaches the broker, says in plain lines what it found.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use tokio::net::TcpListener;

use super::{Common, say};
use crate::access::{AdminToken, Callers, Mode};
use crate::app::{self, Exposure};
use crate::broker::{Address, Broker, KubemqBroker, Place};
use crate::config::Config;
use crate::idempotency::{Found, SledStore};

/// Options of `check`.
#[derive(Debug, Parser)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    /// The broker: `embedded`, or HOST:PORT, or several of them, comma-separated.
    #[arg(long, value_name = "embedded|HOST:PORT")]
    broker: Option<String>,
}

/// Runs the subcommand; the exit status is 0 when a connector could start and work.
///
/// # Errors
/// When the configuration cannot be read.
pub async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let config = super::load(&args.common, super::flags([("broker.address", "--broker", args.broker)]))?;
    say("configuration: well")?;
    let mut well = exposure(&config)?
        & callers(&config).await?
        & admin_token(&config)?
        & store(&config).await?
        & audit(&config)?
        & certificate(&config)?;
    for (name, address) in addresses(&config) {
        well &= free(name, address).await?;
    }
    match config.broker.place()? {
        Place::Embedded => {
            well &= free("the embedded broker (embedded.listen)", config.embedded.listen).await?
        }
        Place::At(addresses) => {
            for address in addresses {
                well &= reach(&config, address).await?;
            }
        }
    }
    say(if well { "all well" } else { "not well: see above" })?;
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn exposure(config: &Config) -> std::io::Result<bool> {
    match app::exposure(config) {
        Ok(Exposure::Guarded) => Ok(true),
        Ok(Exposure::Open) => {
            say("insecure: whoever reaches this connector may call without a token").map(|()| true)
        }
        Err(error) => say(&error.to_string()).map(|()| false),
    }
}

async fn callers(config: &Config) -> std::io::Result<bool> {
    let what = match config.auth.mode {
        Mode::None => return Ok(true),
        Mode::Tokens => "tokens file",
        Mode::Jwt => "key set of the issuer",
    };
    match Callers::load(&config.auth).await {
        Ok(_) => say(&format!("{what}: well")).map(|()| true),
        Err(error) => say(&format!("{what}: {error}")).map(|()| false),
    }
}

fn admin_token(config: &Config) -> std::io::Result<bool> {
    if config.admin.token_file.is_empty() {
        return Ok(true);
    }
    match AdminToken::load(config.admin.token_file.as_ref()) {
        Ok(_) => say("token of operators: well").map(|()| true),
        Err(error) => say(&format!("token of operators: {error}")).map(|()| false),
    }
}

/// Says what is wrong, with what the system said of it.
fn failed(what: &str, error: &dyn std::error::Error) -> std::io::Result<bool> {
    let cause = error.source().map_or(String::new(), |cause| format!(": {cause}"));
    say(&format!("{what}: {error}{cause}")).map(|()| false)
}

fn certificate(config: &Config) -> std::io::Result<bool> {
    match config.server.tls() {
        Ok(None) => Ok(true),
        Ok(Some(_)) => say("certificate of the listener: well").map(|()| true),
        Err(error) => failed("certificate of the listener", &error),
    }
}

fn audit(config: &Config) -> std::io::Result<bool> {
    match config.audit.check() {
        Ok(()) if config.audit.is_on() => {
            say(&format!("audit: {} can be written", config.audit.path)).map(|()| true)
        }
        Ok(()) => Ok(true),
        Err(error) => failed("audit", &error),
    }
}

async fn store(config: &Config) -> anyhow::Result<bool> {
    let path = config.store.path.clone();
    let shown = path.display().to_string();
    let found = match tokio::task::spawn_blocking(move || SledStore::look(&path)).await? {
        Ok(Found::Nothing) => "is not there yet and would be made".to_owned(),
        Ok(Found::Unfinished) => "was never finished and would be made anew".to_owned(),
        Ok(Found::Store) => {
            format!("is there and free; `kubemq-mcp store check {shown}` reads its records")
        }
        Err(error) => return Ok(failed("keys (store.path)", &error)?),
    };
    say(&format!("keys (store.path): {shown} {found}"))?;
    Ok(true)
}

fn addresses(config: &Config) -> Vec<(&'static str, SocketAddr)> {
    let mut addresses = vec![("agents (server.listen)", config.server.listen)];
    addresses.extend(config.admin.listen.map(|address| ("operators (admin.listen)", address)));
    addresses
}

async fn free(name: &str, address: SocketAddr) -> std::io::Result<bool> {
    match TcpListener::bind(address).await {
        Ok(_) => say(&format!("address for {name}: {address} is free")).map(|()| true),
        Err(error) => say(&format!("address for {name}: {address} cannot be taken: {error}")).map(|()| false),
    }
}

async fn reach(config: &Config, address: Address) -> anyhow::Result<bool> {
    let text = address.to_string();
    let broker = KubemqBroker::connect(&config.broker, vec![address], Duration::ZERO).await?;
    let found = broker.ping().await;
    broker.stop().await;
    let well = found.is_ok();
    say(&match found {
        Ok(info) => format!("broker {text}: KubeMQ {} on {} answers", info.version, info.host),
        Err(fault) => format!("broker {text}: {fault}"),
    })?;
    Ok(well)
}
