//! Options from a TOML file. The only part of the configuration that reads anything.
//!
//! Values are taken from the parsed document, not by serde, because only the document knows the line of each.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Map;
use toml_edit::{Document, Item, Table, TableLike, Value as Toml};

use super::draft::Draft;
use super::error::{Place, Problem};
use super::nearest;
use super::setting::Setting;
use super::table::{self, Repeated, Section};
use super::value::{Refusal, Value};

/// Whether a file may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Somebody named it, so it must be there.
    Required,
    /// It is looked for where it usually is.
    Optional,
}

/// Sets the options that stand in a file.
pub fn read(draft: &mut Draft, path: &Path, presence: Presence) {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound && presence == Presence::Optional => return,
        Err(cause) => return draft.report(Problem::Unreadable { file: path.into(), cause }),
    };
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let valid = String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]);
            let source = Source { path: path.into(), text: &valid };
            return draft.report(source.malformed(valid.len(), "the file is not UTF-8"));
        }
    };
    let source = Source { path: path.into(), text: &text };
    match Document::parse(text.as_str()) {
        Ok(document) => source.read_sections(draft, document.as_table()),
        // The parser's own display quotes the line, which may hold a secret; its message does not.
        Err(error) => {
            draft.report(source.malformed(error.span().map_or(0, |span| span.start), error.message()));
        }
    }
}

struct Source<'a> {
    path: PathBuf,
    text: &'a str,
}

impl Source<'_> {
    fn read_sections(&self, draft: &mut Draft, root: &Table) {
        for (name, item) in root {
            let place = self.place_of_key(root, name);
            if let Some(repeated) = table::repeated(name) {
                self.read_entries(draft, repeated, item, place);
            } else if let Some(section) = table::section(name) {
                match item.as_table_like() {
                    Some(entries) => self.read_section(draft, section, entries),
                    None => draft.report(wrong_shape(place, name, item, format!("a table, `[{name}]`"))),
                }
            } else {
                draft.report(unknown_section(place, name, item));
            }
        }
    }

    fn read_section(&self, draft: &mut Draft, section: &'static Section, entries: &dyn TableLike) {
        for (key, item) in entries.iter() {
            let place = self.place_of_key(entries, key);
            match section.settings.iter().find(|setting| setting.key() == key) {
                Some(setting) => match value_of(item) {
                    Some(value) => draft.set(setting, place, value),
                    None => draft.refuse(setting, place, Refusal::of(setting, shape_of(item), None)),
                },
                None => draft.report(unknown_option(place, section, key)),
            }
        }
    }

    fn read_entries(&self, draft: &mut Draft, repeated: &'static Repeated, item: &Item, place: Place) {
        let section = repeated.section.name;
        let entries: Option<Vec<&dyn TableLike>> = match item {
            Item::ArrayOfTables(tables) => Some(tables.iter().map(|table| table as &dyn TableLike).collect()),
            Item::Value(Toml::Array(items)) => {
                items.iter().map(|item| item.as_inline_table().map(|table| table as &dyn TableLike)).collect()
            }
            _ => None,
        };
        let Some(entries) = entries else {
            let allowed = format!("entries that each start with `[[{section}]]`");
            return draft.report(wrong_shape(place, section, item, allowed));
        };
        let (count, entries_max) = (entries.len(), repeated.entries_max);
        if count > entries_max {
            return draft.report(Problem::TooMany { place, section, count, entries_max });
        }
        for entry in entries {
            self.read_entry(draft, repeated, entry, &place);
        }
    }

    /// Reads one entry. Only one of its options is required: what it does not say is as everywhere.
    fn read_entry(
        &self,
        draft: &mut Draft,
        &Repeated { section, required, place_told, .. }: &Repeated,
        entry: &dyn TableLike,
        entries: &Place,
    ) {
        let mut read = Map::new();
        for setting in section.settings {
            match entry.get(setting.key()) {
                None if setting.name != required => {}
                None => draft.report(Problem::Missing {
                    place: self.place_of_first_key(entry).unwrap_or_else(|| entries.clone()),
                    name: setting.name.into(),
                    allowed: setting.allowed(),
                }),
                Some(item) => {
                    let place = self.place_of_key(entry, setting.key());
                    let value = value_of(item).ok_or_else(|| Refusal::of(setting, shape_of(item), None));
                    match value.and_then(|value| value.check(setting).map(|()| value)) {
                        Ok(value) => _ = read.insert(setting.key().into(), value.to_json()),
                        Err(refusal) => draft.refuse(setting, place, refusal),
                    }
                }
            }
        }
        for (key, _) in entry.iter() {
            if !section.settings.iter().any(|setting| setting.key() == key) {
                draft.report(unknown_option(self.place_of_key(entry, key), section, key));
            }
        }
        if place_told {
            let place = self.place_of_first_key(entry).unwrap_or_else(|| entries.clone());
            read.insert("place".into(), place.to_string().into());
        }
        draft.add_entry(section.name, read);
    }

    fn place_of_first_key(&self, entries: &dyn TableLike) -> Option<Place> {
        let (key, _) = entries.iter().next()?;
        Some(self.place_of_key(entries, key))
    }

    fn place_of_key(&self, entries: &dyn TableLike, key: &str) -> Place {
        let span = entries.get_key_value(key).and_then(|(key, item)| key.span().or_else(|| item.span()));
        Place::File { file: self.path.clone(), line: self.position(span.map_or(0, |span| span.start)).0 }
    }

    fn malformed(&self, offset: usize, message: &str) -> Problem {
        let (line, column) = self.position(offset);
        let message = message.trim().replace('\n', ", ");
        Problem::Malformed { file: self.path.clone(), line, column, message }
    }

    /// The line and the character on it, both from 1.
    fn position(&self, offset: usize) -> (usize, usize) {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }
}

