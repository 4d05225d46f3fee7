//! The real program as a process: its ready line, its signals, its exit statuses, its words on standard output.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::harness::agent::{Agent, Era};
use crate::harness::binary::Binary;
use crate::harness::event::within;
use crate::harness::nowhere::Nowhere;

const SERVE: [&str; 5] = ["serve", "--listen", "127.0.0.1:0", "--embedded-listen", "127.0.0.1:0"];

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

#[test]
fn the_ready_line_has_the_url_and_a_signal_ends_it_in_order() {
    for signal in ["TERM", "INT"] {
        let mut server = Binary::start(&SERVE, &[]);
        let agent = Agent::new(&server.word("http://"));
        runtime().block_on(async { assert_eq!(agent.get("/healthz").await.0, 200) });
        server.signal(signal);
        assert_eq!(server.wait().code(), Some(0), "{}", server.log());
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let mut server = Binary::start(&SERVE, &[]);
    let agent = Agent::new(&server.word("http://"));
    let runtime = runtime();
    let asking = runtime.spawn(async move {
        agent
            .try_call(
                Era::Plain,
                "query_send",
                json!({ "channel": "nobody", "body": "b", "timeout_seconds": 60 }),
            )
            .await
    });
    let pending = Agent::new(&server.word("http://"));
    runtime.block_on(async {
        while !pending.get("/metrics").await.1.contains("kubemq_mcp_requests_pending 1") {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    });
    server.signal("TERM");
    server.logged("stopping", 1);
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(130), "{}", server.log());
    // An answer that still gets out says that the call did not succeed.
    if let Ok(answer) = runtime.block_on(asking).expect("no panic") {
        assert!(answer.is_error(), "{answer:?}");
    }
}

#[test]
fn the_log_has_one_line_per_call_and_never_a_body() {
    let server =
        Binary::start(&[&SERVE[..], &["--log-format", "json", "--log-level", "trace"]].concat(), &[]);
    let agent = Agent::new(&server.word("http://"));
    runtime().block_on(async {
        for era in [Era::Plain, Era::Modern] {
            let arguments = json!({ "channel": "nobody", "body": "s3cret-body", "metadata": "s3cret-meta",
                "tags": { "t": "s3cret-tag" }, "timeout_seconds": 1 });
            agent.call_in(era, "command_send", arguments).await;
        }
        agent.call("command_send", json!({ "channel": "nobody", "body": ["s3cret-body"] })).await;
    });
    let log = server.logged("call ended", 3);
    assert!(!log.contains("s3cret"), "{log}");
    let ended: Vec<Value> = log
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(|line: &Value| line["message"] == "call ended")
        .collect();
    assert_eq!(ended.len(), 3, "{log}");
    assert_eq!((&ended[0]["tool"], &ended[0]["channel"]), (&json!("command_send"), &json!("nobody")));
    assert_eq!((&ended[0]["cause"], &ended[0]["outcome"]), (&json!("timed_out"), &json!("unknown")));
    assert!(ended[0]["elapsed_seconds"].as_f64().is_some_and(|seconds| seconds >= 1.0));
    assert_eq!(ended[2]["cause"], "invalid_arguments");
}

#[test]
fn metrics_are_there_from_the_start() {
    let server = Binary::start(&SERVE, &[]);
    let agent = Agent::new(&server.word("http://"));
    let (_, metrics) = runtime().block_on(agent.get("/metrics"));
    for line in [
        "kubemq_mcp_calls_total{tool=\"command_send\",kind=\"command\",cause=\"timed_out\"} 0",
        "kubemq_mcp_requests_pending 0",
        "kubemq_mcp_tokens_refused_total{reason=\"missing\"} 0",
        "kubemq_mcp_tokens_files_refused_total 0",
        "kubemq_mcp_broker_up 1",
        "kubemq_mcp_build_info{version=",
    ] {
        assert!(metrics.contains(line), "{line} is not in {metrics}");
    }
}

#[test]
fn the_demo_shows_its_calls_and_succeeds() {
    let output = Binary::command(&["demo"], &[]).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    for part in ["query response payload", "executed successfully", "rejected on channel", "timed out"] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

#[test]
fn a_call_from_the_command_line_reaches_a_responder_from_the_command_line() {
    let server = Binary::start(&SERVE, &[]);
    let (url, broker) = (server.word("http://"), server.last_word());
    let mut responder = Binary::command(
        &["respond", "orders", "--kind", "query", "--exec", "tr a-z A-Z", "--broker", &broker],
        &[],
    )
    .stdout(Stdio::piped())
    .stderr(Stdio::null())
    .spawn()
    .expect("it runs");
    let mut ready = String::new();
    let output = responder.stdout.as_mut().expect("it is piped");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut ready).expect("a line");
    assert!(ready.contains("answering each query on orders"), "{ready}");
    let call = ["call", "query_send", "--channel", "orders", "--body", "loud", "--url", &url];
    let output = Binary::command(&call, &[]).output().expect("it runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "LOUD");
    assert_eq!(output.status.code(), Some(0));
    let failing = [
        "call",
        "command_send",
        "--channel",
        "nobody",
        "--body",
        "b",
        "--timeout-seconds",
        "1",
        "--url",
        &url,
    ];
    assert_eq!(Binary::command(&failing, &[]).output().expect("it runs").status.code(), Some(1));
    responder.kill().expect("ours");
    responder.wait().expect("ours");
    drop(server);
    let gone = Binary::command(&call, &[]).output().expect("it runs");
    assert_eq!(gone.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&gone.stderr).contains("kubemq-mcp serve"));
}

#[test]
fn the_shell_command_of_a_responder_sees_the_whole_request() {
    let server = Binary::start(&SERVE, &[]);
    let (agent, broker) = (Agent::new(&server.word("http://")), server.last_word());
    let shell = r#"cat; printf '|%s|%s|%s|%s' "$KUBEMQ_CHANNEL" "$KUBEMQ_METADATA" "$KUBEMQ_TAGS" "$KUBEMQ_REQUEST_ID""#;
    let _responder =
        Binary::launch(&["respond", "orders", "--kind", "query", "--exec", shell, "--broker", &broker], &[]);
    let arguments =
        json!({ "channel": "orders", "body": "b", "metadata": "m", "tags": { "place": "a \"b\"\n" } });
    let answer = runtime().block_on(agent.call("query_send", arguments));
    let request_id = &answer.result()["_meta"]["dev.kubemq-mcp/query"]["request_id"];
    let request_id = request_id.as_str().expect("a text");
    assert_eq!(answer.text(0), format!(r#"b|orders|m|{{"place":"a \"b\"\n"}}|{request_id}"#));
}

#[test]
fn a_shell_command_that_is_killed_leaves_the_outcome_unknown_and_one_that_fails_rejects() {
    let server = Binary::start(&SERVE, &[]);
    let (agent, broker) = (Agent::new(&server.word("http://")), server.last_word());
    let shells =
        [("killed", "kill -9 $$"), ("killed-below", "sh -c 'kill -9 $$'; exit $?"), ("fails", "exit 3")];
    let _responders = shells.map(|(channel, shell)| {
        Binary::launch(&["respond", channel, "--kind", "command", "--exec", shell, "--broker", &broker], &[])
    });
    let outcome = |channel: &str| {
        let arguments = json!({ "channel": channel, "body": "b", "timeout_seconds": 2 });
        runtime().block_on(agent.call("command_send", arguments)).structured()["outcome"].clone()
    };
    assert_eq!(shells.map(|(channel, _)| outcome(channel)), ["unknown", "unknown", "rejected"]);
}

#[test]
fn the_demo_in_front_of_a_broker_that_is_down_starts_and_finds_it_later() {
    let nowhere = Nowhere::new();
    let broker = nowhere.address.to_string();
    let server = Binary::start(&["serve", "--listen", "127.0.0.1:0", "--demo", "--broker", &broker], &[]);
    server.logged("not subscribed yet", 1);
    let _broker = Binary::start(&["broker", "--listen", &broker], &[]);
    let agent = Agent::new(&server.word("http://"));
    let send = json!({ "channel": "example-commands", "body": "b", "timeout_seconds": 1 });
    runtime().block_on(within("the demo answers", async {
        while agent.call("command_send", send.clone()).await.is_error() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }));
}

#[test]
fn check_says_what_it_found_and_its_status_follows() {
    let broker = Binary::start(&["broker", "--listen", "127.0.0.1:0"], &[]);
    let free = [("KUBEMQ_MCP__SERVER__LISTEN", "127.0.0.1:0")];
    let address = broker.word("127.0.0.1:");
    let well = Binary::command(&["check", "--broker", &address], &free).output().expect("it runs");
    let text = String::from_utf8_lossy(&well.stdout).into_owned();
    assert_eq!(well.status.code(), Some(0), "{text}");
    assert!(text.contains("answers") && text.contains("all well"), "{text}");
    drop(broker);
    let gone = Binary::command(&["check", "--broker", &address], &free).output().expect("it runs");
    assert_eq!(gone.status.code(), Some(1), "{}", String::from_utf8_lossy(&gone.stdout));
    let wrong = Binary::command(&["check"], &[("KUBEMQ_MCP__SERVER__SHARD", "2")]).output().expect("it runs");
    let text = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert_eq!(wrong.status.code(), Some(1));
    assert!(
        text.contains("`KUBEMQ_MCP__SERVER__SHARD`") && text.contains("KUBEMQ_MCP__SERVER__SHARDS"),
        "{text}"
    );
}

#[test]
fn stdio_answers_every_line_and_writes_nothing_else() {
    let mut child = Binary::command(&["stdio", "--demo"], &[("KUBEMQ_MCP__LOG__LEVEL", "debug")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it runs");
    let info = json!({ "name": "x", "version": "1" });
    let query = json!({ "name": "query_send", "arguments": { "channel": "example-queries", "body": "b" } });
    let lines = [
        "{nonsense".to_owned(),
        String::new(),
        // Older requests without a handshake are answered as over HTTP.
        json!({ "jsonrpc": "2.0", "id": "early", "method": "tools/call", "params": query }).to_string(),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params":
            { "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info } })
        .to_string(),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string(),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }).to_string(),
        // A modern request in the middle of it.
        json!({ "jsonrpc": "2.0", "id": 3, "method": "server/discover", "params":
            { "_meta": crate::harness::agent::modern_meta() } })
        .to_string(),
        json!({ "jsonrpc": "2.0", "id": 4, "method": "nope" }).to_string(),
    ];
    let input = child.stdin.as_mut().expect("it is piped");
    for line in &lines {
        writeln!(input, "{line}").expect("it reads");
    }
    let output = child.stdout.as_mut().expect("it is piped");
    let mut answers = Vec::new();
    let mut reader = std::io::BufReader::new(output);
    while answers.len() < 6 {
        let mut line = String::new();
        assert_ne!(std::io::BufRead::read_line(&mut reader, &mut line).expect("a text"), 0, "{answers:?}");
        answers.push(serde_json::from_str::<Value>(&line).unwrap_or_else(|error| panic!("{error}: {line}")));
    }
    let by_id =
        |id: Value| answers.iter().find(|answer| answer["id"] == id).unwrap_or_else(|| panic!("no {id}"));
    let parse = answers.iter().find(|answer| answer["error"]["code"] == -32700);
    assert!(parse.is_some_and(|answer| answer.get("id").is_none()), "{answers:?}");
    assert_eq!(by_id(json!("early"))["result"]["isError"], false);
    assert_eq!(by_id(json!(1))["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(by_id(json!(2))["result"]["tools"][0]["name"], "query_send");
    assert_eq!(by_id(json!(3))["result"]["resultType"], "complete");
    assert_eq!(by_id(json!(4))["error"]["code"], -32601);
    drop(child.stdin.take());
    assert_eq!(child.wait().expect("ours").code(), Some(0));
}

#[test]
fn stdio_ends_promptly_with_a_call_in_flight_and_a_cancel_silences_its_answer() {
    let started = tokio::time::Instant::now();
    let mut child = Binary::command(&["stdio"], &[])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it runs");
    let call = |id: u8| {
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "query_send",
            "arguments": { "channel": "nobody", "body": "b", "timeout_seconds": 30 } } })
    };
    let input = child.stdin.as_mut().expect("it is piped");
    for line in [
        call(1),
        call(2),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "unknown" } }),
        json!({ "jsonrpc": "2.0", "id": 3, "method": "ping" }),
    ] {
        writeln!(input, "{line}").expect("it reads");
    }
    let mut reader = std::io::BufReader::new(child.stdout.take().expect("it is piped"));
    let mut line = String::new();
    std::io::BufRead::read_line(&mut reader, &mut line).expect("a text");
    assert_eq!(serde_json::from_str::<Value>(&line).expect("JSON")["id"], 3);
    drop(child.stdin.take());
    assert_eq!(child.wait().expect("ours").code(), Some(0));
    assert!(started.elapsed() < std::time::Duration::from_secs(10), "it waited for the call");
    line.clear();
    assert_eq!(std::io::BufRead::read_line(&mut reader, &mut line).expect("a text"), 0, "{line}");
}

