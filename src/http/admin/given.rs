//! What a request gives by name, in its query or its body, read one by one. Pure.
//!
//! A name that is not known, or that comes twice, is an error: what it was meant to say might be the point.

use std::fmt;

use axum::http::StatusCode;
use percent_encoding::percent_decode_str;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use crate::http::fault::{Fault, INVALID_PARAMS, PARSE_ERROR};

/// Longest piece of a request that is repeated in an answer, in characters.
const ECHO_CHARACTERS_MAX: usize = 80;

/// Least likeness, from 0 to 1, of a name that is offered for one that is not known: `principle` is one, `x` is none.
const LIKENESS_MIN: f64 = 0.65;

/// Names and values that no one has read yet.
#[derive(Debug)]
pub struct Given {
    fields: Vec<(String, Value)>,
    /// What one of them is called.
    noun: &'static str,
}

/// A refusal that names what is wrong.
pub fn wrong(message: impl Into<String>) -> Fault {
    Fault::new(StatusCode::BAD_REQUEST, INVALID_PARAMS, message)
}

impl Given {
    /// Reads the query of an address. A parameter without a value is one that was not given.
    ///
    /// # Errors
    /// When a parameter is not one of `known`, comes twice, or is not UTF-8.
    pub fn in_query(text: &str, known: &[&str]) -> Result<Self, Fault> {
        let mut fields = Vec::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decoded = |text: &str| {
                // A plus is how forms write a space.
                let text = text.replace('+', " ");
                percent_decode_str(&text).decode_utf8().map(String::from)
            };
            let (Ok(name), Ok(value)) = (decoded(name), decoded(value)) else {
                return Err(wrong("the query is not UTF-8"));
            };
            let value = if value.is_empty() { Value::Null } else { Value::String(value) };
            fields.push((name, value));
        }
        Self { fields, noun: "parameter" }.checked(known)
    }

    /// Reads a body.
    ///
    /// # Errors
    /// When it is not one JSON object, or when a member is not one of `known` or comes twice.
    pub fn in_body(bytes: &[u8], known: &[&str]) -> Result<Self, Fault> {
        let Members(fields) = serde_json::from_slice(bytes).map_err(|error| match error.is_data() {
            true => wrong("the body must be one JSON object"),
            false => {
                let message = format!("the body is not JSON: {error}");
                Fault::new(StatusCode::BAD_REQUEST, PARSE_ERROR, message)
            }
        })?;
        Self { fields, noun: "member" }.checked(known)
    }

    fn checked(self, known: &[&str]) -> Result<Self, Fault> {
        for (index, (name, _)) in self.fields.iter().enumerate() {
            if !known.contains(&name.as_str()) {
                let (noun, shown) = (self.noun, clipped(name));
                return Err(wrong(format!("unknown {noun} `{shown}`, {}", meant(name, known))));
            }
            if self.fields[..index].iter().any(|(earlier, _)| earlier == name) {
                return Err(wrong(format!("the {} `{name}` comes twice", self.noun)));
            }
        }
        Ok(self)
    }

    /// Takes a value; `None` when it is absent or `null`.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        let index = self.fields.iter().position(|(given, _)| given == name)?;
        Some(self.fields.swap_remove(index).1).filter(|value| !value.is_null())
    }

    /// Takes a text; `None` when it is absent or `null`.
    ///
    /// # Errors
    /// When it is something else.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, Fault> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(wrong(format!("`{name}` must be a string"))),
        }
    }

    /// Takes a text that must be there.
    ///
    /// # Errors
    /// When it is not, or is something else.
    pub fn required(&mut self, name: &str) -> Result<String, Fault> {
        self.text(name)?.ok_or_else(|| wrong(format!("the {} `{name}` is missing", self.noun)))
    }

    /// Takes a text of one line that must be there and say something.
    ///
    /// # Errors
    /// When it is not, or does not.
    pub fn line(&mut self, name: &str, characters_max: usize) -> Result<String, Fault> {
        let text = self.required(name)?;
        let characters = text.chars().count();
        if text.trim().is_empty() {
            return Err(wrong(format!("`{name}` must not be empty")));
        }
        if characters > characters_max {
            return Err(wrong(format!(
                "`{name}` must be at most {characters_max} characters long, got {characters}"
            )));
        }
        if text.chars().any(char::is_control) {
            return Err(wrong(format!("`{name}` must be on one line, without control characters")));
        }
        Ok(text)
    }

    /// Takes a switch; `false` when it is absent.
    ///
    /// # Errors
    /// When it is something else.
    pub fn switch(&mut self, name: &str) -> Result<bool, Fault> {
        match self.take(name) {
            None => Ok(false),
            Some(Value::Bool(value)) => Ok(value),
            Some(_) => Err(wrong(format!("`{name}` must be true or false"))),
        }
    }
}

