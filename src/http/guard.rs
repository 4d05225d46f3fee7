//! Whom a request says it is for and where it says it comes from: the two headers that stop DNS rebinding.
//!
//! A web page can make a browser send requests to a local server, but it cannot choose these two headers.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::Response;

use super::bearer;
use super::fault::{Fault, INVALID_REQUEST};
use super::front::Front;

/// What is answered.
#[derive(Clone, Debug)]
pub struct Guard {
    hosts: Vec<Host>,
    origins: Vec<Origin>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Host {
    name: String,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Origin {
    scheme: String,
    name: String,
    port: Port,
}

/// The port of an origin. `http://localhost` is port 80 and no other: whoever may serve a page on another port of that
/// host is somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Port {
    /// `:*` of an entry.
    Any,
    /// The one that is named, or else that of the scheme; `None` where the scheme has none.
    Exactly(Option<u16>),
}

impl Origin {
    fn admits(&self, came: &Self) -> bool {
        self.scheme == came.scheme
            && self.name == came.name
            && (self.port == Port::Any || self.port == came.port)
    }
}

impl Guard {
    /// Reads the allow lists. An entry that cannot be read allows nothing and is logged.
    pub fn new(allowed_hosts: &[String], allowed_origins: &[String]) -> Self {
        let note =
            |text: &String, kind: &str| tracing::warn!(entry = %text, "an entry of {kind} cannot be read");
        let hosts = allowed_hosts.iter().filter_map(|text| {
            let host = host(text);
            host.is_none().then(|| note(text, "http.allowed_hosts"));
            host
        });
        let origins = allowed_origins.iter().filter_map(|text| {
            let origin = allowed_origin(text);
            origin.is_none().then(|| note(text, "http.allowed_origins"));
            origin
        });
        Self { hosts: hosts.collect(), origins: origins.collect() }
    }

