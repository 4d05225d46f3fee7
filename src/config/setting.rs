//! The description of one option: everything that is known of it, in one place.
//!
//! The default is part of the kind, so that an option cannot have a default of another type than its own.

use std::ops::RangeInclusive;

use super::rule::{self, Rule};
use super::value::Value;

/// What every variable of ours starts with.
///
/// The second underscore matters: Kubernetes gives the pods beside a service `kubemq-mcp` variables of its own,
/// such as `KUBEMQ_MCP_SERVICE_HOST`, and none of them is an option.
pub const VARIABLE_PREFIX: &str = "KUBEMQ_MCP__";

/// The description of one option.
pub struct Setting {
    /// Its section and its key, `section.key`.
    pub name: &'static str,
    /// Its type, its default and what it may be.
    pub kind: Kind,
    /// What it means, in sentences. Other options are named in full, in backticks.
    pub about: &'static str,
    /// Whether its value may be shown.
    pub secrecy: Secrecy,
}

/// The type of an option, its default and what it may be.
pub enum Kind {
    /// A whole number and its bounds.
    Integer(i64, RangeInclusive<i64>),
    /// `true` or `false`.
    Boolean(bool),
    /// A text and the rule it obeys.
    Text(&'static str, Rule),
    /// Texts, the rule that each of them obeys, and the fewest that there may be.
    List(&'static [&'static str], Rule, usize),
}

/// Whether the value of an option may be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrecy {
    /// It may.
    Public,
    /// It never appears in an error or a log.
    Secret,
}

impl Setting {
    /// Describes a whole number.
    pub const fn integer(
        name: &'static str,
        default: i64,
        range: RangeInclusive<i64>,
        about: &'static str,
    ) -> Self {
        Self::new(name, Kind::Integer(default, range), about)
    }

    /// Describes a switch.
    pub const fn boolean(name: &'static str, default: bool, about: &'static str) -> Self {
        Self::new(name, Kind::Boolean(default), about)
    }

    /// Describes a text.
    pub const fn text(name: &'static str, default: &'static str, rule: Rule, about: &'static str) -> Self {
        Self::new(name, Kind::Text(default, rule), about)
    }

    /// Describes the path of a file that need not be given.
    pub const fn file(name: &'static str, about: &'static str) -> Self {
        Self::text(name, "", rule::PATH, about)
    }

    /// Describes a list of texts.
    pub const fn list(
        name: &'static str,
        default: &'static [&'static str],
        rule: Rule,
        items_min: usize,
        about: &'static str,
    ) -> Self {
        Self::new(name, Kind::List(default, rule, items_min), about)
    }

    /// Hides the value.
    pub const fn secret(mut self) -> Self {
        self.secrecy = Secrecy::Secret;
        self
    }

    const fn new(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self { name, kind, about, secrecy: Secrecy::Public }
    }

    /// The table of `config.toml` that it stands in.
    pub fn section(&self) -> &'static str {
        self.parts().0
    }

    /// Its name in that table.
    pub fn key(&self) -> &'static str {
        self.parts().1
    }

    fn parts(&self) -> (&'static str, &'static str) {
        self.name.split_once('.').expect("every name in the table is `section.key`, which a test reads")
    }

    /// The environment variable that sets it.
    pub fn variable(&self) -> String {
        format!("{VARIABLE_PREFIX}{}__{}", self.section(), self.key()).to_ascii_uppercase()
    }

    /// The value when nobody sets one.
    pub fn default(&self) -> Value {
        match &self.kind {
            Kind::Integer(default, _) => Value::Integer(*default),
            Kind::Boolean(default) => Value::Boolean(*default),
            Kind::Text(default, _) => Value::Text((*default).into()),
            Kind::List(default, ..) => Value::List(default.iter().map(|&text| text.into()).collect()),
        }
    }

    /// What a number of it counts. The name says it, so that the two cannot disagree.
    pub fn unit(&self) -> Option<&'static str> {
        ["seconds", "bytes"].into_iter().find(|unit| self.key().split('_').any(|word| word == *unit))
    }

    /// What it may be, as a clause.
    pub fn allowed(&self) -> String {
        match &self.kind {
            Kind::Integer(_, range) => format!("{} to {}", range.start(), range.end()),
            Kind::Boolean(_) => "`true` or `false`".into(),
            Kind::Text(_, rule) => rule.allowed.into(),
            Kind::List(_, rule, 0) => format!("a list, each {}", rule.allowed),
            Kind::List(_, rule, items_min) => {
                format!("a list of at least {items_min}, each {}", rule.allowed)
            }
        }
    }
}
