//! What the log of the real program says of callers with a JWT, and what it never says.

use std::io::Read;

use serde_json::json;

use super::{command, keys_file, path, wrong_tokens};
use crate::harness::agent::Agent;
use crate::harness::binary::Binary;
use crate::harness::issuer::{AUDIENCE, ISSUER, Key, claims};

fn variables<'a>(keys: &'a str, level: &'a str) -> Vec<(&'static str, &'a str)> {
    vec![
        ("KUBEMQ_MCP__AUTH__MODE", "jwt"),
        ("KUBEMQ_MCP__AUTH__JWKS_FILE", keys),
        ("KUBEMQ_MCP__AUTH__ISSUER", ISSUER),
        ("KUBEMQ_MCP__AUTH__AUDIENCE", AUDIENCE),
        ("KUBEMQ_MCP__LOG__LEVEL", level),
    ]
}

const SERVE: [&str; 6] = ["serve", "--demo", "--listen", "127.0.0.1:0", "--embedded-listen", "127.0.0.1:0"];

/// The parts of a token that a log could show: the whole, its three pieces, and the begin of each.
fn pieces(token: &str) -> Vec<String> {
    let parts = token.split('.').filter(|part| part.len() >= 16);
    parts.flat_map(|part| [part.to_owned(), part[..16].to_owned()]).collect()
}

#[test]
fn no_piece_of_a_token_is_in_the_log_at_its_highest_level() {
    let key = Key::new("k");
    let file = keys_file(&[&key]);
    let keys = path(&file);
    let server = Binary::start(&SERVE, &variables(&keys, "trace"));
    let url = server.word("http://");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let right = key.token(&claims(&[("scope", json!("kubemq:command"))]));
    let mut shown = wrong_tokens(&key);
    shown.push(("right", right.clone()));
    let large = "y".repeat(1_000_000);
    runtime.expect("a runtime").block_on(async {
        let agents = [Agent::new(&url), Agent::multiplexed(&url)];
        for (reason, token) in &shown {
            for (agent, modern) in agents.iter().zip([false, true]) {
                let expected = if *reason == "right" { 200 } else { 401 };
                assert_eq!(command(agent, token, modern).await.status, expected, "{reason}");
            }
        }
        let client = reqwest::Client::new();
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }).to_string();
        for request in
            [client.post(&url).bearer_auth(&large), client.post(format!("{url}?access_token={right}"))]
        {
            let request = request.header("content-type", "application/json").body(body.clone());
            // The connection may break under a client that still writes when it is refused.
            if let Ok(answer) = request.send().await {
                assert!(answer.status().is_client_error(), "{answer:?}");
            }
        }
    });
    let log = server.logged("principal=\"jwt:ada\"", 2);
    server.logged("reason=\"a token in the query\"", 1);
    for (reason, token) in &shown {
        for piece in pieces(token) {
            assert!(!log.contains(&piece), "{reason}: {piece}");
        }
        let refused = format!("request refused for its token reason=\"{reason}\"");
        assert!(*reason == "right" || log.contains(&refused), "{reason} is told: {log}");
    }
    assert!(!log.contains(&"y".repeat(16)), "nor one that was too large to be read");
}

#[test]
fn a_token_that_was_taken_back_or_has_ended_is_named_in_the_log_and_not_to_its_bearer() {
    let file = crate::token::File::new();
    let revoked = file.add_with("rita", |grant| grant.revoked = true);
    let expired = file.add_with("eve", |grant| grant.expires = Some(std::time::SystemTime::UNIX_EPOCH));
    let tokens = file.path();
    let variables = [("KUBEMQ_MCP__AUTH__MODE", "tokens"), ("KUBEMQ_MCP__AUTH__TOKENS_FILE", tokens)];
    let server = Binary::start(&SERVE, &variables);
    let url = server.word("http://");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let answers = runtime.block_on(async {
        let agent = Agent::new(&url);
        let mut answers = Vec::new();
        for token in [&revoked, &expired, "kmcp_unknown"] {
            answers.push(command(&agent, token, false).await);
        }
        answers
    });
    for answer in &answers {
        assert_eq!((answer.status, &answer.body), (401, &answers[2].body), "all hear the same");
        assert_eq!(answer.headers["www-authenticate"], "Bearer error=\"invalid_token\"");
    }
    server.logged("reason=\"revoked\" principal=\"rita\"", 1);
    server.logged("reason=\"expired\" principal=\"eve\"", 1);
    let log = server.logged("reason=\"unknown\"", 1);
    assert!(!log.contains(&revoked[..16]) && !log.contains(&expired[..16]), "{log}");
}

