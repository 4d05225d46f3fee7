//! `kubemq-mcp token new`, and what is made with it, with the real program.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

use kubemq_mcp::access::Tokens;

use crate::harness::binary::Binary;

fn run(arguments: &[&str]) -> Output {
    Binary::command(arguments, &[]).output().expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("a text")
}

/// Makes a token of `name` in the file and gives what standard output and standard error have.
fn new_token(name: &str, file: &Path) -> (String, String) {
    let output = run(&["token", "new", name, "--file", file.to_str().expect("plain")]);
    assert!(output.status.success(), "{output:?}");
    (text(&output.stdout), text(&output.stderr))
}

fn owner(content: &[u8], token: &str) -> Option<String> {
    Tokens::parse(content).expect("a right file").principal(token).map(|name| name.to_string())
}

#[test]
fn a_new_token_is_printed_with_the_line_for_the_file() {
    let output = run(&["token", "new", "ci@build"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let printed = text(&output.stdout);
    let [token, line] = printed.lines().collect::<Vec<_>>()[..] else { panic!("two lines: {printed}") };
    assert!(token.starts_with("kmcp_") && token.len() == 48, "{token}");
    assert_eq!(owner(line.as_bytes(), token), Some("ci@build".into()));
}

#[test]
fn the_line_goes_to_a_file_of_its_owner_alone_and_the_token_to_standard_output() {
    let directory = tempfile::tempdir().expect("room");
    let file = directory.path().join("tokens");
    let (alice, place) = new_token("alice", &file);
    assert_eq!(place, format!("the line of alice is {}:1\n", file.display()));
    let (bob, place) = new_token("bob", &file);
    assert_eq!(place, format!("the line of bob is {}:2\n", file.display()));
    let content = std::fs::read(&file).expect("it was made");
    assert_eq!(owner(&content, alice.trim()), Some("alice".into()));
    assert_eq!(owner(&content, bob.trim()), Some("bob".into()));
    assert!(!text(&content).contains(alice.trim()), "the file has only hashes");
    assert_eq!(std::fs::metadata(&file).expect("it is there").permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_wrong_name_or_a_wrong_file_makes_no_token() {
    for (name, part) in [("anonymous", "choose another"), ("a b", "has only"), ("", "1 to 64 characters")] {
        let output = run(&["token", "new", name]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{name}");
        assert!(text(&output.stderr).contains(part), "{output:?}");
    }
    let directory = tempfile::tempdir().expect("room");
    let file = directory.path().join("tokens");
    std::fs::write(&file, "nonsense\n").expect("the directory is ours");
    for (path, part) in [
        (file.as_path(), ":1: a line has two words, this one has 1"),
        (directory.path(), "cannot be written"),
    ] {
        let output = run(&["token", "new", "alice", "--file", path.to_str().expect("plain")]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{output:?}");
        assert!(text(&output.stderr).contains(part), "{output:?}");
    }
}

#[test]
fn check_looks_at_the_tokens_file_too() {
    let directory = tempfile::tempdir().expect("room");
    let file = directory.path().join("tokens");
    new_token("alice", &file);
    for (content, status, part) in
        [(None, 0, "tokens file: well"), (Some("nonsense"), 1, ":1: a line has two words, this one has 1")]
    {
        if let Some(content) = content {
            std::fs::write(&file, content).expect("the directory is ours");
        }
        let free = [
            ("KUBEMQ_MCP__SERVER__LISTEN", "127.0.0.1:0"),
            ("KUBEMQ_MCP__EMBEDDED__LISTEN", "127.0.0.1:0"),
            ("KUBEMQ_MCP__ACCESS__TOKENS_FILE", file.to_str().expect("plain")),
        ];
        let output = Binary::command(&["check"], &free).output().expect("it runs");
        let found = text(&output.stdout);
        assert!(output.status.code() == Some(status) && found.contains(part), "{output:?}");
    }
}
