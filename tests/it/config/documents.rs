//! Holds `config.toml` and the README to the code.
//!
//! The ranges in the comments are tried, not compared: what a comment allows must load, and what it does not allow
//! must be refused.

use std::path::{Path, PathBuf};

use kubemq_mcp::config::{self, Config};
use serde_json::json;

use super::load;

/// Set it to write the documents anew instead of comparing them.
const RENEW: &str = "RENEW_DOCUMENTS";

fn repository(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
}

fn config_toml() -> String {
    std::fs::read_to_string(repository("config.toml")).expect("config.toml is in the repository")
}

/// An option as `config.toml` shows it.
struct Shown {
    section: String,
    key: String,
    comment: String,
}

/// Reads the options and the comments directly above them, line by line and without the code's help.
fn shown(text: &str) -> Vec<Shown> {
    let (mut section, mut comment, mut found) = (String::new(), Vec::new(), Vec::new());
    for line in text.lines() {
        if let Some(words) = line.strip_prefix("# ") {
            comment.push(words);
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.to_owned();
        } else if let Some((key, _)) = line.split_once(" = ").filter(|_| !line.starts_with('#')) {
            found.push(Shown { section: section.clone(), key: key.into(), comment: comment.join(" ") });
        }
        comment.clear();
    }
    found
}

#[test]
fn config_toml_is_what_the_code_writes() {
    if std::env::var_os(RENEW).is_some() {
        std::fs::write(repository("config.toml"), config::render_file()).unwrap();
    }
    assert!(config_toml() == config::render_file(), "run the tests once with {RENEW}=1 to renew config.toml");
}

#[test]
fn config_toml_gives_exactly_the_defaults() {
    assert_eq!(load(config_toml()).unwrap(), Config::default());
    assert_eq!(load("").unwrap(), Config::default(), "the table and the structs have the same defaults");
}

#[test]
fn every_option_of_the_code_is_in_config_toml() {
    let mut in_code = Vec::new();
    for section in
        fields_of(&json!({ "?": 1 })).into_iter().filter(|name| name != "channels" && name != "policy")
    {
        let fields = fields_of(&json!({ section.as_str(): { "?": 1 } }));
        in_code.extend(fields.into_iter().map(|field| format!("{section}.{field}")));
    }
    let text = config_toml();
    let mut in_file: Vec<String> =
        shown(&text).iter().map(|option| format!("{}.{}", option.section, option.key)).collect();
    in_code.sort();
    in_file.sort();
    assert_eq!(in_file, in_code);
}

/// The fields of a struct, which serde lists when it meets one that it does not know.
fn fields_of(value: &serde_json::Value) -> Vec<String> {
    let error = serde_json::from_value::<Config>(value.clone()).expect_err("`?` is no field").to_string();
    let (_, expected) = error.split_once("expected ").expect(&error);
    expected.split('`').skip(1).step_by(2).map(String::from).collect()
}

#[test]
fn every_option_in_config_toml_has_a_comment_with_its_unit() {
    for Shown { section, key, comment } in shown(&config_toml()) {
        assert!(comment.contains("Range: ") || comment.contains("Allowed: "), "{section}.{key}: {comment}");
        for unit in ["seconds", "bytes"] {
            let counts = key.split('_').any(|word| word == unit);
            assert_eq!(counts, comment.contains(&format!("Unit: {unit}.")), "{section}.{key}: {comment}");
        }
    }
}

#[test]
fn every_range_in_config_toml_is_the_one_that_is_enforced() {
    let mut ranges = 0;
    for Shown { section, key, comment } in shown(&config_toml()) {
        let Some((_, range)) = comment.split_once("Range: ") else { continue };
        let (low, high) = range.trim_end_matches('.').split_once(" to ").unwrap();
        let (low, high): (i64, i64) = (low.parse().unwrap(), high.parse().unwrap());
        // A value may be in its range and clash with another option; that is another error, told apart here.
        let is_in_range = |number: i64| {
            let wrong = format!("`{section}.{key}` is {number}; allowed: {low} to {high}");
            match load(format!("[{section}]\n{key} = {number}")) {
                Ok(_) => true,
                Err(error) => !error.to_string().contains(&wrong),
            }
        };
        for (number, expected) in [(low - 1, false), (low, true), (high, true), (high + 1, false)] {
            assert_eq!(is_in_range(number), expected, "{section}.{key} = {number}");
        }
        ranges += 1;
    }
    assert!(ranges > 30, "only {ranges} ranges were found");
}

#[test]
fn every_name_in_a_comment_is_an_option() {
    let text = config_toml();
    let names: Vec<String> =
        shown(&text).iter().map(|option| format!("{}.{}", option.section, option.key)).collect();
    let sections: Vec<&str> = names.iter().map(|name| name.split_once('.').unwrap().0).collect();
    for line in text.lines().filter(|line| line.starts_with('#')) {
        for quoted in line.split('`').skip(1).step_by(2) {
            let Some((section, _)) = quoted.split_once('.') else { continue };
            let is_name = sections.contains(&section);
            assert!(!is_name || names.iter().any(|name| name == quoted), "`{quoted}` is no option: {line}");
        }
    }
}

#[test]
fn the_examples_of_entries_work_once_they_are_uncommented() {
    let text = config_toml();
    let (before, example) = text.split_once("#[[channels]]").expect("the example is there");
    let uncommented: String = example
        .lines()
        .map(|line| {
            format!("{}\n", line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).unwrap_or(line))
        })
        .collect();
    let config = load(format!("{before}[[channels]]{uncommented}")).unwrap();
    assert_eq!(config.channels.len(), 1);
    assert_eq!(config.channels[0].pattern.as_str(), "orders.*");
    assert_eq!(config.policy.len(), 1);
    let place = example.lines().position(|line| line.starts_with("#who = "));
    let line = before.lines().count() + place.expect("an entry says whom it is about") + 1;
    assert!(config.policy[0].place.ends_with(&format!("config.toml:{line}")), "{}", config.policy[0].place);
}

#[test]
fn the_table_in_the_readme_is_what_the_code_writes() {
    const START: &str = "<!-- options -->\n";
    const END: &str = "<!-- /options -->";
    let readme = std::fs::read_to_string(repository("README.md")).unwrap();
    let (before, rest) = readme.split_once(START).expect("README.md marks where the table starts");
    let (table, after) = rest.split_once(END).expect("README.md marks where the table ends");
    if std::env::var_os(RENEW).is_some() {
        let renewed = format!("{before}{START}\n{}\n{END}{after}", config::render_table());
        return std::fs::write(repository("README.md"), renewed).unwrap();
    }
    assert!(
        table.trim() == config::render_table().trim(),
        "run the tests once with {RENEW}=1 to renew README.md"
    );
}
