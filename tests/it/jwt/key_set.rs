//! The keys of the issuer: read at start, replaced while it runs, lost for a while.

use std::time::Duration;

use kubemq_mcp::app::{App, Demo, Face, Options};
use kubemq_mcp::config::Config;
use serde_json::json;

use super::{command, keys_file, path, takes_jwts};
use crate::harness::agent::Agent;
use crate::harness::connector::Connector;
use crate::harness::event::within;
use crate::harness::issuer::{Key, Published, assembled, claims, key_set};

/// Waits until a token gets this status.
async fn until(agent: &Agent, token: &str, status: u16) {
    let wanted = async {
        while command(agent, token, false).await.status != status {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    within(&format!("status {status}"), wanted).await;
}

/// The value of a series.
async fn figure(agent: &Agent, series: &str) -> f64 {
    let (_, metrics) = agent.get("/metrics").await;
    let line = metrics.lines().find_map(|line| line.strip_prefix(&format!("{series} ")));
    line.expect("it is there from the start").parse().expect("a number")
}

/// Waits until a series has grown to this.
async fn until_figure(agent: &Agent, series: &str, least: f64) {
    let wanted = async {
        while figure(agent, series).await < least {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    within(&format!("{series} from {least} on"), wanted).await;
}

const TAKEN: &str = "kubemq_mcp_jwks_reads_total{result=\"taken\"}";
const FAILED: &str = "kubemq_mcp_jwks_reads_total{result=\"failed\"}";

async fn connector(published: &Published, refresh_seconds: u64) -> Connector {
    Connector::with(|config| {
        takes_jwts(config);
        config.auth.jwks_url = published.url();
        config.auth.jwks_refresh_seconds = refresh_seconds;
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_key_is_taken_with_the_first_token_that_it_signs() {
    let (old, new) = (Key::new("old"), Key::new("new"));
    let published = Published::start(&[&old]).await;
    let connector = connector(&published, 86_400).await;
    let agent = connector.agent();
    assert_eq!(command(&agent, &old.token(&claims(&[])), false).await.status, 200);
    assert_eq!(published.asked(), 1, "a known key asks nobody");
    published.say(200, key_set(&[&old, &new]));
    // All at once: they wait for one read together.
    let (token, answers) = (new.token(&claims(&[])), Agent::multiplexed(&connector.url()));
    let first = futures_util::future::join_all((0..20).map(|_| command(&answers, &token, true))).await;
    assert!(first.iter().all(|answer| answer.status == 200), "{first:?}");
    assert_eq!(published.asked(), 2);
    assert_eq!(command(&agent, &old.token(&claims(&[])), false).await.status, 200, "both work meanwhile");
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_cannot_make_us_ask_the_issuer_again_and_again() {
    let key = Key::new("k");
    let published = Published::start(&[&key]).await;
    let connector = connector(&published, 86_400).await;
    let agent = Agent::multiplexed(&connector.url());
    let made_up = (0..200).map(|index| {
        let head = json!({ "alg": "ES256", "kid": format!("made-up-{index}") });
        assembled(&head, &claims(&[]), |message| key.sign(message))
    });
    let tokens: Vec<String> = made_up.collect();
    let answers =
        futures_util::future::join_all(tokens.iter().map(|token| command(&agent, token, true))).await;
    assert!(answers.iter().all(|answer| answer.status == 401));
    assert_eq!(published.asked(), 2, "one at start, one for all of these");
    assert_eq!(command(&agent, &key.token(&claims(&[])), true).await.status, 200);
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_issuer_that_fails_leaves_the_old_keys_and_is_counted_and_its_return_is_seen() {
    let (old, new) = (Key::new("old"), Key::new("new"));
    let published = Published::start(&[&old]).await;
    let connector = connector(&published, 1).await;
    let agent = connector.agent();
    let (old_token, new_token) = (old.token(&claims(&[])), new.token(&claims(&[])));
    let mut failed = figure(&agent, FAILED).await;
    let empty = json!({ "keys": [] }).to_string();
    for (status, body) in [(500, "no"), (302, "no"), (200, "no"), (200, &"x".repeat(300_000)), (200, &empty)]
    {
        published.say(status, body);
        until_figure(&agent, FAILED, failed + 1.0).await;
        failed = figure(&agent, FAILED).await;
        assert_eq!(command(&agent, &old_token, false).await.status, 200, "{status}");
        assert_eq!(command(&agent, &new_token, false).await.status, 401, "{status}");
    }
    until_figure(&agent, "kubemq_mcp_jwks_age_seconds", 2.0).await;
    let taken = figure(&agent, TAKEN).await;
    published.say(200, key_set(&[&new]));
    until(&agent, &new_token, 200).await;
    until(&agent, &old_token, 401).await;
    assert!(figure(&agent, TAKEN).await > taken);
    assert!(figure(&agent, "kubemq_mcp_jwks_keys").await >= 1.0);
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_issuer_that_hangs_holds_up_nobody_whose_key_is_known_and_no_start_for_ever() {
    let (known, strange) = (Key::new("known"), Key::new("strange"));
    let published = Published::start(&[&known]).await;
    let connector = connector(&published, 86_400).await;
    published.hang();
    let (agent, strange) = (Agent::multiplexed(&connector.url()), strange.token(&claims(&[])));
    let waiting = tokio::spawn({
        let (agent, strange) = (agent.clone(), strange.clone());
        async move { command(&agent, &strange, true).await.status }
    });
    let asked = async {
        while published.asked() < 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    within("the issuer is asked", asked).await;
    for _ in 0..20 {
        assert_eq!(command(&agent, &known.token(&claims(&[])), true).await.status, 200);
    }
    assert!(!waiting.is_finished(), "all of them were answered while the issuer was still asked");
    assert_eq!(within("an end of the wait", waiting).await.expect("no panic"), 401);
    connector.stop().await;

    let mut config = Config::default();
    takes_jwts(&mut config);
    config.auth.jwks_url = published.url();
    let started = App::start(config, Options { face: Face::Http, demo: Demo::Absent });
    let error = within("an end of the start", started).await.err().expect("it does not start").to_string();
    assert!(error.contains("cannot be fetched: operation timed out"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_file_of_keys_is_taken_and_a_wrong_one_leaves_the_old() {
    let (old, new) = (Key::new("old"), Key::new("new"));
    let file = keys_file(&[&old]);
    let connector = Connector::with(|config| {
        takes_jwts(config);
        config.auth.jwks_file = path(&file);
    })
    .await;
    let agent = connector.agent();
    let (old_token, new_token) = (old.token(&claims(&[])), new.token(&claims(&[])));
    let failed = figure(&agent, FAILED).await;
    std::fs::write(file.path(), "{").expect("it is ours");
    until_figure(&agent, FAILED, failed + 1.0).await;
    assert_eq!(command(&agent, &old_token, false).await.status, 200);
    std::fs::write(file.path(), key_set(&[&new])).expect("it is ours");
    until(&agent, &new_token, 200).await;
    assert_eq!(command(&agent, &old_token, false).await.status, 401);
    connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_keys_nothing_starts_and_the_error_says_why() {
    let key = Key::new("k");
    let published = Published::start(&[&key]).await;
    let closed = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let nobody = format!("http://{}/keys", closed.expect("a free port"));
    let empty = json!({ "keys": [] }).to_string();
    let doubled = key_set(&[&key, &key]);
    let far = "x".repeat(300_000);
    let found = |part| (published.url(), part);
    for (status, body, (url, part)) in [
        (200, "", (nobody, "cannot be fetched: ")),
        (404, "", found("the answer is 404, right is 200")),
        (302, "", found("the answer is 302, right is 200; no redirect is followed")),
        (200, "<html>", found("it is no JWKS")),
        (200, &empty, found("it has no key for signatures")),
        (200, &doubled, found("keys 1 and 2 have the same `kid`")),
        (200, &far, found("is larger than 262144 bytes")),
    ] {
        published.say(status, body);
        let mut config = Config::default();
        config.server.listen.set_port(0);
        config.embedded.listen.set_port(0);
        takes_jwts(&mut config);
        config.auth.jwks_url = url.clone();
        let started = App::start(config, Options { face: Face::Http, demo: Demo::Absent }).await;
        let error = started.err().expect("it does not start").to_string();
        assert!(error.contains(part) && error.contains(&url), "{error}");
    }
}
