//! Who can call at all: whether an address that other machines reach is open to whoever comes. Pure.

use std::net::SocketAddr;

use crate::config::Config;

/// An address is open to everybody, and nobody has said that it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`server.listen` is {0}, which other machines reach, and a call needs no token; set `auth.mode` to `tokens` or `jwt`, with \
     `auth.token_required`, or listen on 127.0.0.1, or say `--insecure` (server.insecure = true) if everybody may call"
)]
pub struct Exposed(SocketAddr);

/// Who reaches the endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposure {
    /// Only this machine, or only callers with a token.
    Guarded,
    /// Everybody, and somebody has said that this is meant.
    Open,
}

/// Judges where a connector listens and what it asks of callers.
///
/// # Errors
/// When everybody could call and nobody has said that this is meant.
pub fn judge(config: &Config) -> Result<Exposure, Exposed> {
    let server = &config.server;
    if server.listen.ip().to_canonical().is_loopback() || !config.auth.serves_anonymous() {
        return Ok(Exposure::Guarded);
    }
    if server.insecure { Ok(Exposure::Open) } else { Err(Exposed(server.listen)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Mode;

    #[test]
    fn an_address_that_others_reach_needs_tokens_or_a_word_that_it_does_not() {
        for (listen, mode, token_required, insecure, expected) in [
            ("127.0.0.1:0", Mode::None, true, false, Ok(Exposure::Guarded)),
            ("[::1]:0", Mode::Tokens, false, false, Ok(Exposure::Guarded)),
            ("[::ffff:127.0.0.1]:0", Mode::None, false, false, Ok(Exposure::Guarded)),
            ("0.0.0.0:9090", Mode::Tokens, true, false, Ok(Exposure::Guarded)),
            ("0.0.0.0:9090", Mode::Jwt, true, true, Ok(Exposure::Guarded)),
            ("0.0.0.0:9090", Mode::None, true, true, Ok(Exposure::Open)),
            ("[::]:9090", Mode::Jwt, false, true, Ok(Exposure::Open)),
            ("0.0.0.0:9090", Mode::None, true, false, Err(())),
            ("[::]:9090", Mode::None, true, false, Err(())),
            ("10.0.0.7:9090", Mode::Tokens, false, false, Err(())),
        ] {
            let mut config = Config::default();
            config.server.listen = listen.parse().unwrap();
            config.server.insecure = insecure;
            config.auth.mode = mode;
            config.auth.token_required = token_required;
            assert_eq!(
                judge(&config).map_err(|_| ()),
                expected,
                "{listen} {mode:?} {token_required} {insecure}"
            );
        }
    }
}
