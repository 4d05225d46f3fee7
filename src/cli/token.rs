//! `kubemq-mcp token`: makes a token, and the line of the tokens file that names its owner.

use std::collections::HashSet;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};

use super::say;
use crate::access::{self, Grant, Minted};
use crate::clock;
use crate::domain::{Principal, PrincipalError};

/// Longest time that a token may be valid.
const LIFETIME_MAX: Duration = Duration::from_secs(10 * 366 * 24 * 3600);

/// Options of `token`.
#[derive(Debug, Parser)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Make a token and print it, this once; the line for the file has only its hash.
    New {
        /// Who will call with it: letters, digits and `. _ @ -`. A name may have many tokens.
        #[arg(value_parser = name)]
        name: Principal,
        /// How long it is valid, such as `30d` or `12h`; for ever without.
        #[arg(long, value_name = "TIME", value_parser = lifetime)]
        expires_in: Option<Duration>,
        /// A scope that it is issued for; may be given several times.
        #[arg(long = "scope", value_name = "SCOPE", value_parser = scope)]
        scopes: Vec<String>,
        /// A group that its owner belongs to; may be given several times.
        #[arg(long = "group", value_name = "GROUP", value_parser = group)]
        groups: Vec<String>,
        /// It is for queries only.
        #[arg(long)]
        read_only: bool,
        /// Add the line to this tokens file, which is made for its owner alone when it is not there; then only the token
        /// is on standard output.
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
    },
}

fn name(text: &str) -> Result<Principal, PrincipalError> {
    Principal::parse(text)
}

fn lifetime(text: &str) -> Result<Duration, String> {
    let lifetime = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if (Duration::from_secs(1)..=LIFETIME_MAX).contains(&lifetime) {
        return Ok(lifetime);
    }
    Err("a token is valid for a second to ten years".into())
}

fn scope(text: &str) -> Result<String, &'static str> {
    if access::is_scope(text) {
        return Ok(text.to_owned());
    }
    Err("a scope has visible ASCII characters without quotes and backslashes")
}

fn group(text: &str) -> Result<String, &'static str> {
    if access::is_group(text) {
        Ok(text.to_owned())
    } else {
        Err("a group has 1 to 256 characters and no spaces")
    }
}

/// Each once: said twice on a line of the file it would be a mistake.
fn once(mut texts: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    texts.retain(|text| seen.insert(text.clone()));
    texts
}

/// Runs the subcommand.
///
/// # Errors
/// When the line cannot be written; then no token is shown.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Verb::New { name, expires_in, scopes, groups, read_only, file } = args.verb;
    let token = Minted::fresh()?;
    let mut grant = Grant::to(name.clone());
    grant.expires = expires_in.map(|lifetime| clock::now() + lifetime);
    grant.subject.scopes = once(scopes).into();
    grant.subject.groups = once(groups).into();
    grant.subject.read_only = read_only;
    let line = token.line_of(&grant);
    match file {
        Some(path) => {
            let number = access::append(&path, &line)?;
            say(token.expose())?;
            // Without standard error there is nobody to tell.
            let _ = writeln!(std::io::stderr(), "the line of {name} is {}:{number}", path.display());
        }
        None => {
            say(token.expose())?;
            say(&line)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
