//! Keys for people, in plain lines that line up.
//!
//! A key is an agent's text and an error a responder's: whatever could steer a terminal is shown and not obeyed.

use serde_json::Value;

/// What is shown of one key: the member, and what people call it.
const LINES: [(&str, &str); 16] = [
    ("key", "key"),
    ("key_digest", "key in the log"),
    ("principal", "principal"),
    ("state", "state"),
    ("channel", "channel"),
    ("request_id", "request id"),
    ("attempts", "attempts"),
    ("first_sent_at", "first sent at"),
    ("in_doubt_since", "in doubt since"),
    ("in_doubt_why", "in doubt why"),
    ("ended_at", "ended at"),
    ("expires_at", "expires at"),
    ("responder", "responder"),
    ("error", "error"),
    ("resolved_by", "resolved by"),
    ("resolved_why", "resolved why"),
];

/// The columns of a list; the key is last, since it has any length.
const COLUMNS: [&str; 6] = ["state", "first_sent_at", "in_doubt_why", "principal", "channel", "key"];

/// One key, one line for each thing that is known of it.
pub fn record(record: &Value) -> String {
    let known = LINES.iter().filter(|(member, _)| !record[*member].is_null());
    let rows: Vec<Vec<String>> =
        known.map(|(member, name)| vec![(*name).to_owned(), cell(&record[*member])]).collect();
    aligned(&rows)
}

/// Many keys, one line each.
pub fn table(records: &[Value]) -> String {
    if records.is_empty() {
        return "no keys".into();
    }
    let head = COLUMNS.iter().map(|column| (*column).to_owned()).collect();
    let row = |record: &Value| COLUMNS.iter().map(|column| cell(&record[*column])).collect();
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(records.iter().map(row)).collect();
    aligned(&rows)
}

/// A key that was in doubt, as it is now.
pub fn resolved(resolved: &Value) -> String {
    let state = cell(&resolved["state"]);
    format!("resolved: from here on a retry is told `{state}`, and nothing is sent\n{}", record(resolved))
}

/// A key that is new again.
pub fn forgotten(forgotten: &Value) -> String {
    let member = |name: &str| cell(&forgotten[name]);
    let (key, principal, channel) = (member("key"), member("principal"), member("channel"));
    let state = member("state");
    format!("forgotten: {key} of {principal} on {channel} was {state}; the next command with it is sent")
}

/// Everything, for programs.
pub fn json(value: &Value) -> String {
    format!("{value:#}")
}

fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => "-".into(),
        Value::String(text) => shown(text),
        other => other.to_string(),
    }
}

/// A text on one line, in which everything that is not to be seen is escaped.
pub fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            // These are escaped in a program's text, and harmless here.
            '"' | '\'' | '\\' => shown.push(character),
            other => shown.extend(other.escape_debug()),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lines_line_up_and_what_is_not_known_is_left_out() {
        let key = json!({ "key": "k", "state": "in_doubt", "attempts": 1, "error": null });
        assert_eq!(record(&key), "key       k\nstate     in_doubt\nattempts  1");
        let listed = table(&[key, json!({ "key": "a b", "state": "executed", "channel": "orders" })]);
        assert_eq!(
            listed,
            "state     first_sent_at  in_doubt_why  principal  channel  key\n\
             in_doubt  -              -             -          -        k\n\
             executed  -              -             -          orders   a b"
        );
        assert_eq!(table(&[]), "no keys");
    }

    #[test]
    fn nothing_that_a_stranger_wrote_steers_the_terminal() {
        assert_eq!(shown("a\u{1b}[2J\nb\u{9b}c\u{202e}d"), "a\\u{1b}[2J\\nb\\u{9b}c\\u{202e}d");
        assert_eq!(shown("größe \"x\" c:\\d 'y' 漢"), "größe \"x\" c:\\d 'y' 漢");
    }
}
