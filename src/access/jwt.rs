//! Whether a JWT lets its caller in: the rules, over keys that are there. Pure but for the time.
//!
//! The order is that of what is cheap and safe to look at: the size before anything is decoded, the algorithm against our own
//! list and never against the JWT's word, the key by its id, the signature, and only then what the claims say.

mod claim;
mod crypto;
mod keys;
#[cfg(test)]
mod tests;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{TokenData, Validation};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::algorithm::Algorithm;
use super::config::Config;
use super::refusal::Refusal;
use crate::domain::Subject;
use claim::Names;
pub use keys::{JWKS_BYTES_MAX, JwksMistake, Keys};

/// What a JWT must be.
pub struct Rules {
    allowed: Vec<Algorithm>,
    issuer: String,
    validation: Validation,
    names: Names,
}

/// What of the head of a JWT is looked at before its signature.
#[derive(Deserialize)]
struct Head {
    alg: String,
    kid: Option<String>,
}

impl Rules {
    /// The rules of this configuration.
    pub fn new(config: &Config) -> Self {
        crypto::install();
        let audience = if config.audience.is_empty() { &config.resource } else { &config.audience };
        assert!(
            !config.issuer.is_empty() && !audience.is_empty(),
            "the configuration asks for an issuer and an audience"
        );
        // The algorithm is that of each JWT, once it is found on our own list.
        let mut validation = Validation::new(jsonwebtoken::Algorithm::EdDSA);
        validation.leeway = config.leeway_seconds;
        validation.validate_nbf = true;
        validation.set_audience(&[audience]);
        validation.set_issuer(&[&config.issuer]);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        Self {
            allowed: config.algorithms.clone(),
            issuer: config.issuer.clone(),
            validation,
            names: Names::new(config),
        }
    }

    /// How a JWT may be signed.
    pub fn algorithms(&self) -> &[Algorithm] {
        &self.allowed
    }

    /// Judges a JWT.
    ///
    /// # Errors
    /// [`Refusal::UnknownKey`] when another key set may have its key; otherwise why it lets nobody in.
    pub fn judge(&self, keys: &Keys, token: &str) -> Result<Subject, Refusal> {
        let Head { alg, kid } = head(token).ok_or(Refusal::NoJwt)?;
        let algorithm = Algorithm::parse(&alg).filter(|algorithm| self.allowed.contains(algorithm));
        let algorithm = algorithm.ok_or(Refusal::Algorithm)?;
        let key = keys.find(kid.as_deref(), algorithm).ok_or(Refusal::UnknownKey)?;
        let mut validation = self.validation.clone();
        validation.algorithms = vec![of_the_crate(algorithm)];
        let TokenData { claims, .. } =
            jsonwebtoken::decode::<Map<String, Value>>(token, &key.decoding, &validation)
                .map_err(|error| refusal(error.kind()))?;
        // The crate also takes a list of issuers with the right one among them, which no standard knows.
        if claims.get("iss").and_then(Value::as_str) != Some(self.issuer.as_str()) {
            return Err(Refusal::Issuer);
        }
        self.names.subject(claims)
    }
}

fn head(token: &str) -> Option<Head> {
    let (head, _) = token.split_once('.')?;
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(head).ok()?).ok()
}

fn refusal(kind: &ErrorKind) -> Refusal {
    match kind {
        ErrorKind::InvalidSignature => Refusal::Signature,
        ErrorKind::ExpiredSignature => Refusal::Expired,
        ErrorKind::ImmatureSignature => Refusal::NotYetValid,
        ErrorKind::InvalidIssuer => Refusal::Issuer,
        ErrorKind::InvalidAudience => Refusal::Audience,
        ErrorKind::MissingRequiredClaim(name) | ErrorKind::InvalidClaimFormat(name) => match name.as_str() {
            "iss" => Refusal::Issuer,
            "aud" => Refusal::Audience,
            _ => Refusal::Claims,
        },
        _ => Refusal::NoJwt,
    }
}

fn of_the_crate(algorithm: Algorithm) -> jsonwebtoken::Algorithm {
    match algorithm {
        Algorithm::Rs256 => jsonwebtoken::Algorithm::RS256,
        Algorithm::Rs384 => jsonwebtoken::Algorithm::RS384,
        Algorithm::Rs512 => jsonwebtoken::Algorithm::RS512,
        Algorithm::Ps256 => jsonwebtoken::Algorithm::PS256,
        Algorithm::Ps384 => jsonwebtoken::Algorithm::PS384,
        Algorithm::Ps512 => jsonwebtoken::Algorithm::PS512,
        Algorithm::Es256 => jsonwebtoken::Algorithm::ES256,
        Algorithm::Es384 => jsonwebtoken::Algorithm::ES384,
        Algorithm::EdDsa => jsonwebtoken::Algorithm::EdDSA,
    }
}
