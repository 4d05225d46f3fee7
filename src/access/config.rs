//! The options of who calls: which credentials there are, and what they must say.

use serde::Deserialize;

use super::algorithm::Algorithm;

/// The section `[auth]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Which credentials there are.
    pub mode: Mode,
    /// Whether a call over HTTP without a credential is refused. Only where there are credentials.
    pub token_required: bool,
    /// What every credential must have been issued for.
    pub scopes_required: Vec<String>,
    /// The file that names the callers by the hashes of their tokens.
    pub tokens_file: String,
    /// The file with the keys that JWTs are signed with; empty when they come from a URL.
    pub jwks_file: String,
    /// Where the keys that JWTs are signed with are published; empty when they come from a file.
    pub jwks_url: String,
    /// Between two reads of the URL.
    pub jwks_refresh_seconds: u64,
    /// Who issues the JWTs.
    pub issuer: String,
    /// Whom the JWTs are for; empty for the resource.
    pub audience: String,
    /// How JWTs may be signed.
    pub algorithms: Vec<Algorithm>,
    /// How far two clocks may be apart.
    pub leeway_seconds: u64,
    /// The claim that names the caller.
    pub principal_claim: String,
    /// The claim with what the JWT was issued for.
    pub scope_claim: String,
    /// The claim with the groups of the caller.
    pub groups_claim: String,
    /// The URL that agents know the endpoint by; empty when it is not told.
    pub resource: String,
    /// Where agents get a JWT; empty for the issuer.
    pub authorization_servers: Vec<String>,
}

/// Which credentials there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// None: everybody is anonymous.
    #[default]
    None,
    /// The tokens of a file.
    Tokens,
    /// JWTs of an issuer.
    Jwt,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mode: Mode::None,
            token_required: true,
            scopes_required: Vec::new(),
            tokens_file: String::new(),
            jwks_file: String::new(),
            jwks_url: String::new(),
            jwks_refresh_seconds: 300,
            issuer: String::new(),
            audience: String::new(),
            algorithms: Algorithm::USUAL.to_vec(),
            leeway_seconds: 30,
            principal_claim: "sub".into(),
            scope_claim: "scope".into(),
            groups_claim: "groups".into(),
            resource: String::new(),
            authorization_servers: Vec::new(),
        }
    }
}

impl Config {
    /// Whether somebody who shows nothing may call.
    pub fn serves_anonymous(&self) -> bool {
        self.mode == Mode::None || !self.token_required
    }
}
