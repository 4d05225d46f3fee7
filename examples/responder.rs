//! A service in Rust, on the official KubeMQ client: answers `example-queries` and executes `example-commands`.
//!
//! ```text
//! kubemq-mcp serve
//! cargo run --example responder             # or: cargo run --example responder -- HOST PORT
//! ```
//!
//! Limits of version 1.0.1 of the client that a service must know:
//!
//! - A subscription does not survive a restart of the broker, and ends without a word: `Subscription::is_done` tells.
//!   Here the program then ends with an error, for a supervisor to start it again.
//! - Handlers run one after the other, so anything slow belongs into a task of its own, as below.
//! - Without a group every copy of this program gets every request. In one group they share them.

use std::time::Duration;

use kubemq::prelude::*;
use kubemq::{CommandReceive, CommandReplyBuilder, QueryReceive, QueryReplyBuilder};

const GROUP: &str = "example-responders";

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let host = arguments.next().unwrap_or_else(|| "127.0.0.1".into());
    let port = arguments.next().map_or(Ok(50_000), |port| port.parse())?;
    let client = KubemqClient::builder().host(host).port(port).client_id("example-responder").build().await?;

    let own = client.clone();
    let on_query = move |query: QueryReceive| -> Handled {
        tokio::spawn(answer(own.clone(), query));
        Box::pin(std::future::ready(()))
    };
    let queries = client.subscribe_to_queries("example-queries", GROUP, on_query, None).await?;

    let own = client.clone();
    let on_command = move |command: CommandReceive| -> Handled {
        tokio::spawn(execute(own.clone(), command));
        Box::pin(std::future::ready(()))
    };
    let commands = client.subscribe_to_commands("example-commands", GROUP, on_command, None).await?;

    while !queries.is_done() && !commands.is_done() {
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    anyhow::bail!("a subscription has ended: the broker went away")
}

type Handled = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

async fn answer(client: KubemqClient, query: QueryReceive) {
    let data = format!(r#"{{"data":"answer to {}"}}"#, String::from_utf8_lossy(&query.body));
    let reply = QueryReplyBuilder::new()
        .request_id(query.id)
        .response_to(query.response_to)
        .body(data.into_bytes())
        .build();
    told(client.send_query_response(reply).await);
}

async fn execute(client: KubemqClient, command: CommandReceive) {
    // The work goes here. A reply with an error rejects the command, and the agent reads that text.
    let reply = CommandReplyBuilder::new().request_id(command.id).response_to(command.response_to);
    let reply = if command.body.is_empty() { reply.error("nothing to do") } else { reply };
    told(client.send_command_response(reply.build()).await);
}

#[expect(clippy::print_stderr, reason = "an example is for the person at the terminal")]
fn told(sent: kubemq::Result<()>) {
    if let Err(error) = sent {
        eprintln!("a reply could not be sent: {error}");
    }
}