#[test]
fn a_signal_lets_what_is_in_flight_on_stdio_be_answered_before_it_ends() {
    let broker = Binary::start(&["broker", "--listen", "127.0.0.1:0"], &[]);
    let address = broker.word("127.0.0.1:");
    let _slow =
        Binary::launch(&["respond", "slow", "--kind", "command", "--delay", "1s", "--broker", &address], &[]);
    let serve = Binary::start(&["serve", "--listen", "127.0.0.1:0", "--broker", &address], &[]);
    let url = serve.word("http://");
    for way in [&["stdio", "--broker", &address][..], &["stdio", "--connect", &url]] {
        for signal in ["TERM", "INT"] {
            let mut child = Binary::command(way, &[])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .expect("it runs");
            let mut reader = std::io::BufReader::new(child.stdout.take().expect("it is piped"));
            let input = child.stdin.as_mut().expect("it is piped");
            let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "command_send",
                "arguments": { "channel": "slow", "body": "b", "timeout_seconds": 10 } } });
            let ping = json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" });
            writeln!(input, "{call}\n{ping}").expect("it reads");
            let mut answer = || {
                let mut line = String::new();
                std::io::BufRead::read_line(&mut reader, &mut line).expect("a text");
                serde_json::from_str::<Value>(&line).unwrap_or_else(|_| panic!("{way:?} {signal}: {line:?}"))
            };
            assert_eq!(answer()["id"], 2, "the command takes a second");
            let kill = [&format!("-{signal}"), &child.id().to_string()];
            assert!(std::process::Command::new("kill").args(kill).status().expect("kill runs").success());
            let told = answer();
            assert_eq!(told["result"]["structuredContent"]["outcome"], "executed", "{way:?}: {told:?}");
            assert_eq!(child.wait().expect("ours").code(), Some(0), "{way:?} {signal}");
        }
    }
}

