//! What a failed call means: the one place that turns the client's errors into a [`Fault`].
//!
//! *Not sent* is an allow-list: [`Fault::Unavailable`] and [`Fault::Refused`] come only from shapes known to end before
//! any delivery, each provoked for real by a test. All else may have run. Texts are matched because all errors of the
//! broker share one gRPC code, and only its number tells them apart.

use std::time::Duration;

use tonic::Code;

use super::Fault;
use super::symptom::{Shape, Stage, Symptom};
use crate::domain::plain;

/// Longest detail shown to an agent, in characters: enough for a broker's sentence, too short for a page of proxy HTML.
const DETAIL_CHARACTERS_MAX: usize = 300;

/// How much of its timeout must have passed before `Error 301` is believed, in percent. The broker answers with it for
/// any transport error too, and then at once.
const PATIENCE_PERCENT_MIN: u128 = 90;

/// What the broker says, to a ping as well, until it is ready. Its interceptor refuses before any handler runs.
const NOT_READY: &str = "grpc server is not ready to accept requests";

/// How a Go server refuses a request that is larger than it takes, before any handler runs.
const REQUEST_TOO_LARGE: &str = "grpc: received message larger than max";

/// A client of this stack says this of a reply that is too large, a server of it of a request.
const MESSAGE_TOO_LARGE: &str = "decoded message length too large";

/// What the client says of a reply whose bytes make no message.
const UNREADABLE: [&str; 4] = [
    "failed to decode Protobuf message",
    "protocol error: received message with",
    "Unexpected EOF decoding stream",
    "Missing response message",
];

/// What the client says when a connection ends under a call.
const CONNECTION_TEXTS: [&str; 6] = [
    "transport error",
    "h2 protocol error",
    "http2 error",
    "operation was canceled",
    "keep-alive timed out",
    "connection error",
];

/// How large a reply may be, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Its body.
    pub reply_bytes_max: usize,
    /// The whole message; the client is set to this.
    pub message_bytes_max: usize,
}

/// The time a call has taken and the time it had.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elapsed {
    pub elapsed: Duration,
    pub timeout: Duration,
}

impl Elapsed {
    fn is_over(self) -> bool {
        self.elapsed.as_millis() * 100 >= self.timeout.as_millis() * PATIENCE_PERCENT_MIN
    }
}

/// Decides what became of the call.
pub(super) fn decide(symptom: &Symptom, time: Elapsed, limits: Limits) -> Fault {
    if symptom.stage == Stage::Connecting {
        return Fault::Unavailable(detail(deepest(symptom)));
    }
    match symptom.shape {
        Shape::Closed => return Fault::Unavailable(detail(&symptom.message)),
        Shape::OwnValidation => return Fault::Refused(detail(&symptom.message)),
        _ => {}
    }
    if symptom.message.contains(MESSAGE_TOO_LARGE) {
        return too_large(symptom, limits);
    }
    if starts_with_any(&symptom.message, &UNREADABLE) {
        return Fault::ReplyInvalid(detail(&symptom.message));
    }
    // Before the codes: an HTTP/2 error carries a code of its own, `PERMISSION_DENIED` among them.
    if starts_with_any(&symptom.message, &CONNECTION_TEXTS) {
        return Fault::ConnectionLost(with_deepest(symptom));
    }
    match symptom.shape {
        Shape::Authentication | Shape::Authorization => Fault::Refused(detail(&symptom.message)),
        Shape::Fatal if symptom.code == Some(Code::Internal) => internal(&symptom.message, time),
        Shape::Transient if symptom.code == Some(Code::Unavailable) && symptom.message == NOT_READY => {
            Fault::Unavailable(detail(&symptom.message))
        }
        Shape::Throttling if symptom.message.starts_with(REQUEST_TOO_LARGE) => {
            Fault::Refused(detail(&symptom.message))
        }
        Shape::Timeout => at_its_time(&symptom.message, time),
        Shape::Cancellation if symptom.message == "Timeout expired" => at_its_time(&symptom.message, time),
        _ => Fault::Failed(with_deepest(symptom)),
    }
}

/// The broker's own errors, told apart by their number.
fn internal(message: &str, time: Elapsed) -> Fault {
    match number(message) {
        // Validation, the wrong type of request, and access control: all before the request is published.
        Some(100..=199 | 206 | 412 | 421) => Fault::Refused(detail(message)),
        // The broker has lost its own bus, or is stopping. Both are checked before the request is published, so
        // nothing ran and a later attempt or another address may succeed.
        Some(302 | 409) => Fault::Unavailable(detail(message)),
        Some(303) => Fault::ReplyInvalid(detail(message)),
        Some(301) => at_its_time(message, time),
        _ if message.to_ascii_lowercase().contains("timeout") => at_its_time(message, time),
        _ => Fault::Failed(detail(message)),
    }
}

/// A timeout is believed at its time only; earlier, the text covers some other failure.
fn at_its_time(message: &str, time: Elapsed) -> Fault {
    if time.is_over() {
        return Fault::TimedOut;
    }
    let text = format!(
        "{} after {:.3} s of {} s",
        detail(message),
        time.elapsed.as_secs_f64(),
        time.timeout.as_secs_f64()
    );
    Fault::Failed(detail(&text))
}

/// The limit in the text says whose it was: ours means that a reply came, any other that the broker stopped our request.
fn too_large(symptom: &Symptom, limits: Limits) -> Fault {
    match (symptom.shape, numbers(&symptom.message).as_slice()) {
        (Shape::Validation, [_, limit]) if *limit != limits.message_bytes_max => {
            Fault::Refused(detail(&format!("the request is too large: {}", symptom.message)))
        }
        (_, sizes) => Fault::ReplyTooLarge { size: sizes.first().copied(), limit: limits.reply_bytes_max },
    }
}

/// The number of `Error 301: …`.
fn number(message: &str) -> Option<u16> {
    let (digits, _) = message.strip_prefix("Error ")?.split_once(':')?;
    if digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        digits.parse().ok()
    } else {
        None
    }
}

fn numbers(message: &str) -> Vec<usize> {
    message
        .split(|character: char| !character.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect()
}

fn starts_with_any(message: &str, texts: &[&str]) -> bool {
    texts.iter().any(|text| message.starts_with(text))
}

fn deepest(symptom: &Symptom) -> &str {
    symptom.sources.last().map_or(&symptom.message, String::as_str)
}

fn with_deepest(symptom: &Symptom) -> String {
    match symptom.sources.last() {
        Some(source) if !symptom.message.contains(source.as_str()) => {
            detail(&format!("{}: {source}", symptom.message))
        }
        _ => detail(&symptom.message),
    }
}

/// Makes a text fit to be shown: one line, no control characters, bounded, no full stop.
pub(super) fn detail(text: &str) -> String {
    let mut shown: String = plain(text).chars().take(DETAIL_CHARACTERS_MAX).collect();
    let kept = shown.trim_end_matches([' ', '.']).len();
    shown.truncate(kept);
    shown
}

#[cfg(test)]
mod tests;
