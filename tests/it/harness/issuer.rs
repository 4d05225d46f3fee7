//! An issuer of JWTs: keys, tokens with whatever they shall say, and the place where the keys are published.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};

/// Who issues.
pub const ISSUER: &str = "https://issuer.example";

/// Whom the tokens are for.
pub const AUDIENCE: &str = "https://mcp.example/mcp";

/// One key of an issuer.
pub struct Key {
    id: String,
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

impl Key {
    /// A new key of that id.
    pub fn new(id: &str) -> Self {
        let random = SystemRandom::new();
        let made =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).expect("randomness");
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, made.as_ref(), &random);
        Self { id: id.into(), pair: pair.expect("just made"), random }
    }

    /// The public half, as it is published.
    pub fn jwk(&self) -> Value {
        let (x, y) = self.point()[1..].split_at(32);
        let [x, y] = [x, y].map(|half| URL_SAFE_NO_PAD.encode(half));
        json!({ "kty": "EC", "crv": "P-256", "x": x, "y": y, "kid": self.id, "use": "sig", "alg": "ES256" })
    }

    /// The public half, as bytes.
    pub fn point(&self) -> &[u8] {
        self.pair.public_key().as_ref()
    }

    /// A token that says this.
    pub fn token(&self, claims: &Value) -> String {
        let head = json!({ "alg": "ES256", "typ": "at+jwt", "kid": self.id });
        assembled(&head, claims, |message| self.sign(message))
    }

    /// Signs a message.
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.pair.sign(&self.random, message).expect("a key that signs").as_ref().to_vec()
    }
}

/// A token with this head, signed in whatever way.
pub fn assembled(head: &Value, claims: &Value, sign: impl FnOnce(&[u8]) -> Vec<u8>) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let message = format!("{}.{}", part(head), part(claims));
    let signed = URL_SAFE_NO_PAD.encode(sign(message.as_bytes()));
    format!("{message}.{signed}")
}

/// The seconds since 1970.
pub fn now() -> u64 {
    kubemq_mcp::clock::now().duration_since(SystemTime::UNIX_EPOCH).expect("it is later").as_secs()
}

/// What a right token says, with some of it changed; `null` takes a claim away.
pub fn claims(changes: &[(&str, Value)]) -> Value {
    let mut claims = json!({ "iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "exp": now() + 600 });
    let all = claims.as_object_mut().expect("an object");
    for (name, value) in changes {
        if value.is_null() {
            all.remove(*name)
        } else {
            all.insert((*name).into(), value.clone())
        };
    }
    claims
}

/// A set of keys, as text.
pub fn key_set(keys: &[&Key]) -> String {
    json!({ "keys": keys.iter().map(|key| key.jwk()).collect::<Vec<_>>() }).to_string()
}

/// Where keys are published, on this machine.
#[derive(Clone)]
pub struct Published {
    address: SocketAddr,
    answer: Arc<Mutex<Option<(u16, String)>>>,
    asked: Arc<AtomicUsize>,
}

impl Published {
    /// Publishes keys.
    pub async fn start(keys: &[&Key]) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let published =
            Self { address, answer: Arc::new(Mutex::new(Some((200, key_set(keys))))), asked: Arc::default() };
        let answering = published.clone();
        let router = Router::new().route("/keys", get(move || answering.clone().answer()));
        tokio::spawn(async move { axum::serve(listener, router).await });
        published
    }

    async fn answer(self) -> impl IntoResponse {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let answer = self.answer.lock().expect("no test panics here").clone();
        let Some((status, body)) = answer else { return std::future::pending().await };
        let status = StatusCode::from_u16(status).expect("a status");
        (status, [(header::LOCATION, "/elsewhere"), (header::CONTENT_TYPE, "application/json")], body)
    }

    /// Where.
    pub fn url(&self) -> String {
        format!("http://{}/keys", self.address)
    }

    /// Answers with this from now on.
    pub fn say(&self, status: u16, body: impl Into<String>) {
        *self.answer.lock().expect("no test panics here") = Some((status, body.into()));
    }

    /// Answers nothing from now on.
    pub fn hang(&self) {
        *self.answer.lock().expect("no test panics here") = None;
    }

    /// How often somebody has asked.
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}