/// The word that was probably meant, or all that are right.
pub fn meant(text: &str, words: &[&str]) -> String {
    // As much of it as can be like anything, so that a long one costs nothing.
    let text: String = text.chars().take(ECHO_CHARACTERS_MAX).collect::<String>().to_lowercase();
    // The one takes `may_run` for `may_run_again`, the other `kye` for `key`.
    let likeness = |word: &str| {
        strsim::jaro_winkler(&text, word).max(strsim::normalized_damerau_levenshtein(&text, word))
    };
    let scored = words.iter().map(|word| (likeness(word), word));
    match scored.max_by(|left, right| left.0.total_cmp(&right.0)) {
        Some((likeness, word)) if likeness >= LIKENESS_MIN => format!("the nearest is `{word}`"),
        _ => {
            let listed: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            format!("right is {}", listed.join(", "))
        }
    }
}

/// A text without control characters, and not too much of it.
pub fn clipped(text: &str) -> String {
    let clean = |character: char| if character.is_control() { ' ' } else { character };
    let mut shown: String = text.chars().take(ECHO_CHARACTERS_MAX).map(clean).collect();
    if text.chars().nth(ECHO_CHARACTERS_MAX).is_some() {
        shown.push('…');
    }
    shown
}

/// The members of an object, those that come twice as well.
struct Members(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Members;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("one object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message<T: fmt::Debug>(result: Result<T, Fault>) -> String {
        result.unwrap_err().message
    }

    #[test]
    fn a_query_is_read_as_browsers_and_clients_write_it() {
        let mut given = Given::in_query("a=x%20y+z%2B&b=&&c=%C3%A4", &["a", "b", "c"]).unwrap();
        assert_eq!(given.text("a").unwrap().as_deref(), Some("x y z+"));
        assert_eq!(given.text("b").unwrap(), None);
        assert_eq!(given.required("c").unwrap(), "ä");
        assert_eq!(message(given.required("b")), "the parameter `b` is missing");
        assert_eq!(message(Given::in_query("a=%ff", &["a"])), "the query is not UTF-8");
    }

    #[test]
    fn what_is_not_known_or_comes_twice_is_an_error_that_says_what_was_meant() {
        let known = ["principal", "key", "why"];
        let body = |text: &str| message(Given::in_body(text.as_bytes(), &known));
        assert_eq!(body(r#"{"principle":"a"}"#), "unknown member `principle`, the nearest is `principal`");
        assert_eq!(body(r#"{"x":1}"#), "unknown member `x`, right is `principal`, `key`, `why`");
        assert_eq!(body(r#"{"key":"a","key":"b"}"#), "the member `key` comes twice");
        assert_eq!(
            message(Given::in_query("kye=1", &known)),
            "unknown parameter `kye`, the nearest is `key`"
        );
        for wrong in ["[]", "7", "\"x\"", "null"] {
            assert_eq!(body(wrong), "the body must be one JSON object", "{wrong}");
        }
        for wrong in ["", "{", "{}{}", "{'a':1}"] {
            assert!(body(wrong).starts_with("the body is not JSON"), "{wrong}");
        }
        assert_eq!(body(&format!("{{\"{}\":1}}", "x".repeat(500))).matches('x').count(), 80);
    }

    #[test]
    fn each_type_names_its_rule() {
        let body = br#"{"a":7,"b":" ","c":"xx","d":"a\nb","e":"no","f":null}"#;
        let mut given = Given::in_body(body, &["a", "b", "c", "d", "e", "f"]).unwrap();
        assert_eq!(message(given.text("a")), "`a` must be a string");
        assert_eq!(message(given.line("b", 9)), "`b` must not be empty");
        assert_eq!(message(given.line("c", 1)), "`c` must be at most 1 characters long, got 2");
        assert!(message(given.line("d", 9)).contains("must be on one line"));
        assert_eq!(message(given.switch("e")), "`e` must be true or false");
        assert_eq!((given.switch("f").unwrap(), given.text("f").unwrap()), (false, None));
    }

    proptest! {
        #[test]
        fn any_request_is_read_without_a_panic(query in ".{0,80}", body in any::<Vec<u8>>()) {
            let _ = Given::in_query(&query, &["key", "principal"]);
            let _ = Given::in_body(&body, &["key", "principal"]);
        }
    }
}
