//! Values that are right alone and wrong together.
//!
//! A rule looks only at values that are right: a wrong one is reported already, and what it was meant to be is not
//! known.

mod auth;

use super::draft::Draft;
use super::error::Problem;
use super::value::Value;

/// Pairs of options of which the first may be at most the second.
const AT_MOST: [(&str, &str); 5] = [
    ("channel.requests_pending_per_channel_max", "channel.requests_pending_max"),
    ("http.body_bytes_max", "http.bodies_bytes_max"),
    ("broker.keepalive_timeout_seconds", "broker.keepalive_seconds"),
    ("broker.ping_timeout_seconds", "broker.ping_seconds"),
    ("store.record_keep_seconds", "store.in_doubt_keep_seconds"),
];

/// Certificates, each with its key.
const KEY_PAIRS: [[&str; 2]; 2] = [
    ["server.tls_certificate_file", "server.tls_key_file"],
    ["broker.tls_certificate_file", "broker.tls_key_file"],
];

/// What a request has beside the body of its call, in bytes.
const WRAPPING_BYTES: i64 = 4096;

/// Options that mean nothing on a connection that is not encrypted.
const TLS_ONLY: [&str; 4] =
    ["broker.tls_ca_file", "broker.tls_certificate_file", "broker.tls_key_file", "broker.tls_server_name"];

/// Finds every conflict between the values of a draft.
pub fn find(draft: &Draft) -> Vec<Problem> {
    let mut problems: Vec<Problem> =
        AT_MOST.iter().filter_map(|(smaller, larger)| at_most(draft, smaller, larger)).collect();
    problems.extend(no_room_for_a_call(draft));
    problems.extend(embedded_holds_fewer(draft));
    problems.extend(KEY_PAIRS.iter().filter_map(|names| certificate_without_key(draft, names)));
    problems.extend(two_tokens(draft));
    problems.extend(auth::find(draft));
    problems.extend(TLS_ONLY.iter().filter_map(|name| tls_is_off(draft, name)));
    problems.extend(tls_with_embedded(draft));
    problems.extend(same_address(draft));
    problems
}

fn at_most(draft: &Draft, smaller: &str, larger: &str) -> Option<Problem> {
    let [value, limit] = integers(draft, [smaller, larger])?;
    if value <= limit {
        return None;
    }
    conflict(
        draft,
        &[smaller, larger],
        format!(
            "`{smaller}` is {value}, which is more than `{larger}`, {limit}; lower the one or raise the other"
        ),
    )
}

/// A call travels as JSON text inside JSON, where a quote or the end of a line takes two bytes.
fn no_room_for_a_call(draft: &Draft) -> Option<Problem> {
    let names = ["tool.body_bytes_max", "http.body_bytes_max"];
    let [body, limit] = integers(draft, names)?;
    let needed = body + body / 2 + WRAPPING_BYTES;
    if needed <= limit {
        return None;
    }
    let reason = format!(
        "`{}` is {body}, for which `{}` must be at least {needed}, half as much again and {WRAPPING_BYTES}, and is \
         {limit}; lower the one or raise the other",
        names[0], names[1]
    );
    conflict(draft, &names, reason)
}

/// The embedded broker answers what is too much for it with `Error 301`, which reads as a timeout.
fn embedded_holds_fewer(draft: &Draft) -> Option<Problem> {
    if !is_embedded(draft)? {
        return None;
    }
    at_most(draft, "channel.requests_pending_max", "embedded.requests_pending_max")
}

fn certificate_without_key(draft: &Draft, names: &[&'static str; 2]) -> Option<Problem> {
    let [certificate, key] = names.map(|name| is_set(draft, name));
    if certificate? == key? {
        return None;
    }
    conflict(draft, names, format!("`{}` and `{}` go together; set both or none", names[0], names[1]))
}

fn two_tokens(draft: &Draft) -> Option<Problem> {
    let names = ["broker.auth_token", "broker.auth_token_file"];
    let [token, file] = names.map(|name| is_set(draft, name));
    if !(token? && file?) {
        return None;
    }
    conflict(draft, &names, format!("`{}` and `{}` are both set; keep one", names[0], names[1]))
}

/// Silence would be worse than an error here: whoever names a certificate believes that the line is encrypted.
fn tls_is_off(draft: &Draft, name: &str) -> Option<Problem> {
    if is_on(draft, "broker.tls")? || !is_set(draft, name)? {
        return None;
    }
    conflict(draft, &[name], format!("`{name}` is set, but `broker.tls` is false; set it to true"))
}

fn tls_with_embedded(draft: &Draft) -> Option<Problem> {
    if !(is_embedded(draft)? && is_on(draft, "broker.tls")?) {
        return None;
    }
    let reason = "`broker.tls` is true, but the embedded broker speaks plain text; set `broker.address`";
    conflict(draft, &["broker.tls"], reason.into())
}

fn same_address(draft: &Draft) -> Option<Problem> {
    let names = ["admin.listen", "server.listen"];
    let (admin, server) = (draft.value(names[0])?, draft.value(names[1])?);
    // Port 0 asks the system for a free port, a new one each time.
    let any_port = matches!(&admin, Value::Text(text) if text.ends_with(":0"));
    if admin != server || any_port {
        return None;
    }
    conflict(draft, &names, format!("`{}` is the address of `{}`; leave it empty", names[0], names[1]))
}

fn integers(draft: &Draft, names: [&str; 2]) -> Option<[i64; 2]> {
    let (Value::Integer(first), Value::Integer(second)) = (draft.value(names[0])?, draft.value(names[1])?)
    else {
        unreachable!("both options are whole numbers")
    };
    Some([first, second])
}

fn is_embedded(draft: &Draft) -> Option<bool> {
    draft.value("broker.address").map(|value| value == Value::Text("embedded".into()))
}

fn is_set(draft: &Draft, name: &str) -> Option<bool> {
    draft.value(name).map(|value| value != Value::Text(String::new()) && value != Value::List(Vec::new()))
}

fn is_on(draft: &Draft, name: &str) -> Option<bool> {
    draft.value(name).map(|value| value == Value::Boolean(true))
}

fn conflict(draft: &Draft, names: &[&str], reason: String) -> Option<Problem> {
    let place = names.iter().find_map(|name| draft.place(name)).cloned();
    let place =
        place.expect("the defaults have no conflict, which a test checks, so one of the values was set");
    Some(Problem::Conflict { place, reason })
}
