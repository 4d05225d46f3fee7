//! What a refused caller is told of how to get in: the challenge of RFC 6750, and the metadata of RFC 9728. Pure.

use serde_json::json;

use super::config::{Config, Mode};
use super::refusal::Refusal;

/// Where the metadata of a resource stands, before the path of the resource.
pub const METADATA_PATH: &str = "/.well-known/oauth-protected-resource";

/// What stands in `WWW-Authenticate`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Challenge {
    metadata_url: Option<String>,
    scopes: String,
}

impl Challenge {
    /// The challenge of this configuration.
    pub(super) fn new(config: &Config) -> Self {
        let metadata_url = resource(config).map(metadata_url);
        Self { metadata_url, scopes: config.scopes_required.join(" ") }
    }

    /// The scopes that are needed, with spaces between them.
    pub fn scopes(&self) -> &str {
        &self.scopes
    }

    /// The value of the header. Why a token is not valid stays with us: whoever guesses must not learn how close it was.
    pub fn text(&self, refusal: Refusal) -> String {
        let error = match refusal {
            // RFC 6750: whoever showed nothing is told how to, and not that something was wrong.
            Refusal::Missing => None,
            Refusal::Scope => Some("insufficient_scope"),
            _ => Some("invalid_token"),
        };
        let scopes = (!self.scopes.is_empty()).then_some(self.scopes.as_str());
        let parts =
            [("resource_metadata", self.metadata_url.as_deref()), ("error", error), ("scope", scopes)];
        let parts: Vec<String> =
            parts.iter().filter_map(|(name, value)| Some(format!("{name}=\"{}\"", (*value)?))).collect();
        if parts.is_empty() { "Bearer".into() } else { format!("Bearer {}", parts.join(", ")) }
    }
}

/// The metadata of the endpoint, as JSON; nothing where it has no name to be known by.
pub(super) fn metadata(config: &Config) -> Option<String> {
    let servers = match config.authorization_servers.as_slice() {
        [] => std::slice::from_ref(&config.issuer),
        servers => servers,
    };
    let mut document = json!({
        "resource": resource(config)?,
        "authorization_servers": servers,
        "bearer_methods_supported": ["header"],
    });
    if !config.scopes_required.is_empty() {
        document["scopes_supported"] = json!(config.scopes_required);
    }
    Some(document.to_string())
}

fn resource(config: &Config) -> Option<&str> {
    (config.mode == Mode::Jwt && !config.resource.is_empty()).then_some(config.resource.as_str())
}

/// RFC 9728: the well-known path goes between the host and the path of the resource.
fn metadata_url(resource: &str) -> String {
    let host_start = resource.find("://").map_or(0, |scheme_end| scheme_end + 3);
    let path_start = resource[host_start..].find('/').map_or(resource.len(), |slash| host_start + slash);
    let (origin, path) = resource.split_at(path_start);
    format!("{origin}{METADATA_PATH}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        Config {
            mode: Mode::Jwt,
            resource: "https://mcp.example/mcp".into(),
            issuer: "https://issuer.example".into(),
            scopes_required: vec!["kubemq:query".into(), "b".into()],
            ..Config::default()
        }
    }

    #[test]
    fn the_metadata_stands_between_the_host_and_the_path() {
        for (resource, url) in [
            ("https://a.example/mcp", "https://a.example/.well-known/oauth-protected-resource/mcp"),
            ("https://a.example:8443", "https://a.example:8443/.well-known/oauth-protected-resource"),
            ("http://[::1]:9090/x/mcp", "http://[::1]:9090/.well-known/oauth-protected-resource/x/mcp"),
        ] {
            assert_eq!(metadata_url(resource), url);
        }
    }

    #[test]
    fn a_challenge_says_where_to_go_and_never_why_a_token_is_not_valid() {
        let challenge = Challenge::new(&config());
        let place = "resource_metadata=\"https://mcp.example/.well-known/oauth-protected-resource/mcp\"";
        let scope = "scope=\"kubemq:query b\"";
        for refusal in Refusal::ALL {
            let error = match refusal {
                Refusal::Missing => "",
                Refusal::Scope => "error=\"insufficient_scope\", ",
                _ => "error=\"invalid_token\", ",
            };
            assert_eq!(challenge.text(refusal), format!("Bearer {place}, {error}{scope}"), "{refusal:?}");
        }
        let plain = Challenge::default();
        assert_eq!(plain.text(Refusal::Missing), "Bearer");
        assert_eq!(plain.text(Refusal::Expired), "Bearer error=\"invalid_token\"");
    }

    #[test]
    fn the_metadata_names_the_resource_and_where_a_token_comes_from() {
        let read =
            |config: &Config| serde_json::from_str::<serde_json::Value>(&metadata(config).unwrap()).unwrap();
        let expected = json!({
            "resource": "https://mcp.example/mcp",
            "authorization_servers": ["https://issuer.example"],
            "bearer_methods_supported": ["header"],
            "scopes_supported": ["kubemq:query", "b"],
        });
        assert_eq!(read(&config()), expected);
        let servers = vec!["https://login.example".to_owned()];
        let other = Config { authorization_servers: servers.clone(), scopes_required: vec![], ..config() };
        assert_eq!(read(&other)["authorization_servers"], json!(servers));
        assert_eq!(read(&other).get("scopes_supported"), None);
        assert_eq!(metadata(&Config { mode: Mode::Tokens, ..config() }), None);
        assert_eq!(metadata(&Config { resource: String::new(), ..config() }), None);
    }
}
