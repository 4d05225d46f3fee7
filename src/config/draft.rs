//! A configuration in the making: the values of all sources, one over the other, and every problem so far.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json};

use super::error::{ConfigError, Place, Problem};
use super::setting::Setting;
use super::table;
use super::value::{Refusal, Value};
use super::{Config, conflict};

/// A configuration in the making.
#[derive(Default)]
pub struct Draft {
    values: BTreeMap<&'static str, (Value, Place)>,
    faulty: BTreeSet<&'static str>,
    entries: BTreeMap<&'static str, Vec<Json>>,
    problems: Vec<Problem>,
}

impl Draft {
    /// Sets an option; a later source goes over an earlier one.
    pub fn set(&mut self, setting: &'static Setting, place: Place, value: Value) {
        match value.check(setting) {
            Ok(()) => _ = self.values.insert(setting.name, (value, place)),
            Err(refusal) => self.refuse(setting, place, refusal),
        }
    }

    /// Reads an option from a text by its type and sets it.
    pub fn set_text(&mut self, setting: &'static Setting, place: Place, text: &str) {
        match Value::read(setting, text) {
            Ok(value) => self.set(setting, place, value),
            Err(refusal) => self.refuse(setting, place, refusal),
        }
    }

    /// Records that an option has a value that is not taken.
    pub fn refuse(&mut self, setting: &'static Setting, place: Place, refusal: Refusal) {
        let Refusal { found, advice } = refusal;
        let (name, allowed) = (setting.name.into(), setting.allowed());
        self.faulty.insert(setting.name);
        self.report(Problem::WrongValue { place, name, found, allowed, advice });
    }

    /// Adds an entry of a section that may stand many times.
    pub fn add_entry(&mut self, section: &'static str, entry: Map<String, Json>) {
        self.entries.entry(section).or_default().push(Json::Object(entry));
    }

    /// Records a problem.
    pub fn report(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// The value of an option as it stands, or nothing when a source gave a wrong one: then what it was meant to
    /// be is not known, and no further rule may judge it.
    pub fn value(&self, name: &str) -> Option<Value> {
        if self.faulty.contains(name) {
            return None;
        }
        match self.values.get(name) {
            Some((value, _)) => Some(value.clone()),
            None => table::find(name).map(Setting::default),
        }
    }

    /// Where the value of an option comes from; nothing for a default.
    pub fn place(&self, name: &str) -> Option<&Place> {
        self.values.get(name).map(|(_, place)| place)
    }

    /// Checks what options must have in common and builds the configuration.
    ///
    /// # Errors
    /// All problems of all sources.
    pub fn finish(mut self) -> Result<Config, ConfigError> {
        let conflicts = conflict::find(&self);
        self.problems.extend(conflicts);
        if !self.problems.is_empty() {
            return Err(ConfigError { problems: self.problems });
        }
        let mut sections = Map::new();
        for (name, (value, _)) in &self.values {
            let setting = table::find(name).expect("only options of the table are set");
            let section = sections.entry(setting.section()).or_insert_with(|| Json::Object(Map::new()));
            section[setting.key()] = value.to_json();
        }
        let entries = self.entries.into_iter();
        sections.extend(entries.map(|(section, entries)| (section.to_owned(), Json::Array(entries))));
        let config = serde_json::from_value(Json::Object(sections))
            .expect("the structs take every value that the table allows, which a test tries");
        Ok(config)
    }
}
