//! `kubemq-mcp demo`: starts everything on free ports and shows a query, a command, a retry of it, a rejection and a timeout.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::Parser;
use futures_util::FutureExt;
use serde_json::{Value, json};

use super::say;
use crate::app::{App, Demo, Face, Options};
use crate::broker::{Answer, IN_FLIGHT_MAX, Responder, Subscription};
use crate::config::Config;
use crate::domain::{Channel, Kind};
use crate::telemetry;

/// The channel whose responder says no.
const REJECTING: &str = "example-rejections";

const COMMAND: &str = r#"{"channel":"example-commands","body":"do-work","idempotency_key":"order-17"}"#;

/// The calls that are shown: a title, the tool, its arguments, and whether it is an error.
const SHOWN: [(&str, &str, &str, bool); 5] = [
    ("a query", "query_send", r#"{"channel":"example-queries","body":"get-data"}"#, false),
    ("a command", "command_send", COMMAND, false),
    ("its retry, which is not sent again", "command_send", COMMAND, false),
    ("a rejection", "command_send", r#"{"channel":"example-rejections","body":"do-work"}"#, true),
    (
        "a timeout",
        "command_send",
        r#"{"channel":"nobody-listens","body":"do-work","timeout_seconds":1}"#,
        true,
    ),
];

/// Options of `demo`; there are none.
#[derive(Debug, Parser)]
pub struct Args {}

/// Runs the subcommand; the exit status is 0 when every call ended as it should.
///
/// # Errors
/// When something cannot be started or an answer does not come.
pub async fn run(_: Args) -> anyhow::Result<ExitCode> {
    let mut config = Config::default();
    // The answers are the show; the log would stand between them.
    config.log.level = "error".into();
    telemetry::install_log(&config.log)?;
    config.server.listen.set_port(0);
    config.embedded.listen.set_port(0);
    // Made with a name of its own, so that two demos do not meet, and removed at the end.
    let store = std::env::temp_dir().join(format!("kubemq-mcp-demo-{}", uuid::Uuid::new_v4()));
    config.store.path.clone_from(&store);
    let app = App::start(config, Options { face: Face::Http, demo: Demo::Added }).await?;
    let rejecting = rejecting(&app)?;
    rejecting.ready().await;
    let shown = show(&app.url().context("the demo has a listener")?).await;
    rejecting.stop().await;
    app.stop(None).await;
    std::fs::remove_dir_all(&store).context("the store of the demo cannot be removed")?;
    Ok(if shown? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn rejecting(app: &App) -> anyhow::Result<Responder> {
    let (config, addresses) = app.broker();
    let subscription = Subscription {
        kind: Kind::Command,
        channel: Channel::parse(REJECTING)?,
        group: String::new(),
        in_flight_max: IN_FLIGHT_MAX,
    };
    let no = Answer { executed: false, error: "out of stock".into(), ..Answer::default() };
    let handler = Arc::new(move |_| std::future::ready(Ok(no.clone())).boxed());
    Ok(Responder::start(config, addresses.to_vec(), subscription, handler)?)
}

async fn show(url: &str) -> anyhow::Result<bool> {
    say(&format!("A connector with an embedded broker and three responders runs at {url}\n"))?;
    let client = reqwest::Client::builder().no_proxy().build()?;
    let mut as_expected = true;
    for (title, tool, arguments, is_error) in SHOWN {
        let arguments: Value = serde_json::from_str(arguments)?;
        say(&format!("--- {title}: {tool} {arguments}"))?;
        let call = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": tool, "arguments": arguments }
        });
        let request = client.post(url).header("Content-Type", "application/json").body(call.to_string());
        let answer: Value = request.send().await?.json().await?;
        let result = &answer["result"];
        as_expected &= result["isError"] == is_error;
        for block in result["content"].as_array().into_iter().flatten() {
            say(block["text"].as_str().unwrap_or_default())?;
        }
        if let Some(structured) = result.get("structuredContent") {
            say(&format!("{structured:#}"))?;
        }
        say("")?;
    }
    Ok(as_expected)
}