fn value_of(item: &Item) -> Option<Value> {
    match item.as_value()? {
        Toml::Integer(number) => Some(Value::Integer(*number.value())),
        Toml::Boolean(switch) => Some(Value::Boolean(*switch.value())),
        Toml::String(text) => Some(Value::Text(text.value().clone())),
        Toml::Array(items) => {
            items.iter().map(|item| item.as_str().map(String::from)).collect::<Option<_>>().map(Value::List)
        }
        _ => None,
    }
}

fn shape_of(item: &Item) -> String {
    match item {
        Item::Value(Toml::Array(_)) => "a list with something other than texts".into(),
        other => format!("of the type {}", other.type_name()),
    }
}

fn wrong_shape(place: Place, name: &str, item: &Item, allowed: String) -> Problem {
    Problem::WrongValue { place, name: name.into(), found: shape_of(item), allowed, advice: None }
}

fn unknown_section(place: Place, name: &str, item: &Item) -> Problem {
    let sections = || {
        let repeated = table::REPEATED.iter().map(|repeated| repeated.section.name);
        table::SECTIONS.iter().map(|section| section.name).chain(repeated)
    };
    // An option that stands before the first section is a common slip.
    let option = if item.is_value() { nearest::option("", name) } else { None };
    let (what, nearest) = match option {
        Some(setting) => ("option", Some(setting.name.to_owned())),
        None => ("section", nearest::word(name, sections()).map(String::from)),
    };
    Problem::Unknown {
        place,
        what,
        name: name.escape_debug().to_string(),
        nearest,
        known: sections().map(String::from).collect(),
    }
}

fn unknown_option(place: Place, section: &Section, key: &str) -> Problem {
    let of_section = section.settings.iter().map(Setting::key);
    let nearest = match section.name {
        name if table::repeated(name).is_some() => {
            nearest::word(key, of_section).map(|key| format!("{}.{key}", section.name))
        }
        name => nearest::option(name, key).map(|setting| setting.name.into()),
    };
    let known = section.settings.iter().map(|setting| setting.name.into()).collect();
    let name = format!("{}.{}", section.name, key.escape_debug());
    Problem::Unknown { place, what: "option", name, nearest, known }
}
