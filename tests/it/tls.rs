//! Agents over `https`: both HTTP versions, a certificate that is renewed while calls run, and clients of ours.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::Stdio;

use kubemq_mcp::domain::Kind;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::authority::Authority;
use crate::harness::binary::Binary;
use crate::harness::connector::{Connector, echo};
use crate::harness::event::within;

struct Place {
    authority: Authority,
    certificate: PathBuf,
    key: PathBuf,
    connector: Connector,
}

async fn place() -> Place {
    place_with(1).await
}

/// A connector whose clients have so many seconds to agree on an encryption.
async fn place_with(header_seconds: u64) -> Place {
    let authority = Authority::new();
    let (certificate, key) = (authority.path("server.pem"), authority.path("server.key"));
    authority.renew(&certificate, &key);
    let paths = [&certificate, &key].map(|path| path.to_str().expect("plain").to_owned());
    let connector = Connector::with(|config| {
        let [certificate, key] = paths;
        config.server.tls_certificate_file = certificate;
        config.server.tls_key_file = key;
        config.http.header_seconds = header_seconds;
    })
    .await;
    Place { authority, certificate, key, connector }
}

fn call(tool: &str, channel: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": tool, "arguments": { "channel": channel, "body": "b" } } })
}

async fn ask(client: &reqwest::Client, url: &str) -> reqwest::Result<Value> {
    let request = client.post(url).header("content-type", "application/json");
    request.body(call("query_send", "orders").to_string()).send().await?.json().await
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_connect_with_https_by_both_versions_of_http() {
    let place = place().await;
    let responder = place.connector.responder(Kind::Query, "orders", echo).await;
    let url = place.connector.app().url().expect("it listens");
    assert!(url.starts_with("https://127.0.0.1:"), "{url}");
    let first = place.authority.client().http1_only().build().expect("a client");
    let second = place.authority.client().http2_prior_knowledge().build().expect("a client");
    let agreed = place.authority.client().build().expect("a client");
    for client in [first, second, agreed] {
        let answer = ask(&client, &url).await.expect("it is trusted");
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }
    let other = Authority::new().client().build().expect("a client");
    assert!(
        ask(&other, &url).await.is_err_and(|error| error.is_connect()),
        "another authority has not signed it"
    );
    let plain = reqwest::Client::builder().no_proxy().build().expect("a client");
    assert!(ask(&plain, &url.replace("https", "http")).await.is_err(), "plain HTTP is not served there");
    responder.stop().await;
    place.connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewed_certificate_is_taken_while_calls_run_and_a_wrong_one_leaves_the_old() {
    let place = place().await;
    let responder = place.connector.responder(Kind::Query, "orders", echo).await;
    let url = place.connector.app().url().expect("it listens");
    let old = place.authority.client().build().expect("a client");
    ask(&old, &url).await.expect("it is trusted");
    // Signed by another: whoever trusts only that one can connect once it is in use.
    let next = Authority::new();
    next.renew(&place.certificate, &place.key);
    let taken = async {
        loop {
            // Each with a connection of its own.
            let fresh = next.client().build().expect("a client");
            let answer = ask(&fresh, &url).await;
            ask(&old, &url).await.expect("a connection that is open goes on");
            if answer.is_ok() {
                return;
            }
        }
    };
    within("the new certificate", taken).await;
    std::fs::write(&place.certificate, "nonsense").expect("writable");
    let told = async {
        loop {
            let text = old.get(url.replace("/mcp", "/metrics")).send().await.expect("open").text().await;
            let text = text.expect("a text");
            let refused = "kubemq_mcp_tls_certificates_refused_total ";
            let count = text.lines().find_map(|line| line.strip_prefix(refused)).expect("the figure");
            if count.trim() != "0" {
                return;
            }
        }
    };
    within("the wrong certificate is told", told).await;
    let fresh = next.client().build().expect("a client");
    ask(&fresh, &url).await.expect("the old one stays");
    responder.stop().await;
    place.connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_agree_on_an_encryption_is_cut_off_in_time() {
    let place = place().await;
    let address = place.connector.app().address().expect("it listens");
    let mut silent = TcpStream::connect(address).await.expect("it listens");
    let mut wrong = TcpStream::connect(address).await.expect("it listens");
    wrong.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.expect("it reads");
    for stream in [&mut silent, &mut wrong] {
        let mut rest = Vec::new();
        let _ = within("the end", stream.read_to_end(&mut rest)).await;
        assert!(!rest.starts_with(b"HTTP"), "nothing is answered in plain text");
    }
    let client = place.authority.client().build().expect("a client");
    let url = place.connector.app().url().expect("it listens").replace("/mcp", "/metrics");
    let metrics = client.get(url).send().await.expect("open").text().await.expect("a text");
    let failed =
        metrics.lines().find_map(|line| line.strip_prefix("kubemq_mcp_tls_handshakes_failed_total "));
    assert!(failed.is_some_and(|count| count.trim() != "0"), "{metrics}");
    place.connector.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_in_the_middle_of_its_handshake_holds_up_no_stop() {
    let place = place_with(60).await;
    let address = place.connector.app().address().expect("it listens");
    let _silent = TcpStream::connect(address).await.expect("it listens");
    let client = place.authority.client().build().expect("a client");
    // The silent one was accepted before this one is answered.
    ask(&client, &place.connector.app().url().expect("it listens")).await.expect("it is trusted");
    drop(client);
    let begun = tokio::time::Instant::now();
    place.connector.stop().await;
    assert!(begun.elapsed() < std::time::Duration::from_secs(20), "it waited {:?}", begun.elapsed());
}

#[test]
fn clients_of_ours_trust_the_authority_that_they_are_given() {
    let authority = Authority::new();
    let (certificate, key) = (authority.path("server.pem"), authority.path("server.key"));
    authority.renew(&certificate, &key);
    let text = |path: &PathBuf| path.to_str().expect("plain").to_owned();
    let (certificate, key, ca) = (text(&certificate), text(&key), text(&authority.path("ca.pem")));
    let files = [
        ("KUBEMQ_MCP__SERVER__TLS_CERTIFICATE_FILE", &*certificate),
        ("KUBEMQ_MCP__SERVER__TLS_KEY_FILE", &*key),
    ];
    let arguments = ["serve", "--demo", "--listen", "127.0.0.1:0", "--embedded-listen", "127.0.0.1:0"];
    let server = Binary::start(&arguments, &files);
    let url = server.word("https://");
    let run = |arguments: &[&str]| {
        let output = Binary::command(arguments, &[]).output().expect("it runs");
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        (output.status.code(), text.concat())
    };
    let query = ["call", "query_send", "--channel", "example-queries", "--body", "b", "--url", &url];
    assert_eq!(run(&[&query[..], &["--ca-file", &ca]].concat()).0, Some(0));
    assert_eq!(run(&query).0, Some(2), "the system does not trust it");
    let base = url.trim_end_matches("/mcp");
    let (status, listed) = run(&["key", "list", "--url", base, "--ca-file", &ca]);
    assert!(status == Some(0) && listed.contains("no keys"), "{listed}");

    let mut child = Binary::command(&["stdio", "--connect", &url, "--ca-file", &ca], &[])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it runs");
    writeln!(child.stdin.as_mut().expect("it is piped"), "{}", call("query_send", "example-queries"))
        .expect("it reads");
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().expect("it is piped")).read_line(&mut line).expect("a text");
    let answer: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"));
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    drop(child.stdin.take());
    assert!(child.wait().expect("ours").success());
}

#[test]
fn a_wrong_pair_stops_the_start_and_check_tells_it() {
    let authority = Authority::new();
    let (certificate, key) = (authority.path("server.pem"), authority.path("server.key"));
    authority.renew(&certificate, &key);
    let other = authority.path("other.key");
    authority.renew(&authority.path("other.pem"), &other);
    let text = |path: &PathBuf| path.to_str().expect("plain").to_owned();
    for (certificate, key, part) in [
        (text(&certificate), text(&other), "cannot be used together"),
        (text(&certificate), "/nowhere/key.pem".into(), "cannot be read"),
        (text(&key), text(&key), "holds no certificates in PEM form"),
    ] {
        let variables = [
            ("KUBEMQ_MCP__SERVER__TLS_CERTIFICATE_FILE", &*certificate),
            ("KUBEMQ_MCP__SERVER__TLS_KEY_FILE", &*key),
        ];
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--embedded-listen", "127.0.0.1:0"];
        let output = Binary::command(&arguments, &variables).output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && text.contains(part), "{text}");
        let checked = Binary::command(&["check"], &variables).output().expect("it runs");
        let text = String::from_utf8_lossy(&checked.stdout);
        assert!(text.contains("certificate of the listener:") && text.contains(part), "{text}");
    }
}
