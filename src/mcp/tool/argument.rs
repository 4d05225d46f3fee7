//! What may be wrong with an argument, and how it is said: the argument, the rule, what came, what would be right.

use serde_json::{Map, Value};

use crate::domain::Key;

/// Longest piece of an agent's value that is repeated in a text, in characters.
const ECHO_CHARACTERS_MAX: usize = 80;

/// The argument that names an effect.
pub const IDEMPOTENCY_KEY: &str = "idempotency_key";

/// Takes the idempotency key out of the arguments; `None` when there is none.
pub fn key(arguments: &mut Map<String, Value>) -> Result<Option<Key>, String> {
    match take(arguments, IDEMPOTENCY_KEY) {
        None => Ok(None),
        Some(Value::String(text)) => {
            exact(IDEMPOTENCY_KEY, &text)?;
            Key::parse(&text).map(Some).map_err(|error| format!("`{IDEMPOTENCY_KEY}` {error}"))
        }
        Some(other) => Err(format!("`{IDEMPOTENCY_KEY}` must be a string, got {}", shown(&other))),
    }
}

/// The argument's value, or `None` when it is absent. `null` counts as absent: many agents fill every optional argument.
pub fn take(arguments: &mut Map<String, Value>, name: &str) -> Option<Value> {
    arguments.remove(name).filter(|value| !value.is_null())
}

/// Reads a text and stays with it: a number is never made a text, nor a text a number.
pub fn text(name: &str, value: Value, bytes_max: usize) -> Result<String, String> {
    match value {
        Value::String(text) if text.len() <= bytes_max => Ok(text),
        Value::String(text) => {
            Err(format!("`{name}` must be at most {bytes_max} bytes long, got {}", text.len()))
        }
        other => Err(format!("`{name}` must be a string, got {}", shown(&other))),
    }
}

/// Sees that a text of a command has no control character, which no reader of a log or a tag would see.
pub fn visible(name: &str, text: &str) -> Result<(), String> {
    match text.chars().find(|character| character.is_control()) {
        None => Ok(()),
        Some(character) => Err(format!(
            "`{name}` of a command must not have control characters, got {}",
            character.escape_default()
        )),
    }
}

/// Sees that a name is written exactly: what begins or ends with a blank is another name to everybody else.
pub fn exact(name: &str, text: &str) -> Result<(), String> {
    visible(name, text)?;
    if text.trim() == text {
        return Ok(());
    }
    let right = clipped(text.trim());
    Err(format!("`{name}` must not begin or end with a blank; `{right}` would be right"))
}

/// Reads an integer of at least 1. `"10"` and `10.0` are 10, since that is what was declared and meant.
pub fn positive_integer(name: &str, value: &Value) -> Result<u64, String> {
    let problem = || format!("`{name}` must be an integer of at least 1, got {}", shown(value));
    let number = match value {
        Value::Number(number) => whole(number),
        // Digits only: `"1e3"`, `" 5"` and `"+5"` are no way to write an integer here.
        Value::String(text) if text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() => {
            Some(text.parse().unwrap_or(u64::MAX))
        }
        _ => None,
    };
    number.filter(|number| *number >= 1).ok_or_else(problem)
}

fn whole(number: &serde_json::Number) -> Option<u64> {
    if let Some(number) = number.as_u64() {
        return Some(number);
    }
    let number = number.as_f64()?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates, which is meant"
    )]
    (number.fract() == 0.0 && number >= 0.0).then_some(number as u64)
}

/// Names an argument that no tool of this kind has, with the nearest one that it has.
pub fn unknown(name: &str, valid: &[&str]) -> String {
    let shown_name = clipped(name);
    match nearest(name, valid) {
        Some(near) => format!("unknown argument `{shown_name}`, did you mean `{near}`?"),
        None => format!("unknown argument `{shown_name}`, the arguments are {}", listed(valid)),
    }
}

fn nearest<'a>(name: &str, valid: &[&'a str]) -> Option<&'a str> {
    // Jaro-Winkler of 0.75 takes `chanel`, `timeout` and `meta` home and leaves `foo` alone.
    const NEAR: f64 = 0.75;
    let name: String = name.chars().take(ECHO_CHARACTERS_MAX).collect::<String>().to_lowercase();
    let scored = valid.iter().map(|candidate| (strsim::jaro_winkler(&name, candidate), *candidate));
    let best = scored.max_by(|left, right| left.0.total_cmp(&right.0))?;
    (best.0 >= NEAR).then_some(best.1)
}

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// A value as JSON, clipped: enough to recognise it, too little to flood an answer.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".into(),
        Value::Array(_) => "an array".into(),
        Value::String(text) => format!("the string \"{}\"", clipped(text)),
        other => other.to_string(),
    }
}

/// A text without control characters, clipped.
pub fn clipped(text: &str) -> String {
    let mut shown: String =
        text.chars().take(ECHO_CHARACTERS_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(ECHO_CHARACTERS_MAX).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn integers_are_coerced_only_towards_the_integer_they_are() {
        let read = |value: Value| positive_integer("timeout_seconds", &value);
        for (value, expected) in [
            (json!(5), 5),
            (json!("5"), 5),
            (json!(5.0), 5),
            (json!("00713"), 713),
            (json!(1e3), 1000),
            (json!(1e300), u64::MAX),
            (json!("99999999999999999999999"), u64::MAX),
        ] {
            assert_eq!(read(value.clone()), Ok(expected), "{value}");
        }
        for value in [
            json!(0),
            json!(-1),
            json!("x"),
            json!(1.5),
            json!(""),
            json!("1.0"),
            json!(" 5"),
            json!("+5"),
            json!("-5"),
            json!(true),
            json!([5]),
            json!({}),
            json!(-0.0),
        ] {
            let error = read(value.clone()).expect_err("not a timeout");
            assert!(error.contains("`timeout_seconds` must be an integer of at least 1"), "{error}");
        }
    }

    #[test]
    fn a_misspelt_argument_gets_the_nearest_valid_name() {
        let valid = ["channel", "body", "metadata", "tags", "timeout_seconds"];
        for (wrong, right) in
            [("chanel", "channel"), ("timeout", "timeout_seconds"), ("Tag", "tags"), ("meta", "metadata")]
        {
            assert_eq!(
                unknown(wrong, &valid),
                format!("unknown argument `{wrong}`, did you mean `{right}`?")
            );
        }
        assert!(unknown("zzz", &valid).contains("the arguments are `channel`, `body`"));
    }

    proptest! {
        #[test]
        fn a_text_stays_the_text_it_was(input in ".*") {
            prop_assert_eq!(text("body", Value::String(input.clone()), usize::MAX), Ok(input));
        }

        #[test]
        fn what_is_repeated_is_short_and_without_control_characters(input in any::<String>()) {
            let shown = clipped(&input);
            prop_assert!(shown.chars().count() <= ECHO_CHARACTERS_MAX + 1);
            prop_assert!(!shown.chars().any(char::is_control));
        }

        #[test]
        fn every_whole_number_in_range_is_read(number in 1u64..) {
            prop_assert_eq!(positive_integer("n", &json!(number)), Ok(number));
            prop_assert_eq!(positive_integer("n", &json!(number.to_string())), Ok(number));
        }
    }
}
