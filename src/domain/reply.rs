//! What a responder sent back.

use super::{RequestId, Tags};

/// Longest piece of a responder's or the broker's text that an answer repeats, in characters. A record of the answer keeps
/// no more than one character beyond it, so that a replay reads as the first answer did.
pub const FOREIGN_TEXT_CHARACTERS_MAX: usize = 2_000;

/// A responder's answer, as the broker delivered it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The request id that the responder wrote; the broker does not compare it.
    pub request_id: Option<RequestId>,
    /// Whether the responder says that it did what was asked.
    pub executed: bool,
    /// The responder's error text; may stand beside `executed`.
    pub error: String,
    /// The payload; always empty for a command, the broker strips it.
    pub body: Vec<u8>,
    /// A text beside the payload; always empty for a command.
    pub metadata: String,
    /// String pairs beside the payload: the only data a command's answer carries.
    pub tags: Tags,
    /// The responder's client id.
    pub responder: String,
    /// Whether the broker answered from its query cache.
    pub cache_hit: bool,
}
