//! `stdio --connect` in front of something that answers as no connector should, or not at all.

use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::harness::binary::Binary;
use crate::harness::event::DEADLINE;
use crate::harness::nowhere::Nowhere;

/// Takes one request after the other, each on a connection of its own, and answers with these bytes in turn.
fn answering(answers: Vec<String>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for answer in answers {
            let (stream, _) = listener.accept().expect("the agent's end connects");
            let mut reader = BufReader::new(stream);
            read_request(&mut reader);
            let mut stream = reader.into_inner();
            stream.write_all(answer.as_bytes()).expect("it is read");
            let _ = stream.shutdown(Shutdown::Write);
        }
    });
    address
}

fn read_request(reader: &mut impl BufRead) {
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a head");
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a number");
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("the whole body");
}

fn http(status: &str, media: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {media}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// `stdio --connect` in front of this address.
fn start(address: SocketAddr) -> Child {
    Binary::command(&["stdio", "--connect", &format!("http://{address}/mcp")], &[])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it runs")
}

/// A command with this id.
fn command(id: &Value) -> String {
    let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": "command_send", "arguments": { "channel": "orders", "body": "b" } } });
    format!("{call}\n")
}

/// `stdio --connect` with its two ends.
struct Between {
    child: Child,
    input: ChildStdin,
    output: Receiver<String>,
}

impl Between {
    fn in_front_of(address: SocketAddr) -> Self {
        let mut child = start(address);
        let (sender, output) = std::sync::mpsc::channel();
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { input: child.stdin.take().expect("it is piped"), child, output }
    }

    /// Sends a command with this id.
    fn command(&mut self, id: &Value) {
        self.input.write_all(command(id).as_bytes()).expect("it reads");
    }

    /// The next line.
    fn line(&self) -> Value {
        let line = self.output.recv_timeout(DEADLINE).expect("an answer");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Sends a command, and gives the text of the error that answers it.
    fn refused(&mut self, id: u32) -> String {
        self.command(&json!(id));
        let answer = self.line();
        assert_eq!(answer["id"], id, "{answer}");
        answer["error"]["message"].as_str().unwrap_or_else(|| panic!("no error in {answer}")).to_owned()
    }
}

impl Drop for Between {
    fn drop(&mut self) {
        // Fails only when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn only_a_connection_that_was_never_made_is_told_as_nothing_sent() {
    let nobody = Nowhere::new();
    let text = Between::in_front_of(nobody.address).refused(1);
    assert!(text.contains("no connector answers") && text.contains("kubemq-mcp serve"), "{text}");
    let half = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{".to_owned();
    let mut between = Between::in_front_of(answering(vec![String::new(), half]));
    for id in 1..=2 {
        let text = between.refused(id);
        assert!(text.contains("may have taken effect"), "{text}");
    }
}

#[test]
fn a_redirect_is_not_followed() {
    let mut elsewhere =
        Binary::start(&["serve", "--listen", "127.0.0.1:0", "--embedded-listen", "127.0.0.1:0"], &[]);
    let location = format!("location: {}\r\nconnection: close", elsewhere.word("http://"));
    let redirect = http("307 Temporary Redirect", "text/plain", "").replace("connection: close", &location);
    let text = Between::in_front_of(answering(vec![redirect])).refused(1);
    assert!(text.contains("307") && text.contains("--connect"), "{text}");
    elsewhere.kill();
}

#[test]
fn whatever_comes_back_each_request_gets_one_answer_under_its_id() {
    let json = "application/json";
    let events = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n";
    let mut between = Between::in_front_of(answering(vec![
        http("404 Not Found", "text/plain", "no such page"),
        http("502 Bad Gateway", "text/html", "<html>\n<body>down</body></html>"),
        http("202 Accepted", json, ""),
        http("200 OK", json, "[1]"),
        http("200 OK", json, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
        http(
            "413 Payload Too Large",
            json,
            r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"too large"}}"#,
        ),
        http("200 OK", "text/event-stream", events),
    ]));
    for (id, status) in (10..).zip(["404", "502", "202", "200", "200"]) {
        let text = between.refused(id);
        assert!(text.contains(status) && text.contains("may have taken effect"), "{text}");
    }
    assert_eq!(between.refused(15), "too large");
    between.command(&json!(16));
    assert_eq!(between.line()["method"], "notifications/progress");
    let last = between.line();
    assert!(last["id"] == 16 && last["error"]["code"] == -32603, "{last}");
}

#[test]
fn an_agent_that_takes_no_answers_gets_no_more_done() {
    let result = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let address = answering(vec![http("200 OK", "application/json", result)]);
    let mut child = start(address);
    drop(child.stdout.take());
    // It stays open, so only the output can end the program.
    let mut input = child.stdin.take().expect("it is piped");
    input.write_all(command(&json!(1)).as_bytes()).expect("it reads");
    let started = Instant::now();
    while child.try_wait().expect("a child of ours").is_none() {
        assert!(started.elapsed() < DEADLINE, "it goes on");
        std::thread::sleep(Duration::from_millis(5));
    }
}
