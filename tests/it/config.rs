//! The configuration: its sources, its errors, and the documents that show it.

mod documents;
mod errors;
mod rules;
mod sources;

use std::ffi::OsString;
use std::path::PathBuf;

use kubemq_mcp::config::{Config, ConfigError, Sources};

/// A file with a text, in a directory that lives as long as this.
struct File {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

impl File {
    fn new(content: impl AsRef<[u8]>) -> Self {
        let directory = tempfile::tempdir().expect("the system has room for a directory");
        let path = directory.path().join("config.toml");
        std::fs::write(&path, content).expect("the directory is ours");
        Self { _directory: directory, path }
    }
}

fn load(content: impl AsRef<[u8]>) -> Result<Config, ConfigError> {
    load_with(content, &[])
}

fn load_with(content: impl AsRef<[u8]>, environment: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let file = File::new(content);
    let sources =
        Sources { file: Some(file.path.clone()), environment: variables(environment), flags: vec![] };
    Config::load(sources)
}

fn variables(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

/// What is wrong, one line for each problem, without the directory of the file.
fn problems(result: Result<Config, ConfigError>) -> Vec<String> {
    let error = result.expect_err("the configuration is wrong");
    let short = |problem: String| match problem.split_once("config.toml:") {
        Some((_, rest)) => format!("config.toml:{rest}"),
        None => problem,
    };
    error.problems.iter().map(|problem| short(problem.to_string())).collect()
}
