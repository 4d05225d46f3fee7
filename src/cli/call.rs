//! `kubemq-mcp call`: an MCP client for people, which calls one tool and prints what it answers.
//!
//! It speaks to a connector as an agent does, so what works here works for an agent. It never calls twice: whether
//! a command took effect is for the caller to find out.

mod answer;
mod body;
mod client;
mod error;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Read, Write};
use std::process::ExitCode;
use std::str::FromStr;

use serde_json::{Map, Value};

pub use answer::Ending;
pub use body::Body;
pub use error::CallError;

use self::client::Server;
use super::{credential, trust};

/// The exit status when the server could not be reached, or when the call broke the protocol.
const STATUS_NOT_ANSWERED: u8 = 2;

/// Calls a tool of a running connector and prints its answer.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The tool: `command_send`, `query_send` or `command_status`
    pub tool: String,
    /// The KubeMQ channel
    #[arg(long, required_if_eq_any([("tool", "command_send"), ("tool", "query_send")]))]
    pub channel: Option<String>,
    /// The body: a text, `@FILE` for the content of a file, or `-` for standard input
    #[arg(long, required_if_eq_any([("tool", "command_send"), ("tool", "query_send")]))]
    pub body: Option<Body>,
    /// The idempotency key of a command: a fresh one for each intended effect, the same one on a retry
    #[arg(long, value_name = "KEY", required_if_eq("tool", "command_status"))]
    pub key: Option<String>,
    /// Metadata that travels beside the body
    #[arg(long)]
    pub metadata: Option<String>,
    /// A tag that travels beside the body; may be given many times
    #[arg(long = "tag", value_name = "KEY=VALUE")]
    pub tags: Vec<Tag>,
    /// Seconds to wait for the reply, at least 1; more than 300 is capped, and without it the tool decides
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    pub timeout_seconds: Option<u32>,
    /// Where the connector takes MCP
    #[arg(long, default_value = "http://127.0.0.1:9090/mcp")]
    pub url: String,
    /// Where the bearer token is.
    #[command(flatten)]
    pub credential: credential::Source,
    /// Whom to trust.
    #[command(flatten)]
    pub trust: trust::Source,
    /// Print the whole result as JSON instead of its text
    #[arg(long)]
    pub json: bool,
}

/// What the tool made of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It answered.
    Succeeded,
    /// It answered that it failed, with `isError`.
    Failed,
}

impl From<Verdict> for ExitCode {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Succeeded => Self::SUCCESS,
            Verdict::Failed => Self::FAILURE,
        }
    }
}

/// Calls the tool with the streams and the environment of this process.
///
/// The exit status is 0 when the tool answered, 1 when it answered that it failed, and 2 when there is no answer.
pub async fn main(args: Args) -> ExitCode {
    let mut stdout = io::stdout();
    let ending = if stdout.is_terminal() { Ending::NewLine } else { Ending::AsItIs };
    let variable = std::env::var_os(credential::TOKEN_VARIABLE);
    match run(args, variable, &mut io::stdin(), &mut stdout, ending).await {
        Ok(verdict) => verdict.into(),
        Err(error) => {
            // When even this fails there is nobody left to tell; the exit status still does.
            _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(STATUS_NOT_ANSWERED)
        }
    }
}

/// Calls the tool and prints its answer to `output`. `input` is read when the body is to come from there; `variable` is
/// the environment's token.
///
/// # Errors
/// When there is no answer to print; the text says what to do, and whether the call may have had an effect.
pub async fn run(
    args: Args,
    variable: Option<OsString>,
    input: &mut impl Read,
    output: &mut impl Write,
    ending: Ending,
) -> Result<Verdict, CallError> {
    let token = args.credential.token(variable)?;
    let authorities = args.trust.certificates()?;
    let arguments = arguments(&args, input)?;
    let server = Server { url: &args.url, token: token.as_ref(), authorities: &authorities };
    let result = client::call(server, args.tool, arguments).await?;
    let printed =
        if args.json { answer::print_json(&result, output) } else { answer::print(&result, output, ending) };
    printed.map_err(CallError::Output)?;
    Ok(if result.is_error == Some(true) { Verdict::Failed } else { Verdict::Succeeded })
}

/// The arguments of the tool. What was not given is left out, so that the tool's own defaults hold.
fn arguments(args: &Args, input: &mut impl Read) -> Result<Map<String, Value>, CallError> {
    let mut arguments = Map::new();
    if let Some(channel) = &args.channel {
        arguments.insert("channel".into(), channel.as_str().into());
    }
    if let Some(body) = &args.body {
        arguments.insert("body".into(), body.read(input)?.into());
    }
    if let Some(key) = &args.key {
        arguments.insert("idempotency_key".into(), key.as_str().into());
    }
    if let Some(metadata) = &args.metadata {
        arguments.insert("metadata".into(), metadata.as_str().into());
    }
    if let Some(seconds) = args.timeout_seconds {
        arguments.insert("timeout_seconds".into(), seconds.into());
    }
    let mut tags = Map::new();
    for Tag { key, value } in &args.tags {
        if tags.insert(key.clone(), value.as_str().into()).is_some() {
            return Err(CallError::TagTwice(key.clone()));
        }
    }
    if !tags.is_empty() {
        arguments.insert("tags".into(), tags.into());
    }
    Ok(arguments)
}

/// A tag, `KEY=VALUE`. The value may contain further equals signs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Its name.
    pub key: String,
    /// Its value, which may be empty.
    pub value: String,
}

impl FromStr for Tag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((key, value)) if !key.is_empty() => Ok(Self { key: key.into(), value: value.into() }),
            _ => Err("write KEY=VALUE".into()),
        }
    }
}
