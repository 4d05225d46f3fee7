//! Who may name whom: the table of the style guide, held by reading the `use` lines and paths of the source.

use std::path::Path;

/// A layer and the layers of ours that it may name.
const MAY_NAME: [(&str, &[&str]); 11] = [
    ("domain", &[]),
    ("clock", &[]),
    ("access", &["domain", "clock"]),
    ("broker", &["domain", "clock"]),
    ("idempotency", &["domain", "clock"]),
    ("channel", &["domain", "clock", "broker"]),
    ("mcp", &["domain", "clock", "channel", "idempotency", "broker"]),
    ("http", &["mcp", "access", "domain", "clock", "idempotency"]),
    ("embedded", &[]),
    ("telemetry", &[]),
    ("config", &["access", "app", "broker", "channel", "domain", "embedded", "http", "mcp", "telemetry"]),
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
        for line in code_lines(&text) {
            for other in &names {
                let named =
                    line.contains(&format!("crate::{other}::")) || line.contains(&format!("crate::{other};"));
                if named && *other != own && !allowed.contains(other) {
                    wrong.push(format!("{file}: {line}"));
                }
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
