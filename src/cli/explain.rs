//! `kubemq-mcp explain`: says whether a caller may make a call, and which line of the configuration decides.
//!
//! It asks the same policy as a call does, so it cannot be of another opinion.

use std::process::ExitCode;

use clap::Parser;

use super::{Common, say};
use crate::access::{Allowed, Basis, Bounds, Denied, Mode, Policy, is_scope};
use crate::config::Config;
use crate::domain::{Channel, ChannelError, Principal, PrincipalError, Subject, Tool};

/// Options of `explain`.
#[derive(Debug, Parser)]
pub struct Args {
    /// Who calls: the name of a token, `jwt:SUBJECT`, or `anonymous`
    #[arg(long, value_name = "NAME", value_parser = principal)]
    principal: Principal,
    /// A scope of its credential; may be given several times
    #[arg(long = "scope", value_name = "SCOPE", value_parser = scope)]
    scopes: Vec<String>,
    /// A group that its credential names; may be given several times
    #[arg(long = "group", value_name = "GROUP")]
    groups: Vec<String>,
    /// Its credential is for queries only
    #[arg(long)]
    read_only: bool,
    /// The tool
    #[arg(long, value_parser = tool)]
    tool: Tool,
    /// The channel; without it: whether the tool may be used on any
    #[arg(long, value_parser = channel)]
    channel: Option<Channel>,
    #[command(flatten)]
    common: Common,
}

fn principal(text: &str) -> Result<Principal, PrincipalError> {
    Principal::parse_any(text)
}

fn scope(text: &str) -> Result<String, &'static str> {
    is_scope(text)
        .then(|| text.to_owned())
        .ok_or("a scope is visible ASCII without spaces, quotes and backslashes")
}

fn tool(text: &str) -> Result<Tool, String> {
    let known = || Tool::ALL.map(Tool::as_str).join(", ");
    Tool::parse(text).ok_or_else(|| format!("there is no such tool; there are {}", known()))
}

fn channel(text: &str) -> Result<Channel, ChannelError> {
    Channel::parse(text)
}

/// Runs the subcommand; the exit status is 0 when the call is allowed and 1 when it is denied.
///
/// # Errors
/// When the configuration cannot be read.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let config = super::load(&args.common, Vec::new())?;
    let subject = Subject {
        principal: args.principal.clone(),
        scopes: args.scopes.as_slice().into(),
        groups: args.groups.as_slice().into(),
        read_only: args.read_only,
    };
    let policy = config.policy();
    let decided = policy.decide(&subject, args.tool, args.channel.as_ref());
    for line in explained(args, &policy, decided) {
        say(&line)?;
    }
    if let Some(note) = nobody_like_that(&config, &args.principal) {
        say(&note)?;
    }
    Ok(if decided.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn explained(args: &Args, policy: &Policy, decided: Result<Allowed, Denied>) -> Vec<String> {
    let place = match &args.channel {
        Some(channel) if args.tool.has_channel() => format!(" on channel '{channel}'"),
        None if args.tool.has_channel() => " on some channel".to_owned(),
        Some(_) | None => String::new(),
    };
    let call = format!("{}{place} for {}", args.tool.as_str(), args.principal);
    match decided {
        Ok(Allowed { basis, bounds }) => {
            let mut lines = vec![format!("allowed: {call}"), format!("decided by: {}", named(policy, basis))];
            lines.extend(bounded(bounds));
            lines
        }
        Err(Denied { reason, basis }) => vec![
            format!("denied: {call}: {}", reason.clause()),
            format!("decided by: {}", named(policy, basis)),
        ],
    }
}

fn named(policy: &Policy, basis: Basis) -> String {
    match basis {
        Basis::NoPolicy => "there is no entry of [[policy]], so everybody may".to_owned(),
        Basis::NoEntry => "no entry of [[policy]] allows it".to_owned(),
        Basis::Service => "server.read_only".to_owned(),
        Basis::Credential => "the token, which is for queries only".to_owned(),
        Basis::Entry(index) => {
            let entry = &policy.entries()[index];
            format!("{}, the entry of [[policy]] for `{}`", entry.place, entry.who)
        }
    }
}

fn bounded(bounds: Bounds) -> Vec<String> {
    let timeout =
        bounds.timeout_seconds_max.map(|seconds| format!("bound: a timeout of at most {seconds} s"));
    let body = bounds.body_bytes_max.map(|bytes| format!("bound: a body of at most {bytes} bytes"));
    let key = bounds.require_key.then(|| "bound: a command needs an idempotency key".to_owned());
    [timeout, body, key].into_iter().flatten().collect()
}

/// A name that no caller can have with this configuration is likelier a slip than a question.
fn nobody_like_that(config: &Config, principal: &Principal) -> Option<String> {
    let is_anonymous = *principal == Principal::anonymous();
    let is_jwt = principal.as_str().starts_with("jwt:");
    let note = match config.auth.mode {
        Mode::None if !is_anonymous => "auth.mode is `none`, so every caller is `anonymous`",
        Mode::Tokens if is_jwt => "auth.mode is `tokens`, so no caller has a JWT",
        Mode::Jwt if !is_jwt && !is_anonymous => "auth.mode is `jwt`, so names begin with `jwt:`",
        Mode::None | Mode::Tokens | Mode::Jwt => return None,
    };
    Some(format!("note: {note}"))
}
