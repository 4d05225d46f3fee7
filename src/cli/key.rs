//! `kubemq-mcp key`: what operators ask and decide about keys, at the admin endpoint of a running connector.
//!
//! Nothing is asked twice. When the answer to a change is lost, the text says to look at the key before going on.

mod client;
mod error;
mod person;
mod print;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use serde_json::{Value, json};

use super::credential::Token;
use super::say;
use super::trust;
use crate::domain::{Key, KeyError, Principal, PrincipalError};
use crate::idempotency::StateName;
use client::Client;
pub use error::AdminError;

/// Most keys that one list shows.
const LIMIT_MAX: u64 = 10_000;

/// Keys that are asked for at one time: a long list must not keep commands waiting.
const PIECE_KEYS_MAX: usize = 500;

/// Options of `key`.
#[derive(Debug, Parser)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
    /// The address of `admin.listen`, or of `server.listen` when that is empty.
    #[arg(long, global = true, default_value = "http://127.0.0.1:9090")]
    url: String,
    /// A file with the token of `admin.token_file`, when the connector has one.
    #[arg(long, global = true, value_name = "FILE")]
    token_file: Option<PathBuf>,
    #[command(flatten)]
    trust: trust::Source,
    /// Print JSON, with everything as it is.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show what is known of a key.
    Show {
        #[command(flatten)]
        whose: Whose,
    },
    /// List keys.
    List {
        /// Only those in this state: in_progress, executed, rejected or in_doubt.
        #[arg(long, value_parser = StateName::ALL.map(StateName::as_str))]
        state: Option<String>,
        /// Only those of this principal.
        #[arg(long, value_name = "NAME", value_parser = principal)]
        principal: Option<Principal>,
        /// At most so many.
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=LIMIT_MAX))]
        limit: u64,
    },
    /// Settle a key in doubt, once you know what became of its command.
    Resolve {
        #[command(flatten)]
        whose: Whose,
        #[command(flatten)]
        outcome: Outcome,
        /// How you know; it goes into the record, and to the agent.
        #[arg(long, value_name = "TEXT")]
        why: String,
        /// Who says so; without it, the name that you have on this machine.
        #[arg(long, value_name = "NAME")]
        by: Option<String>,
    },
    /// Forget a key, so that it is new again.
    Forget {
        #[command(flatten)]
        whose: Whose,
        /// Also when it is in doubt: its command may have run, and may run again.
        #[arg(long)]
        may_run_again: bool,
    },
}

#[derive(Debug, clap::Args)]
struct Whose {
    /// The key, as its agent sent it.
    #[arg(value_parser = key)]
    key: Key,
    /// Whose key it is: the name of a token.
    #[arg(long, value_name = "NAME", default_value = "anonymous", value_parser = principal)]
    principal: Principal,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct Outcome {
    /// Its command ran.
    #[arg(long)]
    executed: bool,
    /// Its command did not run, and never will.
    #[arg(long)]
    rejected: bool,
}

fn key(text: &str) -> Result<Key, KeyError> {
    Key::parse(text)
}

fn principal(text: &str) -> Result<Principal, PrincipalError> {
    Principal::parse_any(text)
}

/// Runs the subcommand.
///
/// # Errors
/// Says why it was not done, or that this is not known, and what would help.
pub async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let token = args.token_file.as_deref().map(Token::of_file).transpose()?;
    let client = Client::new(&args.url, token, &args.trust.certificates()?)?;
    let text = match args.verb {
        Verb::Show { whose } => {
            let shown = client.get("/admin/key", &whose.pairs()).await.map_err(|error| whose.told(error))?;
            if args.json { print::json(&shown) } else { print::record(&shown) }
        }
        Verb::List { state, principal, limit } => {
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            let listed = list(&client, state, principal, limit).await?;
            if args.json { print::json(&Value::Array(listed)) } else { print::table(&listed) }
        }
        Verb::Resolve { whose, outcome, why, by } => {
            let by = by.map_or_else(person::name, Ok)?;
            let outcome = if outcome.executed { StateName::Executed } else { StateName::Rejected }.as_str();
            let word = json!({ "outcome": outcome, "by": by, "why": why });
            let resolved = client.post("/admin/key/resolve", whose.body(word)).await;
            let record = resolved.map_err(|error| whose.told(error))?;
            if args.json { print::json(&record) } else { print::resolved(&record) }
        }
        Verb::Forget { whose, may_run_again } => {
            let consent = json!({ "may_run_again": may_run_again });
            let forgotten = client.post("/admin/key/forget", whose.body(consent)).await;
            let forgotten = forgotten.map_err(|error| whose.told(error))?;
            if args.json { print::json(&forgotten) } else { print::forgotten(&forgotten["forgotten"]) }
        }
    };
    say(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Follows the pieces of a list until there are enough keys, or no more.
async fn list(
    client: &Client,
    state: Option<String>,
    principal: Option<Principal>,
    limit: usize,
) -> Result<Vec<Value>, AdminError> {
    let (mut keys, mut after) = (Vec::new(), None::<String>);
    while keys.len() < limit {
        let piece = (limit - keys.len()).min(PIECE_KEYS_MAX).to_string();
        let pairs = [
            ("limit", Some(piece.as_str())),
            ("state", state.as_deref()),
            ("principal", principal.as_ref().map(Principal::as_str)),
            ("after", after.as_deref()),
        ];
        let given: Vec<_> = pairs.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        let mut listed = client.get("/admin/keys", &given).await?;
        if let Some(Value::Array(found)) = listed.get_mut("keys").map(Value::take) {
            keys.extend(found);
        }
        match listed["next"].as_str() {
            Some(next) => after = Some(next.to_owned()),
            None => return Ok(keys),
        }
    }
    // Without standard error there is nobody to tell.
    let _ = writeln!(
        std::io::stderr(),
        "there may be more than {limit}: raise --limit, or narrow the list with --state or --principal"
    );
    Ok(keys)
}

impl Whose {
    fn pairs(&self) -> [(&str, &str); 2] {
        [("principal", self.principal.as_str()), ("key", self.key.as_str())]
    }

    /// A body about this key, with what else is said of it.
    fn body(&self, mut said: Value) -> Value {
        for (name, value) in self.pairs() {
            said[name] = value.into();
        }
        said
    }

    /// Whose key is not known is half of what an operator has to know.
    fn told(&self, error: AdminError) -> AdminError {
        match error {
            AdminError::Absent { .. } => AdminError::Absent { principal: self.principal.to_string() },
            other => other,
        }
    }
}
