//! Callers with a JWT: who is let in, who is not, and what becomes of it while the issuer changes its keys.

mod key_set;
mod log;
mod metadata;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kubemq_mcp::access::Mode;
use kubemq_mcp::config::Config;
use kubemq_mcp::domain::Kind;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use ring::hmac;
use serde_json::{Value, json};

use crate::harness::agent::{Agent, Answer, modern_meta};
use crate::harness::connector::{Connector, echo};
use crate::harness::event::within;
use crate::harness::issuer::{AUDIENCE, ISSUER, Key, assembled, claims, key_set, now};

/// Takes JWTs of the issuer.
fn takes_jwts(config: &mut Config) {
    config.auth.mode = Mode::Jwt;
    config.auth.issuer = ISSUER.into();
    config.auth.audience = AUDIENCE.into();
}

/// A file with the keys of an issuer.
fn keys_file(keys: &[&Key]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("room for a file");
    std::fs::write(file.path(), key_set(keys)).expect("it is ours");
    file
}

fn path(file: &tempfile::NamedTempFile) -> String {
    file.path().to_str().expect("plain").into()
}

/// Sends a command that ends before it reaches a broker; it needs nothing but to be let in.
async fn command(agent: &Agent, token: &str, modern: bool) -> Answer {
    command_on(agent, token, modern, "a b").await
}

