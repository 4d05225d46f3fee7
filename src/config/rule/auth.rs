//! The rules of what is said of credentials.

use reqwest::Url;

use super::Rule;
use crate::access::{Algorithm, is_loopback, is_scope};
use crate::config::nearest;

/// Which credentials there are.
pub const MODE: Rule = Rule { allowed: "`none`, `tokens` or `jwt`", check: mode };
/// How a JWT may be signed.
pub const ALGORITHM: Rule = Rule {
    allowed: "`RS256`, `RS384`, `RS512`, `PS256`, `PS384`, `PS512`, `ES256`, `ES384` or `EdDSA`",
    check: algorithm,
};
/// A scope.
pub const SCOPE: Rule =
    Rule { allowed: "visible ASCII characters without quotes and backslashes", check: scope };
/// The name of a claim.
pub const CLAIM: Rule =
    Rule { allowed: "the name of a claim, or its path, which begins with `/`", check: super::name };
/// What a claim must be.
pub const CLAIM_VALUE: Rule = Rule { allowed: "a text on one line, or empty", check: super::one_line };
/// Where keys are published, or nothing.
pub const JWKS_URL: Rule =
    Rule { allowed: "a URL with `https`, or with `http` on this machine, or empty", check: jwks_url };
/// What the endpoint is known by, or nothing.
pub const RESOURCE: Rule =
    Rule { allowed: "a URL without `?`, `#` and a slash at its end, or empty", check: resource };
/// Where a JWT is to be had.
pub const SERVER: Rule =
    Rule { allowed: "a URL with `https`, or with `http` on this machine", check: server };

const MODES: [&str; 3] = ["none", "tokens", "jwt"];

fn mode(text: &str) -> Result<(), String> {
    if MODES.contains(&text) {
        return Ok(());
    }
    Err(nearest::word(text, MODES).map_or("write one of the three".into(), |mode| format!("write `{mode}`")))
}

fn algorithm(text: &str) -> Result<(), String> {
    if Algorithm::parse(text).is_some() {
        return Ok(());
    }
    if text.starts_with("HS") || text.eq_ignore_ascii_case("none") {
        return Err(
            "whoever can check such a signature can make one; let the issuer sign with a key pair".into()
        );
    }
    let names = Algorithm::ALL.map(Algorithm::as_str);
    let same = names.into_iter().find(|name| name.eq_ignore_ascii_case(text));
    let meant = same.or_else(|| nearest::word(text, names));
    Err(meant.map_or("write a name of RFC 7518".into(), |name| format!("write `{name}`")))
}

fn scope(text: &str) -> Result<(), String> {
    if is_scope(text) { Ok(()) } else { Err("write one scope for each item of the list".into()) }
}

fn jwks_url(text: &str) -> Result<(), String> {
    if text.is_empty() { Ok(()) } else { server(text) }
}

fn server(text: &str) -> Result<(), String> {
    let url = plain(text)?;
    match url.scheme() {
        "https" => Ok(()),
        "http" if is_loopback(&url) => Ok(()),
        "http" => Err("whoever is on the way could put in keys and pages of their own; write `https`".into()),
        _ => Err("write a URL that begins with `https://`".into()),
    }
}

fn resource(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Ok(());
    }
    let url = plain(text)?;
    if !["https", "http"].contains(&url.scheme()) {
        return Err("write a URL that begins with `https://`".into());
    }
    if text.ends_with('/') || url.query().is_some() {
        return Err("write it as agents do, such as `https://mcp.example/mcp`".into());
    }
    Ok(())
}

/// A URL that can stand in a header as it is, and that names nobody.
fn plain(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("it is no URL: {error}"))?;
    if url.host_str().is_none_or(str::is_empty)
        || !text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"')
    {
        return Err("write a URL with a host, in visible ASCII characters".into());
    }
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return Err("write it without a user and without `#`".into());
    }
    Ok(url)
}
