//! `kubemq-mcp call` against a small MCP server.

mod server;

use std::io::Cursor;

use clap::Parser;
use kubemq_mcp::cli::call::{self, CallError, Ending, Verdict};
use serde_json::{Value, json};

use server::Server;

#[derive(Parser, Debug)]
struct CommandLine {
    #[command(flatten)]
    args: call::Args,
}

async fn call(words: &[&str]) -> (Result<Verdict, CallError>, Vec<u8>) {
    let args =
        CommandLine::try_parse_from([&["call"], words].concat()).expect("the arguments are right").args;
    let mut output = Vec::new();
    let mut input = Cursor::new("from standard input");
    let verdict = call::run(args, None, &mut input, &mut output, Ending::AsItIs).await;
    (verdict, output)
}

async fn call_tool(server: &Server, tool: &str, words: &[&str]) -> (Result<Verdict, CallError>, String) {
    let url = server.url("/mcp");
    let fixed = [tool, "--channel", "orders", "--url", &url];
    let (verdict, output) = call(&[&fixed, words].concat()).await;
    (verdict, String::from_utf8(output).expect("the output is text"))
}

async fn refusal(words: &[&str]) -> String {
    call(words).await.0.expect_err("there is no answer").to_string()
}

#[tokio::test]
async fn every_option_becomes_an_argument_of_the_tool() {
    let server = Server::start().await;
    let words =
        ["--body", "b", "--metadata", "m", "--tag", "a=1", "--tag", "b=x=y", "--timeout-seconds", "7"];
    let (verdict, output) = call_tool(&server, "arguments", &words).await;
    assert_eq!(verdict.unwrap(), Verdict::Succeeded);
    let expected = json!({
        "channel": "orders", "body": "b", "metadata": "m", "tags": {"a": "1", "b": "x=y"}, "timeout_seconds": 7,
    });
    assert_eq!(serde_json::from_str::<Value>(&output).unwrap(), expected);
    let (_, output) = call_tool(&server, "arguments", &["--body", ""]).await;
    assert_eq!(serde_json::from_str::<Value>(&output).unwrap(), json!({"channel": "orders", "body": ""}));
}

#[tokio::test]
async fn a_body_comes_back_byte_for_byte() {
    let server = Server::start().await;
    for body in ["{\"a\": 1.0}\n", "größe\u{0}", "", " "] {
        assert_eq!(call_tool(&server, "echo", &["--body", body]).await.1, body);
    }
    let url = server.url("/mcp");
    let (_, bytes) = call(&["bytes", "--channel", "c", "--body", "b", "--url", &url]).await;
    assert_eq!(bytes, [0, 255, 10], "a body that is not UTF-8 comes as the bytes it is");
}

#[tokio::test]
async fn a_body_can_come_from_a_file_or_from_standard_input() {
    let server = Server::start().await;
    assert_eq!(call_tool(&server, "echo", &["--body", "-"]).await.1, "from standard input");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("body");
    std::fs::write(&path, "from a file").unwrap();
    let argument = format!("@{}", path.display());
    assert_eq!(call_tool(&server, "echo", &["--body", &argument]).await.1, "from a file");
    std::fs::write(&path, [255]).unwrap();
    let error = call_tool(&server, "echo", &["--body", &argument]).await.0.unwrap_err().to_string();
    assert!(
        error.ends_with("is not UTF-8, and arguments of a tool are text: encode it, for example as base64")
    );
    let error = call_tool(&server, "echo", &["--body", "@nowhere"]).await.0.unwrap_err().to_string();
    assert!(error.starts_with("the body cannot be read from nowhere: "), "{error}");
}

