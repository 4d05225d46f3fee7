//! The argument of `command_status`.

use serde_json::{Map, Value};

use super::argument::{self, IDEMPOTENCY_KEY};
use crate::domain::{Cause, Ending, Key};

/// Reads the arguments of a call.
///
/// # Errors
/// Names every argument that is wrong.
pub fn parse(arguments: Option<Map<String, Value>>) -> Result<Key, Ending> {
    let mut arguments = arguments.unwrap_or_default();
    let key = argument::key(&mut arguments).and_then(|key| {
        key.ok_or_else(|| format!("`{IDEMPOTENCY_KEY}` is required: the key of the command, as a string"))
    });
    let unknown = arguments.keys().take(8).map(|name| argument::unknown(name, &[IDEMPOTENCY_KEY]));
    let problems: Vec<String> = key.as_ref().err().cloned().into_iter().chain(unknown).collect();
    match key {
        Ok(key) if problems.is_empty() => Ok(key),
        _ => Err(Ending::new(Cause::InvalidArguments, problems.join("; "))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn it_takes_a_key_and_names_everything_else() {
        let read = |arguments: Value| parse(arguments.as_object().cloned());
        assert_eq!(read(json!({"idempotency_key": "k"})), Ok(Key::parse("k").unwrap()));
        let detail = |arguments: Value| read(arguments).unwrap_err().detail;
        assert!(detail(json!({})).contains("`idempotency_key` is required"));
        assert!(detail(json!({"idempotency_key": ""})).contains("must not be empty"));
        let text = detail(json!({"key": "k"}));
        assert!(
            text.contains("is required") && text.contains("unknown argument `key`, the arguments are"),
            "{text}"
        );
    }
}
