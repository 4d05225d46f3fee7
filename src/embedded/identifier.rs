//! Identifiers in the shapes of the real broker: NUIDs and reply channels.

use std::iter;

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The length of a NUID, the identifier of NATS.
const NUID_LENGTH: usize = 22;
/// The length of the part of a reply channel that differs between requests.
const TOKEN_LENGTH: usize = 8;

/// Makes up the id of a request that came without one.
pub fn request_id() -> String {
    base62(NUID_LENGTH)
}

/// The broker's end of all reply channels: `_INBOX.`, then one NUID for the life of the broker.
#[derive(Debug)]
pub struct Inbox {
    prefix: String,
}

impl Inbox {
    /// Opens an inbox that no other broker has.
    pub fn new() -> Self {
        Self { prefix: format!("_INBOX.{}.", base62(NUID_LENGTH)) }
    }

    /// Makes up the channel for the reply to one request.
    pub fn reply_channel(&self) -> String {
        format!("{}{}", self.prefix, base62(TOKEN_LENGTH))
    }
}

fn base62(length: usize) -> String {
    iter::repeat_with(|| char::from(ALPHABET[fastrand::usize(..ALPHABET.len())])).take(length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_channel_has_the_shape_of_nats() {
        let inbox = Inbox::new();
        let [first, second] = [inbox.reply_channel(), inbox.reply_channel()];
        let parts: Vec<&str> = first.split('.').collect();
        assert_eq!(parts[0], "_INBOX");
        assert_eq!((parts[1].len(), parts[2].len(), parts.len()), (22, 8, 3));
        assert_eq!(first.rsplit_once('.').map(|split| split.0), second.rsplit_once('.').map(|split| split.0));
        assert_ne!(first, second);
    }

    #[test]
    fn a_request_id_is_22_letters_and_digits() {
        let request_id = request_id();
        assert_eq!(request_id.len(), 22);
        assert!(request_id.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    }
}
