//! `kubemq-mcp token`: makes a token, and the line of the tokens file that names its owner.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use super::say;
use crate::access::{self, Minted};
use crate::domain::{Principal, PrincipalError};

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
        /// Add the line to this tokens file, which is made for its owner alone when it is not there; then only the token
        /// is on standard output.
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
    },
}

fn name(text: &str) -> Result<Principal, PrincipalError> {
    Principal::parse(text)
}

/// Runs the subcommand.
///
/// # Errors
/// When the line cannot be written; then no token is shown.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let Verb::New { name, file } = args.verb;
    let token = Minted::fresh()?;
    let line = token.line(&name);
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