#[tokio::test]
async fn a_tool_that_failed_is_a_failed_verdict_with_all_its_text() {
    let server = Server::start().await;
    let (verdict, output) = call_tool(&server, "fail", &["--body", "b"]).await;
    assert_eq!(verdict.unwrap(), Verdict::Failed);
    assert_eq!(output, "Command timed out\nIt may have happened.");
    let (verdict, output) = call_tool(&server, "fail", &["--body", "b", "--json"]).await;
    assert_eq!(verdict.unwrap(), Verdict::Failed);
    let result: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(result["isError"], true);
    assert_eq!(result["structuredContent"]["outcome"], "unknown");
    assert!(output.starts_with("{\n  ") && output.ends_with("}\n"), "{output}");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_with_what_to_do() {
    let url = Server::address_of_nobody().await;
    assert_eq!(
        refusal(&["echo", "--channel", "c", "--body", "b", "--url", &url]).await,
        format!("nothing listens on {url}: start `kubemq-mcp serve`, or name another address with --url")
    );
    let error = refusal(&["echo", "--channel", "c", "--body", "b", "--url", "127.0.0.1:9090"]).await;
    assert!(error.contains("write one such as http://127.0.0.1:9090/mcp"), "{error}");
}

#[tokio::test]
async fn a_server_that_is_another_one_is_told_with_what_to_do() {
    let server = Server::start().await;
    let url = server.url("/elsewhere");
    let error = refusal(&["echo", "--channel", "c", "--body", "b", "--url", &url]).await;
    assert!(error.starts_with(&format!("{url} does not answer as an MCP server does, ")), "{error}");
    assert!(error.ends_with(": the call was not sent, check the path (/mcp)"), "{error}");
}

#[tokio::test]
async fn a_protocol_error_says_that_nothing_was_sent() {
    let server = Server::start().await;
    let error = call_tool(&server, "nonsense", &["--body", "b"]).await.0.unwrap_err().to_string();
    assert_eq!(
        error,
        "the server refused the call, so nothing was sent to KubeMQ: unknown tool: nonsense (-32602)"
    );
}

#[tokio::test]
async fn an_answer_that_is_lost_says_that_it_may_have_taken_effect_and_is_not_asked_for_again() {
    let server = Server::start().await;
    for (tool, cause) in [("broken", "HTTP 503"), ("internal", "Mcp error: -32603: broke")] {
        let error = call_tool(&server, tool, &["--body", "b"]).await.0.unwrap_err().to_string();
        let expected = format!(
            "the call was sent and has no answer, {cause}: it may have taken effect, look before you call again"
        );
        assert_eq!(error, expected);
        assert_eq!(server.calls(tool), 1);
    }
}

#[tokio::test]
async fn the_token_is_sent_and_never_shown() {
    let server = Server::start().await;
    let url = server.url("/guarded");
    let words = ["echo", "--channel", "c", "--body", "b", "--url", &url];
    let error = refusal(&words).await;
    assert!(
        error.ends_with(" asks for another token: give one with --token-file, or in KUBEMQ_MCP_TOKEN"),
        "{error}"
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "right\n").unwrap();
    let named = [&words[..], &["--token-file", file.path().to_str().unwrap()]].concat();
    let (verdict, output) = call(&named).await;
    assert_eq!((verdict.unwrap(), output), (Verdict::Succeeded, b"b".to_vec()));
    std::fs::write(file.path(), "hunter2\n").unwrap();
    let error = refusal(&named).await;
    assert!(error.contains("asks for another token") && !error.contains("hunter2"), "{error}");
    // Everybody on the machine can read a command line.
    assert!(CommandLine::try_parse_from([&["call"], &words[..], &["--token", "hunter2"]].concat()).is_err());
}

#[tokio::test]
async fn a_wrong_tag_is_refused_before_anything_is_sent() {
    let words = ["call", "echo", "--channel", "c", "--body", "b", "--tag", "novalue"];
    let error = CommandLine::try_parse_from(words).unwrap_err().to_string();
    assert!(error.contains("write KEY=VALUE"), "{error}");
    let url = Server::address_of_nobody().await;
    let twice = ["echo", "--channel", "c", "--body", "b", "--tag", "a=1", "--tag", "a=2", "--url", &url];
    assert_eq!(refusal(&twice).await, "the tag `a` is given twice: keep one");
}
