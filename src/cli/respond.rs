//! `kubemq-mcp respond`: a responder for people. It answers every request of a channel in one way.

use std::ops::RangeInclusive;
use std::process::{ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use futures_util::FutureExt;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};

use super::signal::Signals;
use super::{Common, say};
use crate::broker::{Address, Answer, Asked, Handler, Place, Responder, Subscription, Unfinished};
use crate::domain::{Channel, Kind};

/// The statuses with which a shell says that a signal killed what it ran: 128 and the number of the signal.
const KILLED: RangeInclusive<i32> = 129..=192;

/// Options of `respond`.
#[derive(Debug, Parser)]
pub struct Args {
    /// The channel to answer on; one name, no wildcards.
    channel: String,
    /// Which of its requests.
    #[arg(long)]
    kind: KindName,
    /// Share the requests with the other members of this group. Without a group every responder gets every request.
    #[arg(long, default_value = "", hide_default_value = true)]
    group: String,
    #[command(flatten)]
    way: Way,
    /// Wait this long before each answer, such as 2s or 150ms.
    #[arg(long, value_parser = humantime::parse_duration)]
    delay: Option<Duration>,
    /// Requests answered at once.
    #[arg(long, value_name = "N", default_value_t = crate::broker::IN_FLIGHT_MAX)]
    in_flight_max: usize,
    /// The broker: HOST:PORT, or several of them, comma-separated.
    #[arg(long, value_name = "HOST:PORT")]
    broker: Option<String>,
    #[command(flatten)]
    common: Common,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum KindName {
    Command,
    Query,
}

/// How it answers; `--echo` when nothing is said.
#[derive(Clone, Debug, clap::Args)]
#[group(multiple = false)]
struct Way {
    /// Answer with the request's own body, metadata and tags.
    #[arg(long)]
    echo: bool,
    /// Run this shell command: the body comes on its standard input, its output is the answer, a failure rejects, and
    /// killed by a signal it leaves a command without an answer. It sees `KUBEMQ_REQUEST_ID`, `KUBEMQ_CHANNEL`, `KUBEMQ_METADATA` and `KUBEMQ_TAGS`, a JSON object.
    #[arg(long, value_name = "CMD")]
    exec: Option<String>,
    /// Reject every request with this text.
    #[arg(long, value_name = "TEXT")]
    reject: Option<String>,
}

/// Runs the subcommand until a signal has stopped it.
///
/// # Errors
/// When the channel or the broker's address cannot be read.
pub async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let config = super::load(&args.common, super::flags([("broker.address", "--broker", args.broker)]))?;
    let addresses = match config.broker.place()? {
        Place::At(addresses) => addresses,
        // The embedded broker of a `serve` or `broker` that runs elsewhere on this machine.
        Place::Embedded => vec![Address::parse(&config.embedded.listen.to_string())?],
    };
    let channel = Channel::parse(&args.channel)
        .map_err(|error| anyhow::anyhow!("channel `{}` {error}", args.channel))?;
    let kind = match args.kind {
        KindName::Command => Kind::Command,
        KindName::Query => Kind::Query,
    };
    let mut broker = config.broker.clone();
    broker.client_id = format!("{}-respond", broker.client_id);
    let subscription =
        Subscription { kind, channel: channel.clone(), group: args.group, in_flight_max: args.in_flight_max };
    let mut signals = Signals::listen()?;
    let responder = Responder::start(&broker, addresses, subscription, handler(args.way, args.delay))?;
    tokio::select! {
        () = responder.ready() => {}
        () = signals.next() => return Ok(ExitCode::SUCCESS),
    }
    say(&format!("answering each {kind} on {channel}"))?;
    signals.next().await;
    Ok(signals.unless_told_again(responder.stop()).await)
}

fn handler(way: Way, delay: Option<Duration>) -> Handler {
    let way = Arc::new(way);
    Arc::new(move |asked: Asked| {
        let way = Arc::clone(&way);
        async move {
            tracing::info!(channel = asked.channel, request_id = asked.request_id, "request");
            if let Some(delay) = delay {
                tokio::time::sleep(delay).await;
            }
            answer(&way, asked).await
        }
        .boxed()
    })
}

async fn answer(way: &Way, asked: Asked) -> Result<Answer, Unfinished> {
    if let Some(text) = &way.reject {
        return Ok(rejection(text.clone()));
    }
    match &way.exec {
        Some(command) => match spawn(command, &asked) {
            Ok(child) => result_of(child, &asked.body).await,
            Err(error) => Ok(rejection(format!("cannot run the command: {error}"))),
        },
        None => Ok(Answer {
            executed: true,
            error: String::new(),
            body: asked.body,
            metadata: asked.metadata,
            tags: asked.tags,
        }),
    }
}

fn rejection(error: String) -> Answer {
    Answer { executed: false, error, ..Answer::default() }
}

fn spawn(command: &str, asked: &Asked) -> std::io::Result<Child> {
    let tags = serde_json::to_string(&asked.tags)?;
    Command::new("sh")
        .args(["-c", command])
        .env("KUBEMQ_CHANNEL", &asked.channel)
        .env("KUBEMQ_METADATA", &asked.metadata)
        .env("KUBEMQ_REQUEST_ID", &asked.request_id)
        .env("KUBEMQ_TAGS", tags)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
}

/// What a shell command that runs makes of the request. Only an end of its own choice is an answer.
async fn result_of(mut child: Child, body: &[u8]) -> Result<Answer, Unfinished> {
    let input = child.stdin.take();
    let feed = async {
        if let Some(mut input) = input {
            // A command that does not read its input is no failure.
            let _ = input.write_all(body).await;
        }
    };
    let ((), output) = tokio::join!(feed, child.wait_with_output());
    let output = output.map_err(|error| Unfinished(error.to_string()))?;
    if output.status.success() {
        return Ok(Answer { executed: true, body: output.stdout, ..Answer::default() });
    }
    if output.status.code().is_none_or(|code| KILLED.contains(&code)) {
        return Err(Unfinished(format!("the command was killed, {}", output.status)));
    }
    let told = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let error = if told.is_empty() { format!("the command ended with {}", output.status) } else { told };
    Ok(Answer { body: output.stdout, ..rejection(error) })
}
