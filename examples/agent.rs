//! An agent in Rust, on the official MCP SDK: asks for data, then causes an effect.
//!
//! ```text
//! kubemq-mcp serve --demo
//! cargo run --example agent                 # or: cargo run --example agent -- http://HOST:PORT/mcp
//! ```

use rmcp::model::{CallToolRequestParams, CallToolResult};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ServiceExt, object};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    // Only this crate needs it, whose HTTP client comes without a TLS library of its own choice.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let url = std::env::args().nth(1).unwrap_or_else(|| "http://127.0.0.1:9090/mcp".into());
    let client = ().serve(StreamableHttpClientTransport::from_uri(url)).await?;

    let query = CallToolRequestParams::new("query_send").with_arguments(object!({
        "channel": "example-queries",
        "body": "get-data",
        "timeout_seconds": 30,
        "metadata": "qry-meta",
        "tags": { "action": "lookup" }
    }));
    tell("query_send", &client.call_tool(query).await?);

    let command = CallToolRequestParams::new("command_send").with_arguments(object!({
        "channel": "example-commands",
        "body": "do-work",
        "timeout_seconds": 10,
        "metadata": "cmd-meta",
        "tags": { "action": "process" }
    }));
    tell("command_send", &client.call_tool(command).await?);

    client.cancel().await?;
    Ok(())
}

#[expect(clippy::print_stdout, reason = "an example is for the person at the terminal")]
fn tell(tool: &str, result: &CallToolResult) {
    // A failure comes as a result too: its first text says what happened.
    let text = result.content.first().and_then(|block| block.as_text()).map_or("", |text| text.text.as_str());
    let failed = if result.is_error == Some(true) { " failed" } else { "" };
    println!("{tool}{failed}: {text}");
    // A command also says what became of its effect. After `unknown`, look before you send it again.
    if let Some(structured) = &result.structured_content {
        println!("outcome: {}", structured["outcome"].as_str().unwrap_or_default());
    }
}
