//! Which JWTs are taken, and why the others are not.

use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use ring::hmac;
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    self, ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair, RsaEncoding, RsaKeyPair,
};
use serde_json::json;

use super::*;
use crate::clock;

/// A key for tests, made for nothing else; `ring` makes no RSA keys.
const RSA: &str = include_str!("../../../tests/it/jwt/rsa.pkcs8.base64");

/// A key pair of each kind.
struct Signer {
    random: SystemRandom,
    p256: EcdsaKeyPair,
    p384: EcdsaKeyPair,
    ed: Ed25519KeyPair,
    rsa: RsaKeyPair,
}

impl Signer {
    fn new() -> Self {
        let random = SystemRandom::new();
        let pair = |algorithm| {
            let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
            EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).unwrap()
        };
        let (p256, p384) = (pair(&ECDSA_P256_SHA256_FIXED_SIGNING), pair(&ECDSA_P384_SHA384_FIXED_SIGNING));
        let ed =
            Ed25519KeyPair::from_pkcs8(Ed25519KeyPair::generate_pkcs8(&random).unwrap().as_ref()).unwrap();
        let der = STANDARD.decode(RSA.replace('\n', "")).unwrap();
        let rsa = RsaKeyPair::from_pkcs8(&der).unwrap();
        Self { random, p256, p384, ed, rsa }
    }

    fn jwk(&self, algorithm: Algorithm, id: &str) -> Value {
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let curve = |name: &str, point: &[u8]| {
            let (x, y) = point[1..].split_at(point.len() / 2);
            json!({ "kty": "EC", "crv": name, "x": encode(x), "y": encode(y), "kid": id })
        };
        match algorithm {
            Algorithm::Es256 => curve("P-256", self.p256.public_key().as_ref()),
            Algorithm::Es384 => curve("P-384", self.p384.public_key().as_ref()),
            Algorithm::EdDsa => {
                json!({ "kty": "OKP", "crv": "Ed25519", "x": encode(self.ed.public_key().as_ref()), "kid": id })
            }
            _ => {
                let key = PublicKeyComponents::<Vec<u8>>::from(self.rsa.public_key());
                json!({ "kty": "RSA", "n": encode(&key.n), "e": encode(&key.e), "kid": id, "use": "sig" })
            }
        }
    }

    fn sign(&self, algorithm: Algorithm, message: &[u8]) -> Vec<u8> {
        let rsa = |encoding: &'static dyn RsaEncoding| {
            let mut signed = vec![0; self.rsa.public().modulus_len()];
            self.rsa.sign(encoding, &self.random, message, &mut signed).unwrap();
            signed
        };
        match algorithm {
            Algorithm::Rs256 => rsa(&signature::RSA_PKCS1_SHA256),
            Algorithm::Rs384 => rsa(&signature::RSA_PKCS1_SHA384),
            Algorithm::Rs512 => rsa(&signature::RSA_PKCS1_SHA512),
            Algorithm::Ps256 => rsa(&signature::RSA_PSS_SHA256),
            Algorithm::Ps384 => rsa(&signature::RSA_PSS_SHA384),
            Algorithm::Ps512 => rsa(&signature::RSA_PSS_SHA512),
            Algorithm::Es256 => self.p256.sign(&self.random, message).unwrap().as_ref().to_vec(),
            Algorithm::Es384 => self.p384.sign(&self.random, message).unwrap().as_ref().to_vec(),
            Algorithm::EdDsa => self.ed.sign(message).as_ref().to_vec(),
        }
    }

    fn token(&self, algorithm: Algorithm, claims: &Value) -> String {
        assembled(&json!({ "alg": algorithm.as_str(), "kid": "k" }), claims, |message| {
            self.sign(algorithm, message)
        })
    }
}

fn assembled(head: &Value, claims: &Value, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let message = format!("{}.{}", part(head), part(claims));
    let signed = URL_SAFE_NO_PAD.encode(sign(message.as_bytes()));
    format!("{message}.{signed}")
}

fn config() -> Config {
    Config {
        issuer: "https://issuer.example".into(),
        audience: "https://mcp.example/mcp".into(),
        algorithms: Algorithm::ALL.to_vec(),
        ..Config::default()
    }
}