/// Sends a command with this token, as a plain POST or in protocol 2026-07-28.
async fn command_on(agent: &Agent, token: &str, modern: bool, channel: &str) -> Answer {
    let mut message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "command_send", "arguments": { "channel": channel, "body": "b" } } });
    let mut headers = HeaderMap::new();
    let value = HeaderValue::from_str(&format!("Bearer {token}")).expect("a token is plain");
    headers.insert(AUTHORIZATION, value);
    if modern {
        message["params"]["_meta"] = modern_meta();
        for (name, value) in [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "command_send"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
    agent.send(headers, message.to_string()).await
}

/// Every kind of token that lets nobody in, by what is wrong with it.
fn wrong_tokens(key: &Key) -> Vec<(&'static str, String)> {
    let stranger = Key::new("k");
    let right = key.token(&claims(&[]));
    let head = |alg: &str, id: &str| json!({ "alg": alg, "kid": id });
    let secret = hmac::Key::new(hmac::HMAC_SHA256, key.point());
    let by_secret = |message: &[u8]| hmac::sign(&secret, message).as_ref().to_vec();
    let (message, signature) = right.rsplit_once('.').expect("three parts");
    vec![
        ("no_jwt", "no-jwt-at-all".into()),
        ("no_jwt", message.into()),
        ("no_jwt", format!("{right}.more")),
        ("no_jwt", "..".into()),
        ("no_jwt", "x".repeat(16_000)),
        ("signature", format!("{message}.{}", &signature[..signature.len() - 2])),
        ("signature", format!("{message}.")),
        ("signature", stranger.token(&claims(&[]))),
        ("expired", key.token(&claims(&[("exp", json!(now() - 31))]))),
        ("not_yet_valid", key.token(&claims(&[("nbf", json!(now() + 90))]))),
        ("audience", key.token(&claims(&[("aud", json!("https://other.example/mcp"))]))),
        ("audience", key.token(&claims(&[("aud", Value::Null)]))),
        ("issuer", key.token(&claims(&[("iss", json!("https://other.example"))]))),
        ("claims", key.token(&claims(&[("sub", Value::Null)]))),
        ("claims", key.token(&claims(&[("exp", Value::Null)]))),
        ("algorithm", assembled(&head("none", "k"), &claims(&[]), |_| Vec::new())),
        ("algorithm", assembled(&head("HS256", "k"), &claims(&[]), by_secret)),
        ("unknown_key", assembled(&head("ES256", "other"), &claims(&[]), |message| key.sign(message))),
        ("too_large", key.token(&claims(&[("pad", json!("x".repeat(16_384)))]))),
    ]
}

/// How often requests were refused for each reason.
async fn refusals(agent: &Agent, reason: &str) -> u64 {
    let (_, metrics) = agent.get("/metrics").await;
    let name = format!("kubemq_mcp_tokens_refused_total{{reason=\"{reason}\"}} ");
    let line = metrics.lines().find_map(|line| line.strip_prefix(&name)).expect("every reason has a series");
    line.parse().expect("a count")
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_wrong_with_a_token_it_is_401_and_nothing_is_sent() {
    let key = Key::new("k");
    let file = keys_file(&[&key]);
    let connector = Connector::with(|config| {
        takes_jwts(config);
        config.auth.jwks_file = path(&file);
    })
    .await;
    let received = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&received);
    let responder = connector.responder(Kind::Command, "orders", move |asked| {
        counted.fetch_add(1, Ordering::SeqCst);
        echo(asked)
    });
    let _responder = responder.await;
    for agent in [connector.agent(), Agent::multiplexed(&connector.url())] {
        for modern in [false, true] {
            for (reason, token) in wrong_tokens(&key) {
                let before = refusals(&agent, reason).await;
                let answer = command_on(&agent, &token, modern, "orders").await;
                assert_eq!((answer.status, answer.code()), (401, -32600), "{reason}: {answer:?}");
                assert_eq!(answer.headers["www-authenticate"], "Bearer error=\"invalid_token\"", "{reason}");
                let told = answer.body["error"]["message"].as_str().expect("a text");
                assert_eq!(told, "this token is not valid here; get another", "{reason}: the same for all");
                assert!(refusals(&agent, reason).await > before, "{reason} is counted");
            }
        }
    }
    assert_eq!(received.load(Ordering::SeqCst), 0, "nothing was sent");
    for modern in [false, true] {
        let answer = command_on(&connector.agent(), &key.token(&claims(&[])), modern, "orders").await;
        assert_eq!(answer.structured()["outcome"], "executed", "{answer:?}");
    }
    assert_eq!(received.load(Ordering::SeqCst), 2);
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_a_megabyte_is_refused_however_large_a_head_may_be() {
    let key = Key::new("k");
    let file = keys_file(&[&key]);
    let token = "x".repeat(1_000_000);
    for header_bytes_max in [65_536, 1_048_576] {
        let connector = Connector::with(|config| {
            takes_jwts(config);
            config.auth.jwks_file = path(&file);
            config.http.header_bytes_max = header_bytes_max;
        })
        .await;
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string();
        let multiplexed = reqwest::Client::builder().http2_prior_knowledge().build().expect("a client");
        for client in [reqwest::Client::new(), multiplexed] {
            let request = client.post(connector.url()).bearer_auth(&token).body(ping.clone());
            let request = request.header("content-type", "application/json").send();
            let status = within("an end", request).await.map(|answer| answer.status().as_u16());
            match (header_bytes_max, status) {
                (1_048_576, status) => assert_eq!(status.expect("an answer"), 401),
                (_, Ok(status)) => assert_eq!(status, 431),
                // The answer is there before the client has written all, which may break the connection under it.
                (_, Err(error)) => assert!(error.is_request(), "{error}"),
            }
        }
        assert_eq!(connector.app().requests_pending(), 0);
        assert_eq!(command(&connector.agent(), &key.token(&claims(&[])), false).await.status, 200);
        connector.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_without_the_scopes_is_403_and_hears_which() {
    let key = Key::new("k");
    let file = keys_file(&[&key]);
    let connector = Connector::with(|config| {
        takes_jwts(config);
        config.auth.jwks_file = path(&file);
        config.auth.resource = AUDIENCE.into();
        config.auth.scopes_required = vec!["kubemq:query".into(), "kubemq:command".into()];
    })
    .await;
    let agent = connector.agent();
    let place = "resource_metadata=\"https://mcp.example/.well-known/oauth-protected-resource/mcp\"";
    let scope = "scope=\"kubemq:query kubemq:command\"";
    let too_little = key.token(&claims(&[("scope", json!("kubemq:query openid"))]));
    let answer = command(&agent, &too_little, false).await;
    assert_eq!(answer.status, 403);
    let told = format!("Bearer {place}, error=\"insufficient_scope\", {scope}");
    assert_eq!(answer.headers["www-authenticate"], told.as_str());
    let wrong = command(&agent, "wrong", true).await;
    let told = format!("Bearer {place}, error=\"invalid_token\", {scope}");
    assert_eq!(
        (wrong.status, &wrong.headers["www-authenticate"]),
        (401, &HeaderValue::from_str(&told).unwrap())
    );
    let nothing = agent.call("command_send", json!({})).await;
    let told = format!("Bearer {place}, {scope}");
    assert_eq!(
        (nothing.status, &nothing.headers["www-authenticate"]),
        (401, &HeaderValue::from_str(&told).unwrap())
    );
    let enough = key.token(&claims(&[("scope", json!("kubemq:command kubemq:query openid"))]));
    assert_eq!(command(&agent, &enough, false).await.status, 200);
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_right_token_beside_a_wrong_one_on_the_same_connection_is_judged_for_itself() {
    let key = Key::new("k");
    let file = keys_file(&[&key]);
    let connector = Connector::with(|config| {
        takes_jwts(config);
        config.auth.jwks_file = path(&file);
        config.auth.token_required = false;
    })
    .await;
    let agent = Agent::multiplexed(&connector.url());
    for _ in 0..3 {
        assert_eq!(command(&agent, &key.token(&claims(&[])), true).await.status, 200);
        assert_eq!(command(&agent, "wrong", true).await.status, 401);
        assert_eq!(agent.call("command_send", json!({})).await.status, 200, "anonymous may call here");
    }
    connector.stop().await;
}
