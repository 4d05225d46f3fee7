//! Options from environment variables, `KUBEMQ_MCP__SECTION__KEY`.
//!
//! Every variable with our prefix must be an option: a slip in a name would otherwise leave a default in force
//! that somebody believes to have changed.

use std::ffi::OsString;

use super::draft::Draft;
use super::error::{Place, Problem};
use super::nearest;
use super::setting::{Setting, VARIABLE_PREFIX};
use super::table;
use super::value::Refusal;

/// Sets the options that the variables name. Variables of others are not looked at.
pub fn read(draft: &mut Draft, variables: impl IntoIterator<Item = (OsString, OsString)>) {
    let mut ours: Vec<(String, OsString)> = variables
        .into_iter()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .filter(|(name, _)| name.to_ascii_uppercase().starts_with(VARIABLE_PREFIX))
        .collect();
    // The order of an environment is chance, the order of an error should not be.
    ours.sort();
    for (name, value) in ours {
        let place = Place::Variable(name.clone());
        match table::settings().find(|setting| setting.variable() == name) {
            Some(setting) => match value.into_string() {
                Ok(text) => draft.set_text(setting, place, &text),
                Err(_) => draft.refuse(setting, place, Refusal::of(setting, "not UTF-8".into(), None)),
            },
            None => draft.report(unknown(name, place)),
        }
    }
}

/// Variables that would be options if they had the two underscores that options have, with the names that they should
/// have. They set nothing, and whoever set one believes otherwise.
pub fn lookalikes(names: impl IntoIterator<Item = OsString>) -> Vec<(String, String)> {
    let single = |name: &str| name.to_ascii_uppercase().replace("__", "_");
    let mut found: Vec<_> = names
        .into_iter()
        .filter_map(|name| name.into_string().ok())
        .filter(|name| !name.to_ascii_uppercase().starts_with(VARIABLE_PREFIX))
        .filter_map(|name| {
            let meant =
                table::settings().map(Setting::variable).find(|meant| single(meant) == single(&name))?;
            Some((name, meant))
        })
        .collect();
    found.sort();
    found
}

fn unknown(name: String, place: Place) -> Problem {
    let rest = name[VARIABLE_PREFIX.len()..].to_lowercase();
    let (section, key) = rest.split_once("__").unwrap_or(("", &rest));
    if let Some(repeated) = table::repeated(section) {
        return Problem::FileOnly { place, section: repeated.section.name };
    }
    let nearest = nearest::option(section, key).map(Setting::variable);
    let known = match table::section(section) {
        Some(section) => section.settings.iter().map(Setting::variable).collect(),
        None => table::SECTIONS.iter().map(|section| variables_of(section.name)).collect(),
    };
    Problem::Unknown { place, what: "variable", name, nearest, known }
}

fn variables_of(section: &str) -> String {
    format!("{VARIABLE_PREFIX}{}__…", section.to_uppercase())
}
