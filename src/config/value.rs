//! The value of an option: read from text by the option's type, and judged by its rule.

use std::fmt;

use super::setting::{Kind, Secrecy, Setting};

/// A value that fits one of the types an option may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A whole number.
    Integer(i64),
    /// `true` or `false`.
    Boolean(bool),
    /// A text.
    Text(String),
    /// Texts.
    List(Vec<String>),
}

/// Most characters of a wrong value that an error shows.
const FOUND_CHARACTERS_MAX: usize = 120;

/// Why a value is not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What was found, ready to be shown: never the value of a secret.
    pub found: String,
    /// What to write instead, when that is known.
    pub advice: Option<String>,
}

impl Value {
    /// Reads a text by the type of an option, as the environment and the command line give it.
    ///
    /// An empty text is a text; it is no number, no switch and no list.
    ///
    /// # Errors
    /// When the text is not of that type.
    pub fn read(setting: &Setting, text: &str) -> Result<Self, Refusal> {
        let value = match setting.kind {
            Kind::Integer(..) => text.parse().ok().map(Self::Integer),
            Kind::Boolean(_) => text.parse().ok().map(Self::Boolean),
            Kind::Text(..) => Some(Self::Text(text.into())),
            Kind::List(..) if text.is_empty() => None,
            Kind::List(..) => Some(Self::List(text.split(',').map(|item| item.trim().into()).collect())),
        };
        value.ok_or_else(|| Refusal::of(setting, show(text), None))
    }

    /// Judges a value by the type and the rule of its option.
    ///
    /// # Errors
    /// When it is of another type, out of range, or breaks the rule.
    pub fn check(&self, setting: &Setting) -> Result<(), Refusal> {
        match (self, &setting.kind) {
            (Self::Integer(number), Kind::Integer(_, range)) if range.contains(number) => Ok(()),
            (Self::Boolean(_), Kind::Boolean(_)) => Ok(()),
            (Self::Text(text), Kind::Text(_, rule)) => {
                (rule.check)(text).map_err(|advice| Refusal::of(setting, show(text), Some(advice)))
            }
            (Self::List(items), Kind::List(_, rule, items_min)) if items.len() >= *items_min => {
                items.iter().try_for_each(|item| {
                    (rule.check)(item).map_err(|advice| Refusal::of(setting, show(item), Some(advice)))
                })
            }
            _ => Err(Refusal::of(setting, self.to_string(), None)),
        }
    }

    /// The value as JSON, from which the layers' own structs are read.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Integer(number) => (*number).into(),
            Self::Boolean(switch) => (*switch).into(),
            Self::Text(text) => text.as_str().into(),
            Self::List(items) => items.as_slice().into(),
        }
    }
}

impl Refusal {
    /// Refuses a value, and hides it when the option is a secret.
    pub fn of(setting: &Setting, found: String, advice: Option<String>) -> Self {
        match setting.secrecy {
            Secrecy::Public => Self { found: shortened(found), advice },
            Secrecy::Secret => Self { found: "a hidden value".into(), advice },
        }
    }
}

/// The value in the notation of TOML.
impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(number) => write!(formatter, "{number}"),
            Self::Boolean(switch) => write!(formatter, "{switch}"),
            Self::Text(text) => formatter.write_str(&show(text)),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(|item| show(item)).collect();
                write!(formatter, "[{}]", items.join(", "))
            }
        }
    }
}

/// A text in quotes, on one line. The notation of JSON is one that TOML reads, too.
fn show(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn shortened(found: String) -> String {
    match found.char_indices().nth(FOUND_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &found[..end]),
        None => found,
    }
}