#[test]
fn options_of_a_connector_of_its_own_do_not_go_with_one_that_runs() {
    for option in [&["--broker", "127.0.0.1:50000"][..], &["--demo"]] {
        let arguments = [&["stdio", "--connect", "http://127.0.0.1:9090/mcp"], option].concat();
        let output = Binary::command(&arguments, &[]).output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && text.contains("cannot be used with"), "{text}");
    }
}

#[test]
fn a_variable_that_looks_like_an_option_is_told_with_its_right_name() {
    let server =
        Binary::start(&SERVE, &[("KUBEMQ_MCP_SERVER_SHARDS", "1"), ("KUBEMQ_MCP_PORT_9090_TCP", "x")]);
    let log = server.logged("this variable sets nothing", 1);
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("sets nothing")).collect();
    assert_eq!(lines.len(), 1, "what Kubernetes sets is nobody's mistake: {lines:?}");
    assert!(
        lines[0].contains("KUBEMQ_MCP_SERVER_SHARDS") && lines[0].contains("KUBEMQ_MCP__SERVER__SHARDS"),
        "{lines:?}"
    );
}

#[test]
fn a_key_from_the_command_line_is_sent_once_and_its_status_is_told() {
    let server = Binary::start(&[&SERVE[..], &["--demo"]].concat(), &[]);
    let url = server.word("http://");
    let run = |words: &[&str]| {
        let output =
            Binary::command(&[&["call"], words, &["--url", &url]].concat(), &[]).output().expect("it runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("a text")
    };
    let send = ["command_send", "--channel", "example-commands", "--body", "do-work", "--key", "order-17"];
    let first = run(&send);
    assert!(first.starts_with("Command executed successfully") && !first.contains("Replayed"), "{first}");
    let again = run(&send);
    assert!(again.starts_with(first.trim_end()) && again.contains("Replayed: sent at"), "{again}");
    let status = run(&["command_status", "--key", "order-17"]);
    assert!(status.starts_with("executed: the command on channel 'example-commands'"), "{status}");
}
