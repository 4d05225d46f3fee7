//! The rules of what is said of callers and tools.

use super::Rule;
use crate::access::{ToolSet, Who};
use crate::config::nearest;

/// Whom an entry is about.
pub const WHO: Rule = Rule {
    allowed: "the name of a principal, `anonymous`, `jwt:SUBJECT`, `scope:NAME`, `group:NAME` or `*`",
    check: who,
};
/// A tool, or several.
pub const TOOL: Rule = Rule { allowed: "the name of a tool, `queries`, `commands` or `*`", check: tool };

fn who(text: &str) -> Result<(), String> {
    Who::parse(text).map(drop)
}

fn tool(text: &str) -> Result<(), String> {
    if ToolSet::parse(text).is_some() {
        return Ok(());
    }
    let words: Vec<&str> = ToolSet::words().collect();
    Err(match nearest::word(text, words.iter().copied()) {
        Some(word) => format!("write `{word}`"),
        None => format!("there are `{}`", words.join("`, `")),
    })
}