#[test]
fn an_address_that_others_reach_needs_tokens_or_the_word_insecure_which_every_start_tells() {
    // An address for documentation: no machine has it, so nothing listens where others could come.
    let elsewhere = ["serve", "--listen", "192.0.2.1:0", "--embedded-listen", "127.0.0.1:0"];
    let refused = Binary::command(&elsewhere, &[]).output().expect("it runs");
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{told}");
    assert!(told.contains("`server.listen` is 192.0.2.1:0") && told.contains("say `--insecure`"), "{told}");
    for (flag, variable) in [(&["--insecure"][..], "false"), (&[], "true")] {
        let variables = [("KUBEMQ_MCP__SERVER__INSECURE", variable)];
        let meant = Binary::command(&[&elsewhere, flag].concat(), &variables).output().expect("it runs");
        let told = String::from_utf8_lossy(&meant.stderr).into_owned();
        assert!(
            told.contains("WARN insecure: whoever reaches this address may call without a token"),
            "{told}"
        );
        assert!(told.contains("cannot listen on") || told.contains("192.0.2.1"), "{told}");
    }
    let file = crate::token::File::new();
    let tokens = file.path();
    let variables = [("KUBEMQ_MCP__AUTH__MODE", "tokens"), ("KUBEMQ_MCP__AUTH__TOKENS_FILE", tokens)];
    let guarded = Binary::command(&elsewhere, &variables).output().expect("it runs");
    assert!(!String::from_utf8_lossy(&guarded.stderr).contains("insecure"), "{guarded:?}");
    let loose = [&variables[..], &[("KUBEMQ_MCP__AUTH__TOKEN_REQUIRED", "false")]].concat();
    let refused = Binary::command(&elsewhere, &loose).output().expect("it runs");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("say `--insecure`"), "{refused:?}");
}

#[test]
fn check_looks_at_the_key_set_and_at_who_may_come() {
    let key = Key::new("k");
    let file = keys_file(&[&key]);
    let keys = path(&file);
    let run = |more: &[(&'static str, &str)]| {
        let free =
            [("KUBEMQ_MCP__SERVER__LISTEN", "127.0.0.1:0"), ("KUBEMQ_MCP__EMBEDDED__LISTEN", "127.0.0.1:0")];
        let all = [&free[..], &variables(&keys, "off"), more].concat();
        let mut output = Vec::new();
        let mut child =
            Binary::command(&["check"], &all).stdout(std::process::Stdio::piped()).spawn().expect("it runs");
        child.stdout.take().expect("piped").read_to_end(&mut output).expect("a text");
        (child.wait().expect("ours").code(), String::from_utf8(output).expect("a text"))
    };
    let (status, told) = run(&[]);
    assert!(status == Some(0) && told.contains("key set of the issuer: well"), "{told}");
    let (status, told) =
        run(&[("KUBEMQ_MCP__AUTH__TOKEN_REQUIRED", "false"), ("KUBEMQ_MCP__SERVER__LISTEN", "192.0.2.1:0")]);
    assert!(status == Some(1) && told.contains("a call needs no token"), "{told}");
    std::fs::write(file.path(), "{}").expect("it is ours");
    let (status, told) = run(&[]);
    assert!(status == Some(1) && told.contains("it is no JWKS"), "{told}");
}

#[test]
fn a_connector_over_pipes_needs_no_issuer() {
    let variables = [
        ("KUBEMQ_MCP__AUTH__MODE", "jwt"),
        ("KUBEMQ_MCP__AUTH__JWKS_FILE", "/nowhere/keys.json"),
        ("KUBEMQ_MCP__AUTH__ISSUER", ISSUER),
        ("KUBEMQ_MCP__AUTH__AUDIENCE", AUDIENCE),
    ];
    let alone =
        Binary::command(&["stdio"], &variables).stdin(std::process::Stdio::null()).output().expect("it runs");
    assert_eq!(alone.status.code(), Some(0), "{alone:?}");
    let serving = Binary::command(&SERVE, &variables).output().expect("it runs");
    let told = String::from_utf8_lossy(&serving.stderr).into_owned();
    assert!(
        serving.status.code() == Some(1) && told.contains("`/nowhere/keys.json` (auth.jwks_file)"),
        "{told}"
    );
}
