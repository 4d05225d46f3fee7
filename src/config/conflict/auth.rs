//! What is said of credentials and does not go together.
//!
//! Silence would be worse than an error here: whoever names an issuer believes that callers are checked.

use super::{conflict, is_on, is_set};
use crate::config::draft::Draft;
use crate::config::error::Problem;
use crate::config::value::Value;

/// Options that mean nothing but in one mode.
const ONLY_WITH: [(&str, &str); 7] = [
    ("auth.tokens_file", "tokens"),
    ("auth.jwks_file", "jwt"),
    ("auth.jwks_url", "jwt"),
    ("auth.issuer", "jwt"),
    ("auth.audience", "jwt"),
    ("auth.resource", "jwt"),
    ("auth.authorization_servers", "jwt"),
];

/// Finds every conflict.
pub fn find(draft: &Draft) -> Vec<Problem> {
    let mut problems: Vec<Problem> =
        ONLY_WITH.iter().filter_map(|(name, wanted)| other_mode(draft, name, wanted)).collect();
    problems.extend(scopes_of_nobody(draft));
    let mode = mode(draft);
    if mode.as_deref() == Some("tokens") {
        problems.extend(missing(draft, "auth.tokens_file", "nobody could call; name the file"));
    }
    if mode.as_deref() == Some("jwt") {
        problems.extend(one_key_set(draft));
        let advice = "a token of any issuer with these keys would do; write who issues them";
        problems.extend(missing(draft, "auth.issuer", advice));
        problems.extend(for_nobody(draft));
        problems.extend(servers_of_nothing(draft));
    }
    problems
}

fn mode(draft: &Draft) -> Option<String> {
    match draft.value("auth.mode")? {
        Value::Text(mode) => Some(mode),
        _ => unreachable!("the mode is a text"),
    }
}

fn other_mode(draft: &Draft, name: &str, wanted: &str) -> Option<Problem> {
    let mode = mode(draft)?;
    if mode == wanted || !is_set(draft, name)? {
        return None;
    }
    let reason =
        format!("`{name}` is set, but `auth.mode` is `{mode}`; set it to `{wanted}`, or leave the other out");
    conflict(draft, &[name, "auth.mode"], reason)
}

fn missing(draft: &Draft, name: &str, why: &str) -> Option<Problem> {
    if is_set(draft, name)? {
        return None;
    }
    let mode = mode(draft)?;
    conflict(draft, &["auth.mode"], format!("`auth.mode` is `{mode}`, but `{name}` is empty, so {why}"))
}

fn one_key_set(draft: &Draft) -> Option<Problem> {
    let names = ["auth.jwks_file", "auth.jwks_url"];
    let reason = match names.map(|name| is_set(draft, name)) {
        [Some(false), Some(false)] => {
            "`auth.mode` is `jwt`, but `auth.jwks_file` and `auth.jwks_url` are empty, so nobody could call; set one of them"
        }
        [Some(true), Some(true)] => "`auth.jwks_file` and `auth.jwks_url` are both set; keep one",
        _ => return None,
    };
    conflict(draft, &["auth.jwks_url", "auth.jwks_file", "auth.mode"], reason.into())
}

fn for_nobody(draft: &Draft) -> Option<Problem> {
    let names = ["auth.audience", "auth.resource"];
    let [audience, resource] = names.map(|name| is_set(draft, name));
    if audience? || resource? {
        return None;
    }
    let reason = "`auth.mode` is `jwt`, but `auth.audience` and `auth.resource` are empty, so a token for any other service \
                  would do; write whom the tokens are for";
    conflict(draft, &["auth.mode"], reason.into())
}

fn servers_of_nothing(draft: &Draft) -> Option<Problem> {
    let names = ["auth.authorization_servers", "auth.resource"];
    if !is_set(draft, names[0])? || is_set(draft, names[1])? {
        return None;
    }
    let reason =
        "`auth.authorization_servers` is told beside `auth.resource`, which is empty; set it as well";
    conflict(draft, &names, reason.into())
}

fn scopes_of_nobody(draft: &Draft) -> Option<Problem> {
    let names = ["auth.scopes_required", "auth.token_required", "auth.mode"];
    let required = is_on(draft, names[1])? && mode(draft)? != "none";
    if required || !is_set(draft, names[0])? {
        return None;
    }
    let reason = "`auth.scopes_required` is set, but whoever shows no token may call without any; set \
                  `auth.token_required` to true and `auth.mode` to `tokens` or `jwt`";
    conflict(draft, &names, reason.into())
}
