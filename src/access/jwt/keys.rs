//! The keys that an issuer publishes: a JWKS, read and bounded. Pure.
//!
//! A key that cannot be used is left out: issuers publish keys for other purposes beside those for signatures. A set in
//! which it is not certain which key is meant is refused as a whole.

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse};
use jsonwebtoken::{DecodingKey, DecodingKeyKind};
use serde::Deserialize;
use serde_json::Value;

use crate::access::algorithm::Algorithm;

/// Keys of one set.
pub const JWKS_KEYS_MAX: usize = 64;

/// Largest set, in bytes.
pub const JWKS_BYTES_MAX: usize = 1 << 18;

/// Smallest RSA key, in bytes: 2048 bits, below which no signature is taken.
const RSA_BYTES_MIN: usize = 256;

/// The keys of one set that can be used.
#[derive(Debug)]
pub struct Keys {
    keys: Vec<Key>,
    skipped: usize,
}

/// A key, and what it may be used for.
#[derive(Debug)]
pub struct Key {
    id: Option<String>,
    algorithms: Vec<Algorithm>,
    /// The key itself.
    pub decoding: DecodingKey,
}

/// What is wrong with a set. Never with its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JwksMistake {
    /// It is no key set.
    #[error("it is no JWKS; right is a JSON object with a list `keys`")]
    NotASet,
    /// It has too many keys.
    #[error("it has {0} keys, which is more than {JWKS_KEYS_MAX}")]
    TooMany(usize),
    /// Two keys are told apart by nothing.
    #[error("keys {first} and {second} have the same `kid` and may both be meant; give each its own")]
    Twice {
        /// The earlier one, from 1.
        first: usize,
        /// The later one.
        second: usize,
    },
    /// No key of it can be used.
    #[error(
        "it has no key for signatures of `auth.algorithms`; right is an RSA key from 2048 bits on, one of P-256 or P-384, or \
         one of Ed25519, with `use` absent or `sig`"
    )]
    NoneUsable,
}

#[derive(Deserialize)]
struct Set {
    keys: Vec<Value>,
}

impl Keys {
    /// Reads a set, for signatures of these algorithms.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn parse(bytes: &[u8], allowed: &[Algorithm]) -> Result<Self, JwksMistake> {
        let Set { keys: published } = serde_json::from_slice(bytes).map_err(|_| JwksMistake::NotASet)?;
        if published.len() > JWKS_KEYS_MAX {
            return Err(JwksMistake::TooMany(published.len()));
        }
        let count = published.len();
        let mut keys: Vec<(usize, Key)> = Vec::new();
        for (second, value) in (1..).zip(published) {
            let Some(key) = usable(value, allowed) else { continue };
            if let Some((first, _)) = keys.iter().find(|(_, earlier)| earlier.may_be_meant_for(&key)) {
                return Err(JwksMistake::Twice { first: *first, second });
            }
            keys.push((second, key));
        }
        if keys.is_empty() {
            return Err(JwksMistake::NoneUsable);
        }
        let skipped = count - keys.len();
        Ok(Self { keys: keys.into_iter().map(|(_, key)| key).collect(), skipped })
    }

    /// The key that a JWT means. One without a `kid` means the only key that fits, and none when there are several.
    pub fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Option<&Key> {
        let mut fitting = self.keys.iter().filter(|key| {
            key.algorithms.contains(&algorithm) && id.is_none_or(|id| key.id.as_deref() == Some(id))
        });
        let key = fitting.next()?;
        fitting.next().is_none().then_some(key)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// How many of the set are left out.
    pub fn skipped(&self) -> usize {
        self.skipped
    }
}

impl Key {
    /// Whether a JWT with a `kid` can mean either. Keys without one are told apart when a JWT comes.
    fn may_be_meant_for(&self, other: &Self) -> bool {
        self.id.is_some()
            && self.id == other.id
            && self.algorithms.iter().any(|algorithm| other.algorithms.contains(algorithm))
    }
}

fn usable(value: Value, allowed: &[Algorithm]) -> Option<Key> {
    let jwk: Jwk = serde_json::from_value(value).ok()?;
    let common = &jwk.common;
    let for_signatures = matches!(common.public_key_use, None | Some(PublicKeyUse::Signature))
        && common
            .key_operations
            .as_ref()
            .is_none_or(|operations| operations.contains(&KeyOperations::Verify));
    if !for_signatures {
        return None;
    }
    let (mut algorithms, decoding) = material(&jwk)?;
    if let Some(own) = common.key_algorithm {
        let own = Algorithm::parse(&own.to_string())?;
        algorithms.retain(|algorithm| *algorithm == own);
    }
    algorithms.retain(|algorithm| allowed.contains(algorithm));
    (!algorithms.is_empty()).then_some(Key { id: jwk.common.key_id, algorithms, decoding })
}

/// What a key can sign, and the key, if it has the size that it must have.
fn material(jwk: &Jwk) -> Option<(Vec<Algorithm>, DecodingKey)> {
    use Algorithm::{EdDsa, Es256, Es384, Ps256, Ps384, Ps512, Rs256, Rs384, Rs512};
    let algorithms = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => vec![Rs256, Rs384, Rs512, Ps256, Ps384, Ps512],
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => vec![Es256],
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P384 => vec![Es384],
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => vec![EdDsa],
        _ => return None,
    };
    let decoding = DecodingKey::from_jwk(jwk).ok()?;
    let decoding = match decoding.kind() {
        DecodingKeyKind::RsaModulusExponent { n, e } => {
            // Some issuers write a sign byte in front, which `ring` does not read over.
            let (n, e) = (without_zeros(n), without_zeros(e));
            (n.len() >= RSA_BYTES_MIN).then(|| DecodingKey::from_rsa_raw_components(n, e))?
        }
        DecodingKeyKind::SecretOrDer(point) => {
            let bytes = match algorithms[0] {
                Es256 => 65,
                Es384 => 97,
                _ => 32,
            };
            (point.len() == bytes).then(|| decoding.clone())?
        }
    };
    Some((algorithms, decoding))
}

fn without_zeros(bytes: &[u8]) -> &[u8] {
    let start = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
    &bytes[start..]
}