    /// Judges the two headers of a request.
    ///
    /// # Errors
    /// 400 for a `Host` that is missing or unreadable, 403 for one or the other that is not allowed.
    pub fn check(&self, host_header: Option<&str>, origin_header: Option<&str>) -> Result<(), Fault> {
        let refuse = |status, message: &str| Err(Fault::new(status, INVALID_REQUEST, message));
        let Some(asked) = host_header.and_then(host) else {
            return refuse(StatusCode::BAD_REQUEST, "the Host header is missing or cannot be read");
        };
        let fits = |allowed: &Host, asked: &Host| {
            allowed.name == asked.name && (allowed.port.is_none() || allowed.port == asked.port)
        };
        if !self.hosts.iter().any(|allowed| allowed.name == "*" || fits(allowed, &asked)) {
            return refuse(StatusCode::FORBIDDEN, "this Host is not served; add it to http.allowed_hosts");
        }
        let Some(text) = origin_header else { return Ok(()) };
        let allowed =
            origin(text).is_some_and(|came| self.origins.iter().any(|allowed| allowed.admits(&came)));
        if allowed {
            Ok(())
        } else {
            refuse(StatusCode::FORBIDDEN, "this Origin is not allowed; add it to http.allowed_origins")
        }
    }
}

/// Whether a text can be an entry of `http.allowed_hosts`.
pub fn reads_host(text: &str) -> bool {
    host(text).is_some_and(|host| host.port.is_none() && host.name != "*")
}

/// Whether a text can be an entry of `http.allowed_origins`.
pub fn reads_origin(text: &str) -> bool {
    // A path would be read over, and a page has none in its origin.
    let authority_is_last = text.split_once("://").is_some_and(|(_, rest)| !rest.contains(['/', '?', '#']));
    authority_is_last && allowed_origin(text).is_some_and(|origin| origin.name != "*")
}

fn host(text: &str) -> Option<Host> {
    let text = text.trim();
    if text == "*" {
        return Some(Host { name: "*".into(), port: None });
    }
    let authority: axum::http::uri::Authority = text.parse().ok()?;
    // A user part has no place in a Host header, and would let `localhost@evil` pass for what it is not.
    if authority.as_str().contains('@') || authority.host().is_empty() {
        return None;
    }
    let name = authority.host();
    let port = match authority.as_str().strip_prefix(name)? {
        "" | ":" => None,
        // `parse` alone would take `+80`.
        rest => Some(rest.strip_prefix(':').filter(|port| !port.starts_with('+'))?.parse().ok()?),
    };
    Some(Host { name: name.to_ascii_lowercase(), port })
}

fn allowed_origin(text: &str) -> Option<Origin> {
    match text.strip_suffix(":*") {
        Some(portless) => origin(portless).map(|origin| Origin { port: Port::Any, ..origin }),
        None => origin(text),
    }
}

fn origin(text: &str) -> Option<Origin> {
    let uri: Uri = text.trim().parse().ok()?;
    let scheme = uri.scheme_str()?.to_ascii_lowercase();
    let host = host(uri.authority()?.as_str())?;
    // A browser leaves the default port out.
    let port = Port::Exactly(host.port.or_else(|| default_port(&scheme)));
    Some(Origin { scheme, name: host.name, port })
}

fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

/// The check as a layer in front of every route.
pub async fn checked(State(front): State<Front>, request: Request, next: Next) -> Response {
    if let Err(fault) = judge(front.guard(), &request) {
        tracing::warn!(reason = %fault.message, "request refused");
        return front.finish(fault.response(), None);
    }
    // Whatever else the request is: the token has been shown to whoever logs a URL on its way.
    if bearer::is_in_query(request.uri()) {
        tracing::warn!(reason = "a token in the query", "request refused");
        return front.finish(bearer::refused_in_query().response(), None);
    }
    next.run(request).await
}

fn judge(guard: &Guard, request: &Request) -> Result<(), Fault> {
    let origin = request.headers().get(header::ORIGIN).map(|value| value.to_str().unwrap_or("unreadable"));
    guard.check(host_of(request.headers(), request.uri()), origin)
}

/// The host that a request is addressed to.
pub fn host_of<'a>(headers: &'a HeaderMap, uri: &'a Uri) -> Option<&'a str> {
    let named = headers.get(header::HOST).and_then(|value| value.to_str().ok());
    // HTTP/2 carries the host in the request line.
    named.or_else(|| uri.authority().map(|authority| authority.as_str()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn guard() -> Guard {
        let config = crate::http::Config::default();
        let mut origins = config.allowed_origins;
        origins.push("https://app.example".into());
        Guard::new(&config.allowed_hosts, &origins)
    }

    fn status(host: Option<&str>, origin: Option<&str>) -> u16 {
        guard().check(host, origin).map_or_else(|fault| fault.status.as_u16(), |()| 200)
    }

    #[test]
    fn loopback_names_on_any_port_are_served() {
        for host in ["localhost", "localhost:9090", "127.0.0.1:1", "[::1]:9090", "LOCALHOST:9090"] {
            assert_eq!(status(Some(host), None), 200, "{host}");
        }
    }

    #[test]
    fn another_host_is_refused() {
        for host in ["evil.example", "localhost.evil.example", "evil@localhost", "127.0.0.2"] {
            assert_ne!(status(Some(host), None), 200, "{host}");
        }
        assert_eq!(status(None, None), 400);
        for unreadable in ["", "localhost:70000", "localhost:+80"] {
            assert_eq!(status(Some(unreadable), None), 400, "{unreadable}");
        }
    }

    #[test]
    fn an_origin_must_match_in_scheme_host_and_port() {
        let origin = |text| status(Some("localhost"), Some(text));
        assert_eq!(origin("http://localhost:3000"), 200);
        assert_eq!(origin("http://localhost"), 200);
        assert_eq!(origin("https://app.example:443"), 200);
        for other_port in ["https://app.example:8443", "https://app.example:80", "http://app.example:443"] {
            assert_eq!(origin(other_port), 403, "{other_port}");
        }
        for wrong in ["http://evil.example", "https://localhost:3000", "null", "", "localhost", "file://"] {
            assert_eq!(origin(wrong), 403, "{wrong}");
        }
    }

    #[test]
    fn an_entry_without_a_port_is_the_port_of_its_scheme() {
        let entries = ["http://page.example", "http://page.example:81", "https://page.example:443"];
        let guard = Guard::new(&["*".into()], &entries.map(String::from));
        let allowed = |origin| guard.check(Some("localhost"), Some(origin)).is_ok();
        for right in [
            "http://page.example",
            "http://page.example:80",
            "http://page.example:81",
            "https://page.example",
        ] {
            assert!(allowed(right), "{right}");
        }
        for wrong in ["http://page.example:8080", "https://page.example:81", "http://page.example:443"] {
            assert!(!allowed(wrong), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_header_is_judged_without_a_panic(host in ".{0,60}", origin in ".{0,60}") {
            let _ = guard().check(Some(&host), Some(&origin));
        }
    }
}