fn now() -> u64 {
    clock::now().duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

fn claims() -> Value {
    json!({ "iss": "https://issuer.example", "aud": "https://mcp.example/mcp", "sub": "ada", "exp": now() + 600 })
}

/// The good claims with some of them changed; `null` takes one away.
fn changed(changes: &[(&str, Value)]) -> Value {
    let mut claims = claims();
    for (name, value) in changes {
        match value {
            Value::Null => _ = claims.as_object_mut().unwrap().remove(*name),
            value => claims[*name] = value.clone(),
        }
    }
    claims
}

fn keys(set: &[Value]) -> Keys {
    Keys::parse(json!({ "keys": set }).to_string().as_bytes(), &Algorithm::ALL).unwrap()
}

fn name(judged: Result<Subject, Refusal>) -> Result<String, Refusal> {
    judged.map(|subject| subject.principal.to_string())
}

#[test]
fn every_algorithm_of_the_list_is_verified_and_no_signature_of_another_key_is() {
    let (signer, stranger, rules) = (Signer::new(), Signer::new(), Rules::new(&config()));
    for algorithm in Algorithm::ALL {
        let keys = keys(&[signer.jwk(algorithm, "k")]);
        assert_eq!(
            name(rules.judge(&keys, &signer.token(algorithm, &claims()))),
            Ok("jwt:ada".into()),
            "{algorithm:?}"
        );
        let forged = match algorithm {
            // There is one RSA key for all tests; another message is as good as another key.
            Algorithm::Rs256
            | Algorithm::Rs384
            | Algorithm::Rs512
            | Algorithm::Ps256
            | Algorithm::Ps384
            | Algorithm::Ps512 => {
                let head = json!({ "alg": algorithm.as_str(), "kid": "k" });
                assembled(&head, &claims(), |_| signer.sign(algorithm, b"another message"))
            }
            _ => stranger.token(algorithm, &claims()),
        };
        assert_eq!(rules.judge(&keys, &forged), Err(Refusal::Signature), "{algorithm:?}");
    }
}

#[test]
fn a_claim_that_is_wrong_or_missing_refuses_the_token() {
    let (signer, rules) = (Signer::new(), Rules::new(&config()));
    let keys = keys(&[signer.jwk(Algorithm::Es256, "k")]);
    let now = now();
    for (changes, expected) in [
        (vec![("exp", json!(now - 31))], Err(Refusal::Expired)),
        (vec![("exp", json!(now - 25))], Ok(())),
        (vec![("exp", json!(now as f64 + 60.5))], Ok(())),
        (vec![("exp", json!((now + 60).to_string()))], Err(Refusal::Claims)),
        (vec![("exp", json!(-1))], Err(Refusal::Claims)),
        (vec![("exp", Value::Null)], Err(Refusal::Claims)),
        (vec![("nbf", json!(now + 60))], Err(Refusal::NotYetValid)),
        (vec![("nbf", json!(now + 25))], Ok(())),
        (vec![("nbf", json!("soon"))], Err(Refusal::Claims)),
        (vec![("aud", json!("https://other.example"))], Err(Refusal::Audience)),
        (vec![("aud", json!([]))], Err(Refusal::Audience)),
        (vec![("aud", json!(7))], Err(Refusal::Audience)),
        (vec![("aud", Value::Null)], Err(Refusal::Audience)),
        (vec![("aud", json!(["https://other.example", "https://mcp.example/mcp"]))], Ok(())),
        (vec![("iss", json!("https://issuer.example/"))], Err(Refusal::Issuer)),
        (vec![("iss", json!(["https://issuer.example"]))], Err(Refusal::Issuer)),
        (vec![("iss", Value::Null)], Err(Refusal::Issuer)),
        (vec![("sub", Value::Null)], Err(Refusal::Claims)),
        (vec![("groups", json!(7))], Err(Refusal::Claims)),
    ] {
        let judged = rules.judge(&keys, &signer.token(Algorithm::Es256, &changed(&changes)));
        assert_eq!(judged.map(drop), expected, "{changes:?}");
    }
}

#[test]
fn the_resource_is_the_audience_where_none_is_named() {
    let signer = Signer::new();
    let rules =
        Rules::new(&Config { audience: String::new(), resource: "https://r.example/mcp".into(), ..config() });
    let keys = keys(&[signer.jwk(Algorithm::Es256, "k")]);
    let token = |audience: &str| signer.token(Algorithm::Es256, &changed(&[("aud", json!(audience))]));
    assert!(rules.judge(&keys, &token("https://r.example/mcp")).is_ok());
    assert_eq!(rules.judge(&keys, &token("https://mcp.example/mcp")), Err(Refusal::Audience));
}

#[test]
fn no_word_of_the_token_chooses_how_it_is_verified() {
    let (signer, rules) = (Signer::new(), Rules::new(&config()));
    let keys = keys(&[signer.jwk(Algorithm::Rs256, "k"), signer.jwk(Algorithm::EdDsa, "e")]);
    let modulus = PublicKeyComponents::<Vec<u8>>::from(signer.rsa.public_key()).n;
    for secret in [modulus.as_slice(), signer.rsa.public_key().as_ref(), signer.ed.public_key().as_ref(), b""]
    {
        let secret = hmac::Key::new(hmac::HMAC_SHA256, secret);
        for id in ["k", "e"] {
            let token = assembled(&json!({ "alg": "HS256", "kid": id }), &claims(), |message| {
                hmac::sign(&secret, message).as_ref().to_vec()
            });
            assert_eq!(rules.judge(&keys, &token), Err(Refusal::Algorithm));
        }
    }
    for none in ["none", "None", "NONE", "nOnE", ""] {
        let token = assembled(&json!({ "alg": none, "kid": "k" }), &claims(), |_| Vec::new());
        assert_eq!(rules.judge(&keys, &token), Err(Refusal::Algorithm), "{none}");
    }
    // A key that signs in another way, a key in the head, an extension that we do not know.
    let signed = |head: Value| assembled(&head, &claims(), |message| signer.sign(Algorithm::Rs256, message));
    assert_eq!(rules.judge(&keys, &signed(json!({ "alg": "EdDSA", "kid": "k" }))), Err(Refusal::UnknownKey));
    assert_eq!(rules.judge(&keys, &signed(json!({ "alg": "RS384", "kid": "k" }))), Err(Refusal::Signature));
    assert_eq!(rules.judge(&keys, &signed(json!({ "kid": "k" }))), Err(Refusal::NoJwt));
    let stranger = Signer::new();
    let head = json!({ "alg": "EdDSA", "kid": "e", "jwk": stranger.jwk(Algorithm::EdDsa, "e") });
    let token = assembled(&head, &claims(), |message| stranger.sign(Algorithm::EdDsa, message));
    assert_eq!(rules.judge(&keys, &token), Err(Refusal::Signature));
    for head in [
        json!({ "alg": "RS256", "kid": "k", "crit": ["x"], "x": 1 }),
        json!({ "alg": "RS256", "kid": "k", "b64": false }),
    ] {
        assert_eq!(rules.judge(&keys, &signed(head.clone())), Err(Refusal::NoJwt), "{head}");
    }
}

#[test]
fn an_algorithm_that_is_not_on_the_list_is_refused_and_so_are_its_keys() {
    let signer = Signer::new();
    let rules = Rules::new(&Config { algorithms: vec![Algorithm::Es256], ..config() });
    let both = keys(&[signer.jwk(Algorithm::Es256, "k"), signer.jwk(Algorithm::EdDsa, "k")]);
    assert!(rules.judge(&both, &signer.token(Algorithm::Es256, &claims())).is_ok());
    assert_eq!(rules.judge(&both, &signer.token(Algorithm::EdDsa, &claims())), Err(Refusal::Algorithm));
    let set = json!({ "keys": [signer.jwk(Algorithm::EdDsa, "k")] }).to_string();
    assert_eq!(Keys::parse(set.as_bytes(), &[Algorithm::Es256]).unwrap_err(), JwksMistake::NoneUsable);
}

#[test]
fn a_key_is_the_one_that_is_meant_or_none() {
    let (signer, rules) = (Signer::new(), Rules::new(&config()));
    let two = keys(&[signer.jwk(Algorithm::Es256, "k"), signer.jwk(Algorithm::Rs256, "r")]);
    let token =
        |head: Value, algorithm| assembled(&head, &claims(), |message| signer.sign(algorithm, message));
    let es = |head: Value| rules.judge(&two, &token(head, Algorithm::Es256)).map(drop);
    assert_eq!(es(json!({ "alg": "ES256", "kid": "k" })), Ok(()));
    assert_eq!(es(json!({ "alg": "ES256" })), Ok(()), "only one fits");
    assert_eq!(es(json!({ "alg": "ES256", "kid": "other" })), Err(Refusal::UnknownKey));
    assert_eq!(es(json!({ "alg": "ES256", "kid": "r" })), Err(Refusal::UnknownKey));
    assert_eq!(es(json!({ "alg": "ES256", "kid": 7 })), Err(Refusal::NoJwt));
    let other = Signer::new();
    let several = keys(&[signer.jwk(Algorithm::Es256, "k"), other.jwk(Algorithm::Es256, "l")]);
    let unnamed = token(json!({ "alg": "ES256" }), Algorithm::Es256);
    assert_eq!(
        rules.judge(&several, &unnamed),
        Err(Refusal::UnknownKey),
        "which of two is not ours to guess"
    );
}

#[test]
fn keys_for_other_purposes_are_left_out_and_a_set_that_is_not_certain_is_refused() {
    let signer = Signer::new();
    let with = |change: &[(&str, Value)]| {
        let mut key = signer.jwk(Algorithm::Rs256, "k");
        change.iter().for_each(|(name, value)| key[*name] = value.clone());
        key
    };
    for unusable in [
        with(&[("use", json!("enc"))]),
        with(&[("key_ops", json!(["encrypt"]))]),
        with(&[("alg", json!("RSA-OAEP"))]),
        with(&[("alg", json!("ES256"))]),
        with(&[("alg", json!("something"))]),
        with(&[("n", json!(URL_SAFE_NO_PAD.encode([0xff; 255])))]),
        with(&[("n", json!("not base64!"))]),
        json!({ "kty": "oct", "k": "c2VjcmV0", "kid": "k", "alg": "HS256" }),
        json!({ "kty": "EC", "crv": "P-521", "x": "AA", "y": "AA" }),
        json!({ "kty": "EC", "crv": "P-256", "x": "AA", "y": "AA" }),
        json!({ "kty": "OKP", "crv": "X25519", "x": "AA" }),
        json!({ "kty": "new" }),
        json!("text"),
        json!(null),
    ] {
        let set = |list: &[&Value]| {
            let set = json!({ "keys": list }).to_string();
            Keys::parse(set.as_bytes(), &Algorithm::ALL).map(|keys| (keys.len(), keys.skipped()))
        };
        assert_eq!(set(&[&unusable]), Err(JwksMistake::NoneUsable), "{unusable}");
        assert_eq!(set(&[&unusable, &signer.jwk(Algorithm::Es256, "e")]), Ok((1, 1)), "{unusable}");
    }
    let parse = |text: String| Keys::parse(text.as_bytes(), &Algorithm::ALL).map(|keys| keys.len());
    let one = signer.jwk(Algorithm::Es256, "k");
    let (rsa, curve) = (signer.jwk(Algorithm::Rs256, "k"), &one);
    assert_eq!(parse(json!({ "keys": [curve, rsa] }).to_string()), Ok(2), "one id for two kinds is allowed");
    assert_eq!(
        parse(json!({ "keys": [rsa, curve, curve] }).to_string()),
        Err(JwksMistake::Twice { first: 2, second: 3 })
    );
    let ids = |count: usize| json!({ "keys": vec![json!({ "kty": "new" }); count] }).to_string();
    assert_eq!(parse(ids(65)), Err(JwksMistake::TooMany(65)));
    assert_eq!(parse(ids(64)), Err(JwksMistake::NoneUsable));
    for wrong in ["", "{}", "[]", "{\"keys\":1}", "<html>"] {
        assert_eq!(parse(wrong.into()), Err(JwksMistake::NotASet), "{wrong}");
    }
}

#[test]
fn a_modulus_with_a_sign_byte_is_read() {
    let (signer, rules) = (Signer::new(), Rules::new(&config()));
    let mut key = signer.jwk(Algorithm::Rs256, "k");
    let modulus = URL_SAFE_NO_PAD.decode(key["n"].as_str().unwrap()).unwrap();
    key["n"] = json!(URL_SAFE_NO_PAD.encode([&[0], modulus.as_slice()].concat()));
    assert!(rules.judge(&keys(&[key]), &signer.token(Algorithm::Rs256, &claims())).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_token_that_was_changed_or_cut_lets_nobody_in(place in any::<prop::sample::Index>(), letter in "[A-Za-z0-9_.-]") {
        let (signer, rules) = (Signer::new(), Rules::new(&config()));
        let keys = keys(&[signer.jwk(Algorithm::EdDsa, "k")]);
        let token = signer.token(Algorithm::EdDsa, &claims());
        let place = place.index(token.len());
        prop_assert!(rules.judge(&keys, &token[..place]).is_err());
        let mut other = token.clone();
        other.replace_range(place..=place, &letter);
        prop_assert!(other == token || rules.judge(&keys, &other).is_err());
    }

    #[test]
    fn any_text_is_judged_without_a_panic(text in ".{0,200}", parts in "[A-Za-z0-9_-]{0,60}(\\.[A-Za-z0-9_-]{0,60}){0,4}") {
        let (signer, rules) = (Signer::new(), Rules::new(&config()));
        let keys = keys(&[signer.jwk(Algorithm::EdDsa, "k")]);
        prop_assert!(rules.judge(&keys, &text).is_err());
        prop_assert!(rules.judge(&keys, &parts).is_err());
    }

    #[test]
    fn any_key_set_is_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Keys::parse(&bytes, &Algorithm::ALL).is_err());
    }
}
