//! Who may name whom: the table of the style guide, held by reading the `use` lines and paths of the source.

use std::iter::Peekable;
use std::path::Path;
use std::str::Chars;

/// A layer and the layers of ours that it may name.
const MAY_NAME: [(&str, &[&str]); 12] = [
    ("domain", &[]),
    ("clock", &[]),
    ("access", &["domain", "clock"]),
    ("audit", &["domain", "clock"]),
    ("broker", &["domain", "clock"]),
    ("idempotency", &["domain", "clock"]),
    ("channel", &["domain", "clock", "broker"]),
    ("mcp", &["domain", "clock", "access", "audit", "channel", "idempotency", "broker"]),
    ("http", &["mcp", "access", "audit", "domain", "clock", "idempotency"]),
    ("embedded", &[]),
    ("telemetry", &[]),
    (
        "config",
        &[
            "access",
            "app",
            "audit",
            "broker",
            "channel",
            "domain",
            "embedded",
            "http",
            "idempotency",
            "mcp",
            "telemetry",
        ],
    ),
];

/// A crate and the places that may name it.
const MAY_USE: [(&str, &[&str]); 6] = [
    (
        "actix",
        &[
            "channel/actor",
            "channel/handle",
            "channel/registry",
            "idempotency/actor",
            "idempotency/handle",
            "mcp/actor",
            "mcp/handle",
            "mcp/shard",
        ],
    ),
    ("kubemq", &["broker/", "embedded/", "embedded.rs"]),
    ("tonic", &["broker/", "embedded/", "embedded.rs"]),
    ("sled", &["idempotency/sled"]),
    ("rmcp", &["mcp/", "http/front", "cli/call"]),
    ("axum", &["http/", "mcp/agent", "cli/stdio/"]),
];

fn sources() -> Vec<(String, String)> {
    fn walk(folder: &Path, found: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(folder).expect("a folder of the source").flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
                let name = path.strip_prefix(root).expect("below the source").to_string_lossy().into_owned();
                let text = std::fs::read_to_string(&path).expect("a text");
                // Tests at the end of a file may name more.
                let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default().to_owned();
                found.push((name, text));
            }
        }
    }
    let mut found = Vec::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    assert!(found.len() > 50, "the source is where we look for it");
    found
}

fn layer(name: &str) -> &str {
    name.split(['/', '.']).next().unwrap_or_default()
}

/// Every path of the code as it would stand in full, so that `use crate::{http, mcp::Server as S};` names two layers.
fn paths(text: &str) -> Vec<String> {
    let code: String = code_lines(text).collect::<Vec<_>>().join("\n");
    let mut found = Vec::new();
    for (start, _) in code.match_indices("crate::") {
        let before = code[..start].chars().next_back();
        let is_own = before.is_none_or(|before| !before.is_alphanumeric() && before != '_' && before != '$');
        if is_own {
            expand("", &mut code[start..].chars().peekable(), &mut found);
        }
    }
    found
}

/// Reads one tree of a `use`, or one path, and adds the paths that it stands for.
fn expand(prefix: &str, rest: &mut Peekable<Chars<'_>>, found: &mut Vec<String>) {
    let mut path = prefix.to_owned();
    while let Some(letter) = rest.peek().copied() {
        match letter {
            _ if letter.is_alphanumeric() || ":_*".contains(letter) => path.push(letter),
            '{' if path.ends_with("::") => {
                rest.next();
                loop {
                    while rest.next_if(|letter| letter.is_whitespace()).is_some() {}
                    expand(&path, rest, found);
                    // Over the rest of an entry, such as `as Name`.
                    let end = rest.find(|letter| ",}".contains(*letter));
                    if end != Some(',') {
                        return;
                    }
                }
            }
            _ => break,
        }
        rest.next();
    }
    if path != prefix {
        found.push(path);
    }
}

#[test]
fn a_path_is_found_however_it_is_written() {
    let text = "use crate::{http, mcp::{Server as S, tool::{self, key}},\n    clock};\nlet a = crate::app::App;\n\
                // crate::cli\nuse other_crate::broker;\nuse crate::{\n    access,\n};";
    let expected = [
        "crate::http",
        "crate::mcp::Server",
        "crate::mcp::tool::self",
        "crate::mcp::tool::key",
        "crate::clock",
        "crate::app::App",
        "crate::access",
    ];
    assert_eq!(paths(text), expected);
}

fn code_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.starts_with("//"))
}

#[test]
fn a_layer_names_only_the_layers_below_it() {
    let names: Vec<&str> = MAY_NAME.iter().map(|(name, _)| *name).chain(["app", "cli"]).collect();
    let mut wrong = Vec::new();
    for (file, text) in sources() {
        let own = layer(&file).to_owned();
        let Some((_, allowed)) = MAY_NAME.iter().find(|(name, _)| *name == own) else { continue };
        for path in paths(&text) {
            let other = path.split("::").nth(1).unwrap_or_default();
            if names.contains(&other) && other != own && !allowed.contains(&other) {
                wrong.push(format!("{file}: {path}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_crate_is_named_only_where_it_belongs() {
    let mut wrong = Vec::new();
    for (file, text) in sources() {
        for (name, places) in MAY_USE {
            let allowed = places.iter().any(|place| file.starts_with(place));
            let names = |line: &str| {
                line.starts_with(&format!("use {name}::")) || line.contains(&format!(" {name}::"))
            };
            if !allowed {
                wrong.extend(
                    code_lines(&text).filter(|line| names(line)).map(|line| format!("{file}: {line}")),
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
