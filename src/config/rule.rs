//! The rules that texts in the configuration obey. Pure: no name is resolved and no file is looked at.
//!
//! A rule answers with advice that says what to write instead. The advice of a secret's rule never quotes it.

pub mod auth;
pub mod policy;

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use tracing_subscriber::EnvFilter;

use super::nearest;
use crate::domain::ChannelPattern;
use crate::http::{reads_host, reads_origin};

/// What a text may be.
#[derive(Clone, Copy)]
pub struct Rule {
    /// What it may be, as a clause.
    pub allowed: &'static str,
    /// Judges a text; the error is a clause of advice.
    pub check: fn(&str) -> Result<(), String>,
}

/// Any text without control characters.
pub const TEXT: Rule = Rule { allowed: "a text on one line, or empty", check: one_line };
/// Any text without control characters, but not none at all.
pub const NAME: Rule = Rule { allowed: "a text on one line, not empty", check: name };
/// The path of a file, or nothing.
pub const PATH: Rule = Rule { allowed: "the path of a file, or empty", check: one_line };
/// What can travel in the header of a request, or nothing.
pub const TOKEN: Rule = Rule { allowed: "visible ASCII characters, or empty", check: token };
/// The name of a tag, or nothing.
pub const TAG: Rule = Rule { allowed: "1 to 256 bytes on one line, or empty", check: tag };
/// The path of a directory.
pub const DIRECTORY: Rule = Rule { allowed: "the path of a directory", check: name };
/// An address to listen on.
pub const LISTEN: Rule = Rule { allowed: "an IP address and a port", check: listen };
/// An address to listen on, or nothing.
pub const LISTEN_OR_EMPTY: Rule =
    Rule { allowed: "an IP address and a port, or empty", check: listen_or_empty };
/// Where the broker is.
pub const BROKER: Rule =
    Rule { allowed: "`embedded`, or `host:port`, or several with commas between them", check: broker };
/// What is logged.
pub const FILTER: Rule = Rule {
    allowed: "`error`, `warn`, `info`, `debug`, `trace`, `off`, or directives such as `info,kubemq_mcp=debug`",
    check: filter,
};
/// How a line of the log looks.
pub const FORMAT: Rule = Rule { allowed: "`text` or `json`", check: format };
/// A value of the header `Host`, without the port.
pub const HOST: Rule = Rule { allowed: "a host name or an address, without a port", check: host };
/// A value of the header `Origin`.
pub const ORIGIN: Rule =
    Rule { allowed: "`scheme://host`, `scheme://host:port` or `scheme://host:*`", check: origin };
/// A set of channels.
pub const PATTERN: Rule =
    Rule { allowed: "a channel, or a pattern such as `orders.*` or `orders.>`", check: pattern };

fn one_line(text: &str) -> Result<(), String> {
    if text.chars().any(char::is_control) {
        return Err("it has a control character".into());
    }
    Ok(())
}

fn name(text: &str) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err("it is empty".into());
    }
    one_line(text)
}

fn token(text: &str) -> Result<(), String> {
    if text.chars().all(|character| character.is_ascii_graphic()) {
        return Ok(());
    }
    Err("it has a space, a line end or a character beyond ASCII".into())
}

fn tag(text: &str) -> Result<(), String> {
    if text.len() > 256 {
        return Err("KubeMQ's own clients take no longer one".into());
    }
    one_line(text)
}

fn listen_or_empty(text: &str) -> Result<(), String> {
    if text.is_empty() { Ok(()) } else { listen(text) }
}

fn listen(text: &str) -> Result<(), String> {
    if text.parse::<SocketAddr>().is_ok() {
        return Ok(());
    }
    // An address that is only an address must not lose its last part to the port.
    let bare = text.parse::<IpAddr>().is_ok();
    let (host, port) = text.rsplit_once(':').filter(|_| !bare).unwrap_or((text, ""));
    let port = if port.parse::<u16>().is_ok() { port } else { "9090" };
    let loopback = host.is_empty() || host == "localhost" || host.chars().all(|digit| digit.is_ascii_digit());
    if loopback {
        return Err(format!("write `127.0.0.1:{port}`, or `0.0.0.0:{port}` for every network"));
    }
    if let Ok(address) = host.parse() {
        return Err(format!("write `{}`", SocketAddr::new(address, port.parse().unwrap_or(9090))));
    }
    Err(format!("a name is not looked up; write an address such as `127.0.0.1:{port}`"))
}

fn broker(text: &str) -> Result<(), String> {
    if text == "embedded" {
        return Ok(());
    }
    text.split(',').try_for_each(|address| host_and_port(address.trim()))
}

fn host_and_port(text: &str) -> Result<(), String> {
    if let Some((_, rest)) = text.split_once("://") {
        return Err(format!("write `{rest}`, without a scheme; `broker.tls` says whether it is encrypted"));
    }
    let (host, port) = text.rsplit_once(':').unwrap_or((text, ""));
    let plain = |character: char| character.is_ascii_alphanumeric() || "-._".contains(character);
    let bracketed = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let host_is_right = match bracketed {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => !host.is_empty() && host.chars().all(plain),
    };
    if !host_is_right {
        return Err("write `host:port`, and an IPv6 address in brackets".into());
    }
    // `parse` alone would take `+50000`.
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    if digits && port.parse::<u16>().is_ok_and(|port| port > 0) {
        return Ok(());
    }
    Err(format!("it needs a port from 1 to 65535: write `{host}:50000`"))
}

fn filter(text: &str) -> Result<(), String> {
    const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];
    // An env-filter takes a bare word that is no level as the name of a module, so `inof` would silence everything.
    for directive in text.split(',') {
        let bare = !directive.contains(['=', '[']);
        if bare && !LEVELS.contains(&directive) {
            return Err(match nearest::word(directive, LEVELS) {
                Some(level) => format!("write `{level}`"),
                None => "write a level, or `module=level`".into(),
            });
        }
    }
    EnvFilter::builder().parse(text).map(drop).map_err(|error| error.to_string())
}

fn format(text: &str) -> Result<(), String> {
    match text {
        "text" | "json" => Ok(()),
        _ => Err("write `text` for people, `json` for machines".into()),
    }
}

fn host(text: &str) -> Result<(), String> {
    name(text)?;
    if !reads_host(text) || text.ends_with(':') {
        return Err("write only the host, such as `localhost`, `[::1]`, or `xn--bcher-kva.example` for `bücher.example`".into());
    }
    Ok(())
}

fn origin(text: &str) -> Result<(), String> {
    if reads_origin(text) {
        return Ok(());
    }
    Err("write an origin such as `https://example.com` or `http://localhost:*`, a name beyond ASCII as `xn--…`".into())
}

fn pattern(text: &str) -> Result<(), String> {
    ChannelPattern::parse(text).map(drop).map_err(|error| error.to_string())
}
