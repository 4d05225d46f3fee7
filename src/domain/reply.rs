//! What a responder sent back.

use super::{RequestId, Tags};

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
