//! The options as people read them: `config.toml` and the table in the README.
//!
//! Both are made here and kept in the repository; a test compares, so that they cannot grow old.

use std::fmt::Write;

use super::setting::{Kind, Setting};
use super::table::{REPEATED, SECTIONS, Section};

/// Longest line of a comment.
const COLUMNS_MAX: usize = 100;

const HEAD: &str = "\
# The configuration of kubemq-mcp: every option, at its default.
#
# The connector reads the file given with --config, or else config.toml in the directory it is started in.
# An environment variable goes over the file: KUBEMQ_MCP__SERVER__LISTEN for listen in [server], lists with
# commas between the items. A flag of the command line goes over both. An unknown name or a wrong value is an
# error, and nothing starts.
";

/// Writes `config.toml`: every option at its default, with a comment directly above it.
pub fn render_file() -> String {
    let mut text = HEAD.to_owned();
    for section in SECTIONS {
        heading(&mut text, section, &format!("[{}]", section.name));
        for setting in section.settings {
            entry(&mut text, setting);
        }
    }
    let mut example = String::new();
    for section in REPEATED.iter().map(|repeated| repeated.section) {
        heading(&mut example, section, &format!("[[{}]]", section.name));
        section.settings.iter().for_each(|setting| entry(&mut example, setting));
    }
    for line in example.lines() {
        let comment = line.is_empty() || line.starts_with('#');
        text += &if comment { format!("{line}\n") } else { format!("#{line}\n") };
    }
    text
}

fn heading(text: &mut String, section: &Section, header: &str) {
    *text += "\n\n";
    comment(text, section.about);
    *text += &format!("{header}\n");
}

fn entry(text: &mut String, setting: &Setting) {
    *text += "\n";
    comment(text, setting.about);
    comment(text, &facts(setting));
    *text += &format!("{} = {}\n", setting.key(), setting.default());
}

fn facts(setting: &Setting) -> String {
    match setting.unit() {
        Some(unit) => format!("Unit: {unit}. Range: {}.", setting.allowed()),
        None if matches!(setting.kind, Kind::Integer(..)) => format!("Range: {}.", setting.allowed()),
        None => format!("Allowed: {}.", setting.allowed()),
    }
}

fn comment(text: &mut String, sentences: &str) {
    let mut line = "#".to_owned();
    for word in sentences.split(' ') {
        if line.chars().count() + 1 + word.chars().count() > COLUMNS_MAX {
            *text += &format!("{line}\n");
            line = "#".to_owned();
        }
        line += &format!(" {word}");
    }
    *text += &format!("{line}\n");
}

/// Writes the table of all options for the README, in Markdown.
pub fn render_table() -> String {
    let mut text = "| Option | Default | Allowed | Meaning |\n|---|---|---|---|\n".to_owned();
    let repeated = REPEATED.iter().flat_map(|repeated| repeated.section.settings);
    let repeated = repeated.map(|setting| (setting, "none".to_owned()));
    let single = SECTIONS.iter().flat_map(|section| section.settings);
    let single = single.map(|setting| (setting, format!("`{}`", setting.default())));
    for (setting, default) in single.chain(repeated) {
        let unit = setting.unit().map_or_else(String::new, |unit| format!(" {unit}"));
        let (name, allowed, about) = (setting.name, setting.allowed(), setting.about);
        writeln!(text, "| `{name}` | {default} | {allowed}{unit} | {about} |")
            .expect("a text takes everything that is written to it");
    }
    text
}
