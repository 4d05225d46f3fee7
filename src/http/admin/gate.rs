//! Who may ask for keys: whoever comes from this machine and is no web page, or whoever has the operators' token.
//!
//! A web page can make the browser of an operator send requests from this machine; `Origin` and `Host` tell it apart. A
//! proxy on this machine makes everybody come from here; one that says so is told apart, one that does not is not.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Response, StatusCode, header};
use axum::middleware::Next;

use super::Admin;
use crate::access::{AdminToken, Challenge};
use crate::http::fault::{Fault, INVALID_REQUEST};
use crate::http::guard::{self, Guard};
use crate::http::{Config, bearer, body};

/// Headers by which a proxy says that it speaks for somebody else.
const PROXY_HEADERS: [&str; 4] = ["forwarded", "x-forwarded-for", "x-real-ip", "via"];

/// The decision.
pub struct Gate {
    token: Option<Arc<AdminToken>>,
    guard: Guard,
}

impl Gate {
    /// Open to whoever shows the token, or without one to this machine.
    pub fn new(token: Option<AdminToken>, config: &Config) -> Self {
        // Without origins, since no page has any business here.
        Self { token: token.map(Arc::new), guard: Guard::new(&config.allowed_hosts, &[]) }
    }

    /// The answer to a request that is refused.
    async fn refusal(&self, asked: &Parts) -> Option<Response<Body>> {
        let Some(token) = &self.token else {
            let peer = asked.extensions.get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip());
            let host = guard::host_of(&asked.headers, &asked.uri);
            let fault = local(&self.guard, peer, host, &asked.headers).err()?;
            tracing::warn!(reason = %fault.message, "operator's request refused");
            return Some(fault.response());
        };
        let looking = Arc::clone(token);
        // On a thread of its own, since it reads a file. An error is a panic, which the log has; the token is as it was.
        let _ = tokio::task::spawn_blocking(move || looking.look()).await;
        let refusal = token.admit(bearer::presented(&asked.headers)).err()?;
        Some(bearer::refused(refusal, &Challenge::default()))
    }
}

/// Whether a request comes from this machine and from no web page.
fn local(guard: &Guard, peer: Option<IpAddr>, host: Option<&str>, headers: &HeaderMap) -> Result<(), Fault> {
    let refuse = |message: &str| Err(Fault::new(StatusCode::FORBIDDEN, INVALID_REQUEST, message));
    // An IPv4 address in IPv6 clothes is that address.
    if !peer.is_some_and(|address| address.to_canonical().is_loopback()) {
        return refuse("keys are open to this machine only; set admin.token_file to come from elsewhere");
    }
    if headers.contains_key(header::ORIGIN) {
        return refuse("keys are not open to web pages: the request has an Origin");
    }
    if PROXY_HEADERS.iter().any(|name| headers.contains_key(*name)) {
        return refuse("the request comes through a proxy, so it may be anybody's; set admin.token_file");
    }
    guard.check(host, None)
}

/// The gate as a layer in front of its routes.
pub async fn checked(State(admin): State<Admin>, request: Request, next: Next) -> Response<Body> {
    let (asked, body) = request.into_parts();
    match admin.gate.refusal(&asked).await {
        None => next.run(Request::from_parts(asked, body)).await,
        Some(refusal) => {
            body::discard(body, admin.limit).await;
            refusal
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderName;

    use super::*;

    fn status(peer: Option<&str>, host: Option<&str>, names: &[&'static str]) -> u16 {
        let config = Config::default();
        let headers = names.iter().map(|name| (HeaderName::from_static(name), "x".parse().unwrap()));
        let peer = peer.map(|address| address.parse().unwrap());
        let guard = Guard::new(&config.allowed_hosts, &[]);
        local(&guard, peer, host, &headers.collect()).map_or_else(|fault| fault.status.as_u16(), |()| 200)
    }

    #[test]
    fn this_machine_may_by_each_of_its_addresses() {
        for peer in ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(
                status(Some(peer), Some("localhost:9090"), &["accept", "authorization"]),
                200,
                "{peer}"
            );
        }
    }

    #[test]
    fn another_machine_may_not_whatever_it_says() {
        for peer in ["10.0.0.7", "192.168.1.1", "::ffff:10.0.0.7", "fe80::1", "0.0.0.0", "::"] {
            assert_eq!(status(Some(peer), Some("localhost:9090"), &[]), 403, "{peer}");
        }
        assert_eq!(status(None, Some("localhost:9090"), &[]), 403, "nobody knows where it comes from");
    }

    #[test]
    fn a_web_page_or_a_proxy_on_this_machine_may_not() {
        for name in ["origin", "forwarded", "x-forwarded-for", "x-real-ip", "via"] {
            assert_eq!(status(Some("127.0.0.1"), Some("localhost"), &[name]), 403, "{name}");
        }
        assert_eq!(status(Some("127.0.0.1"), Some("evil.example"), &[]), 403);
        assert_eq!(status(Some("127.0.0.1"), None, &[]), 400);
    }
}
