//! Holds the documents and the dashboards to the code: metric names, causes, links.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use kubemq_mcp::domain::{Cause, Kind};
use serde_json::json;

use crate::harness::connector::{Connector, echo};
use crate::harness::event::within;

/// What every metric of ours begins with.
const PREFIX: &str = "kubemq_mcp_";

/// Folders that are not ours to check.
const FOREIGN: [&str; 5] = ["target", ".git", "node_modules", ".venv", "__pycache__"];

/// Where causes are listed and told, as opposed to where they happen.
const VOCABULARY: [&str; 2] = ["src/domain/outcome.rs", "src/mcp/answer"];

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every file below `folder` that ends like this, with its text.
fn texts(folder: &Path, ending: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder of the repository").flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if FOREIGN.iter().any(|foreign| name == *foreign) {
            continue;
        }
        if path.is_dir() {
            found.extend(texts(&path, ending));
        } else if name.to_string_lossy().ends_with(ending) {
            let text = std::fs::read_to_string(&path).expect("a text");
            found.push((path, text));
        }
    }
    found
}

fn document(name: &str) -> String {
    std::fs::read_to_string(repository().join(name)).expect(name)
}

/// The cells of each row between `<!-- name -->` and `<!-- /name -->`, without the head of the table.
fn table(text: &str, name: &str) -> Vec<Vec<String>> {
    let (_, rest) = text.split_once(&format!("<!-- {name} -->")).expect("the table's start is marked");
    let (inside, _) = rest.split_once(&format!("<!-- /{name} -->")).expect("the table's end is marked");
    let rows = inside.lines().filter(|line| line.starts_with('|')).skip(2);
    rows.map(|row| row.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', "")).collect())
        .collect()
}

/// Every metric of ours that the text names.
fn metrics_in(text: &str) -> BTreeSet<String> {
    let part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let words = text.split(|character: char| !part(character));
    words.filter(|word| word.len() > PREFIX.len() && word.starts_with(PREFIX)).map(str::to_owned).collect()
}

/// What a scrape shows: each metric with its type, and the names of all its series.
struct Scrape {
    types: BTreeMap<String, String>,
    series: BTreeSet<String>,
}

impl Scrape {
    /// Of a connector that has served a command and a query: some series appear only then.
    async fn take() -> Self {
        let connector = Connector::start().await;
        let _queries = connector.responder(Kind::Query, "orders", echo).await;
        let _commands = connector.responder(Kind::Command, "orders", echo).await;
        for tool in ["query_send", "command_send"] {
            connector.agent().call(tool, json!({ "channel": "orders", "body": "b" })).await;
        }
        let complete = async {
            loop {
                let (status, text) = connector.agent().get("/metrics").await;
                assert_eq!(status, 200);
                // The task that follows the broker writes this one in its own time.
                if text.contains("kubemq_mcp_broker_up ") {
                    return text;
                }
            }
        };
        let text = within("the series of the broker", complete).await;
        connector.stop().await;
        let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
        let types = types.map(|(name, kind)| (name.to_owned(), kind.to_owned())).collect();
        Self { types, series: metrics_in(&text) }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_documents_and_the_dashboards_name_the_metrics_that_exist() {
    let scrape = Scrape::take().await;
    let listed: BTreeMap<String, String> = table(&document("docs/OPERATIONS.md"), "metrics")
        .into_iter()
        .map(|row| (row[0].clone(), row[1].clone()))
        .collect();
    assert_eq!(listed, scrape.types, "left: the table in docs/OPERATIONS.md, right: the scrape");

    let dashboards = texts(&repository().join("grafana"), ".json");
    assert!(!dashboards.is_empty());
    for (path, text) in &dashboards {
        serde_json::from_str::<serde_json::Value>(text).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        assert!(!metrics_in(text).is_empty(), "{path:?} shows nothing of ours");
    }
    for (path, text) in dashboards.iter().chain(&texts(repository(), ".md")) {
        let unknown: Vec<String> = metrics_in(text).difference(&scrape.series).cloned().collect();
        assert!(unknown.is_empty(), "{path:?} names metrics that do not exist: {unknown:?}");
    }
}

/// Whether the code has a place where the cause happens.
fn is_reachable(cause: Cause, sources: &[(PathBuf, String)]) -> bool {
    let variant = format!("{cause:?}");
    let name = variant.split('(').next().expect("a name");
    let part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    sources
        .iter()
        .any(|(_, text)| text.split(&format!("Cause::{name}")).skip(1).any(|rest| !rest.starts_with(part)))
}

#[test]
fn the_readme_tells_every_cause_that_can_happen_and_no_other() {
    let sources: Vec<_> = texts(&repository().join("src"), ".rs")
        .into_iter()
        .filter(|(path, _)| !VOCABULARY.iter().any(|name| path.to_string_lossy().contains(name)))
        .map(|(path, text)| {
            let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default().to_owned();
            (path, code)
        })
        .collect();
    // Two causes share the word `internal`; its row names what both of them say.
    let mut right: BTreeMap<&str, [BTreeSet<String>; 3]> = BTreeMap::new();
    for cause in Cause::ALL.into_iter().filter(|cause| is_reachable(*cause, &sources)) {
        let executed = cause.executed().map_or("null".to_owned(), |executed| executed.to_string());
        let cells = [cause.outcome().as_str().to_owned(), executed, cause.retry().as_str().to_owned()];
        let row = right.entry(cause.as_str()).or_default();
        for (words, cell) in row.iter_mut().zip(cells) {
            words.insert(cell);
        }
    }
    assert!(right.len() >= 14, "the places where causes happen are found: {right:?}");

    let readme = document("README.md");
    let told = table(&readme, "outcomes");
    let told: BTreeMap<&str, [BTreeSet<String>; 3]> = told
        .iter()
        .map(|row| {
            let words = |index: usize| row[index].split(" or ").map(str::to_owned).collect();
            (row[0].as_str(), [words(1), words(2), words(3)])
        })
        .collect();
    assert_eq!(told, right, "left: the table in README.md, right: the code");
}

/// The targets of the links in a text in Markdown, those in its listings left out.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_listing = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_listing = !in_listing;
        } else if !in_listing {
            let targets = line.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
            found.extend(targets.map(|(target, _)| target.to_owned()));
        }
    }
    found
}

#[test]
fn every_relative_link_points_to_a_file() {
    let mut followed = 0;
    for (path, text) in texts(repository(), ".md") {
        for link in links(&text) {
            let target = link.split('#').next().unwrap_or_default();
            if target.is_empty() || target.contains(':') {
                continue;
            }
            let file = path.parent().expect("a file stands in a folder").join(target);
            assert!(file.exists(), "{path:?} links to {link}, which does not exist");
            followed += 1;
        }
    }
    assert!(followed > 5, "only {followed} links were found");
}
