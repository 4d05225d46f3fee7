//! Where a broker listens.
//!
//! Parsed once from `broker.address`, so that a mistyped address is an error at start and not a broker that never answers.

use std::fmt;
use std::net::{Ipv6Addr, SocketAddr};
use std::sync::Arc;

/// A host and a port. The host is a name, an IPv4 address or an IPv6 address, kept without its brackets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    host: Arc<str>,
    port: u16,
}

/// Why a text is not an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Nothing stands there, or nothing between two commas.
    #[error("an address is empty")]
    Empty,
    /// A URL was given.
    #[error("has a scheme; encryption is chosen with `broker.tls`")]
    Scheme,
    /// The port is missing.
    #[error("has no port")]
    NoPort,
    /// The port is not a number from 1 to 65535.
    #[error("has a port that is not a number from 1 to 65535")]
    Port,
    /// An IPv6 address stands without brackets, or the brackets hold something else.
    #[error("an IPv6 address needs brackets, as in `[::1]:50000`")]
    Brackets,
    /// The host has a character that no host has.
    #[error("has a host with the character {0:?}")]
    Character(char),
}

impl Address {
    /// Reads `host:port`.
    ///
    /// # Errors
    /// Says which part of the text is wrong.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(AddressError::Empty);
        }
        if text.contains("://") {
            return Err(AddressError::Scheme);
        }
        let (host, port) = if let Some(rest) = text.strip_prefix('[') {
            let (host, rest) = rest.split_once(']').ok_or(AddressError::Brackets)?;
            host.parse::<Ipv6Addr>().map_err(|_| AddressError::Brackets)?;
            (host, rest.strip_prefix(':').ok_or(AddressError::NoPort)?)
        } else {
            let (host, port) = text.rsplit_once(':').ok_or(AddressError::NoPort)?;
            if host.contains(':') {
                return Err(AddressError::Brackets);
            }
            check_host(host)?;
            (host, port)
        };
        // `parse` alone would take `+50000`.
        let digits = port.bytes().all(|byte| byte.is_ascii_digit());
        let port = port.parse().ok().filter(|port| digits && *port != 0).ok_or(AddressError::Port)?;
        Ok(Self { host: host.into(), port })
    }

    /// Reads addresses with commas between them; the order is the order in which they are tried.
    ///
    /// # Errors
    /// As [`Address::parse`], for the first that is wrong.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, AddressError> {
        text.split(',').map(Self::parse).collect()
    }

    /// The host, without brackets: what a certificate names.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The host as it stands in a URI, an IPv6 address in brackets.
    pub fn uri_host(&self) -> String {
        if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.to_string() }
    }
}

fn check_host(host: &str) -> Result<(), AddressError> {
    if host.is_empty() {
        return Err(AddressError::Empty);
    }
    let allowed = |character: &char| character.is_ascii_alphanumeric() || "-._".contains(*character);
    match host.chars().find(|character| !allowed(character)) {
        Some(character) => Err(AddressError::Character(character)),
        None => Ok(()),
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self { host: address.ip().to_string().into(), port: address.port() }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.uri_host(), self.port)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_and_both_kinds_of_ip_address_are_read() {
        for text in ["localhost:50000", "10.0.0.1:1", "[::1]:50000", "a_b.c-d.example:65535"] {
            assert_eq!(Address::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Address::parse("[::1]:50000").unwrap().host(), "::1");
    }

    #[test]
    fn a_list_keeps_its_order_and_forgives_spaces() {
        let list = Address::parse_list("b:2, a:1 ,[::1]:3").unwrap();
        assert_eq!(list.iter().map(Address::to_string).collect::<Vec<_>>(), ["b:2", "a:1", "[::1]:3"]);
        assert_eq!(Address::parse_list("a:1,,b:2"), Err(AddressError::Empty));
    }

    #[test]
    fn each_mistake_is_named() {
        let error = |text: &str| Address::parse(text).expect_err(text);
        assert_eq!(error(""), AddressError::Empty);
        assert_eq!(error(":50000"), AddressError::Empty);
        assert_eq!(error("grpc://a:1"), AddressError::Scheme);
        assert_eq!(error("localhost"), AddressError::NoPort);
        assert_eq!(error("[::1]"), AddressError::NoPort);
        assert_eq!(error("::1:50000"), AddressError::Brackets);
        assert_eq!(error("[localhost]:1"), AddressError::Brackets);
        assert_eq!(error("a b:1"), AddressError::Character(' '));
        assert_eq!(error("user@a:1"), AddressError::Character('@'));
        for text in ["a:0", "a:65536", "a:", "a:+1", "a:x"] {
            assert_eq!(error(text), AddressError::Port, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_accepted_reads_back_as_itself(text in "[\\[\\]a-f0-9:., ]{0,24}") {
            if let Ok(address) = Address::parse(&text) {
                prop_assert_eq!(Address::parse(&address.to_string()), Ok(address));
            }
        }
    }
}
