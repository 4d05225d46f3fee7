//! The section `[broker]`: where the broker is, how we show who we are, and how patient we are.

use std::time::Duration;

use serde::Deserialize;

use super::address::Address;
use super::error::ConfigError;
use super::secret::Secret;

/// Shortest keepalive that the client library takes, in seconds; a broker answers anything faster with GOAWAY.
const KEEPALIVE_SECONDS_MIN: u32 = 5;

/// The section `[broker]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// `embedded`, or `host:port`, or several of these with commas between them, tried in this order.
    pub address: String,
    /// The name we have at the broker; its access control looks at it.
    pub client_id: String,
    /// The token we show, sent as it is; empty for none.
    pub auth_token: Secret,
    /// A file with the token, read again when it changes; empty for none.
    pub auth_token_file: String,
    /// Whether the connection is encrypted.
    pub tls: bool,
    /// The authorities that the broker's certificate may come from; empty for the system's.
    pub tls_ca_file: String,
    /// Our own certificate; empty for none.
    pub tls_certificate_file: String,
    /// The key of our own certificate; empty for none.
    pub tls_key_file: String,
    /// The name in the broker's certificate; empty for the host of the address.
    pub tls_server_name: String,
    /// How long connecting may take.
    pub connect_seconds: u32,
    /// Time between two keepalive frames.
    pub keepalive_seconds: u32,
    /// How long a keepalive frame may stay unanswered.
    pub keepalive_timeout_seconds: u32,
    /// Time between two pings while the broker answers.
    pub ping_seconds: u32,
    /// How long a ping may stay unanswered.
    pub ping_timeout_seconds: u32,
    /// Longest pause before the next attempt to reach a broker that is gone; short, so that its return is seen fast.
    pub reconnect_seconds_max: u32,
    /// Largest reply we take, in bytes of its body.
    pub reply_bytes_max: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            address: "embedded".into(),
            client_id: "kubemq-mcp".into(),
            auth_token: Secret::default(),
            auth_token_file: String::new(),
            tls: false,
            tls_ca_file: String::new(),
            tls_certificate_file: String::new(),
            tls_key_file: String::new(),
            tls_server_name: String::new(),
            connect_seconds: 5,
            keepalive_seconds: 10,
            keepalive_timeout_seconds: 5,
            ping_seconds: 5,
            ping_timeout_seconds: 2,
            reconnect_seconds_max: 1,
            reply_bytes_max: 1_048_576,
        }
    }
}

/// Which broker is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The one inside this process; the composition root knows its address.
    Embedded,
    /// One of these, tried in this order.
    At(Vec<Address>),
}

impl Config {
    /// Reads `address`.
    ///
    /// # Errors
    /// Names the mistake and what would be right.
    pub fn place(&self) -> Result<Place, ConfigError> {
        if self.address.trim() == "embedded" {
            return Ok(Place::Embedded);
        }
        let addresses = Address::parse_list(&self.address)
            .map_err(|mistake| ConfigError::Address { value: self.address.clone(), mistake })?;
        Ok(Place::At(addresses))
    }

    /// Checks every option that can be judged without looking at a file.
    ///
    /// # Errors
    /// Names the first option that is wrong.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.place()?;
        if self.client_id.trim().is_empty() {
            let right = "a name, as the broker's access control knows us";
            return Err(ConfigError::OutOfRange { key: "client_id", value: self.client_id.clone(), right });
        }
        let at_least_one = [
            ("connect_seconds", self.connect_seconds),
            ("keepalive_timeout_seconds", self.keepalive_timeout_seconds),
            ("ping_seconds", self.ping_seconds),
            ("ping_timeout_seconds", self.ping_timeout_seconds),
            ("reconnect_seconds_max", self.reconnect_seconds_max),
        ];
        for (key, value) in at_least_one {
            if value == 0 {
                return Err(ConfigError::OutOfRange { key, value: "0".into(), right: "1 or more" });
            }
        }
        if self.keepalive_seconds < KEEPALIVE_SECONDS_MIN {
            let value = self.keepalive_seconds.to_string();
            return Err(ConfigError::OutOfRange { key: "keepalive_seconds", value, right: "5 or more" });
        }
        if self.reply_bytes_max == 0 {
            return Err(ConfigError::OutOfRange {
                key: "reply_bytes_max",
                value: "0".into(),
                right: "1 or more",
            });
        }
        self.check_pairs()
    }

    fn check_pairs(&self) -> Result<(), ConfigError> {
        if !self.auth_token.is_empty() && !self.auth_token_file.is_empty() {
            return Err(ConfigError::Conflict {
                key: "auth_token",
                other: "auth_token_file",
                right: "set one of the two",
            });
        }
        if self.tls_certificate_file.is_empty() != self.tls_key_file.is_empty() {
            return Err(ConfigError::Conflict {
                key: "tls_certificate_file",
                other: "tls_key_file",
                right: "set both or none",
            });
        }
        let of_tls = [
            ("tls_ca_file", &self.tls_ca_file),
            ("tls_certificate_file", &self.tls_certificate_file),
            ("tls_server_name", &self.tls_server_name),
        ];
        // Somebody who names certificates expects encryption; going on in the clear would betray that.
        for (key, value) in of_tls {
            if !self.tls && !value.is_empty() {
                let right = "set `tls` to `true`, or leave this one out";
                return Err(ConfigError::Conflict { key, other: "tls", right });
            }
        }
        Ok(())
    }

    pub(super) fn connect_patience(&self) -> Duration {
        Duration::from_secs(self.connect_seconds.into())
    }

    pub(super) fn ping_patience(&self) -> Duration {
        Duration::from_secs(self.ping_timeout_seconds.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(change: impl FnOnce(&mut Config)) -> String {
        let mut config = Config::default();
        change(&mut config);
        config.check().expect_err("the configuration is wrong").to_string()
    }

    #[test]
    fn the_defaults_are_right_and_mean_the_embedded_broker() {
        let config = Config::default();
        config.check().unwrap();
        assert_eq!(config.place().unwrap(), Place::Embedded);
    }

    #[test]
    fn each_mistake_names_its_key_its_value_and_what_is_right() {
        let text = text_of(|config| config.address = "broker.example".into());
        assert_eq!(
            text,
            "`broker.address` is `broker.example`: has no port; right is `embedded` or `host:port`, several with commas"
        );
        let text = text_of(|config| config.keepalive_seconds = 4);
        assert_eq!(text, "`broker.keepalive_seconds` is `4`; right is 5 or more");
        assert!(text_of(|config| config.client_id = " ".into()).contains("`broker.client_id`"));
        assert!(text_of(|config| config.ping_seconds = 0).contains("`broker.ping_seconds` is `0`"));
        assert!(text_of(|config| config.reply_bytes_max = 0).contains("`broker.reply_bytes_max` is `0`"));
    }

    #[test]
    fn options_that_contradict_each_other_are_refused() {
        let text = text_of(|config| {
            config.auth_token = "s3cret".into();
            config.auth_token_file = "token".into();
        });
        assert!(text.contains("`broker.auth_token_file`") && !text.contains("s3cret"), "{text}");
        let text = text_of(|config| {
            config.tls = true;
            config.tls_key_file = "key.pem".into();
        });
        assert!(text.contains("set both or none"), "{text}");
        let text = text_of(|config| config.tls_ca_file = "ca.pem".into());
        assert!(text.contains("`broker.tls`"), "{text}");
    }

    #[test]
    fn debug_does_not_show_the_token() {
        let config = Config { auth_token: "s3cret".into(), ..Config::default() };
        assert!(!format!("{config:?}").contains("s3cret"));
    }
}
