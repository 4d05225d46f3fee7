//! The body of a request, read within its limits.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;

use super::compat;
use super::fault::{Fault, INVALID_REQUEST, PARSE_ERROR};
use super::room::{NoRoom, Share};

/// How much of a body is read, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// Its largest size.
    pub bytes_max: usize,
    /// How long it may take to arrive.
    pub patience: Duration,
}

/// Why a body was not read to its end.
enum Unread {
    TooLarge,
    NoRoom(NoRoom),
    BrokeOff,
}

/// Reads a body that must be announced as JSON. `share` is what it takes of the room for all bodies.
///
/// # Errors
/// When it is not, or does not keep within its limits.
pub async fn read(headers: &HeaderMap, body: Body, limit: Limit, share: &mut Share) -> Result<Bytes, Fault> {
    if !compat::announces_json(headers) {
        // KubeMQ's own endpoint answers a parse error here, and its clients look for it.
        let message = "the Content-Type must be application/json";
        return Err(Fault::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, PARSE_ERROR, message));
    }
    match tokio::time::timeout(limit.patience, bounded(body, limit.bytes_max, share)).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(Unread::NoRoom(NoRoom { bytes_max }))) => {
            let message = format!(
                "the requests of this moment take {bytes_max} bytes already (http.bodies_bytes_max): nothing was sent, \
                 try again"
            );
            Err(Fault::new(StatusCode::SERVICE_UNAVAILABLE, INVALID_REQUEST, message))
        }
        Ok(Err(Unread::TooLarge)) => {
            let message = format!("the body is larger than {} bytes", limit.bytes_max);
            Err(Fault::new(StatusCode::PAYLOAD_TOO_LARGE, INVALID_REQUEST, message))
        }
        Ok(Err(Unread::BrokeOff)) => {
            Err(Fault::new(StatusCode::BAD_REQUEST, PARSE_ERROR, "the body ended before its length"))
        }
        Err(_) => {
            let seconds = limit.patience.as_secs();
            let message = format!("the body did not come within {seconds}s (http.body_seconds)");
            Err(Fault::new(StatusCode::REQUEST_TIMEOUT, INVALID_REQUEST, message))
        }
    }
}

/// Reads, within the limits of a body, what nobody needs: a client that is still writing when the connection closes sees
/// a broken pipe instead of the answer.
pub async fn discard(mut body: Body, limit: Limit) {
    let mut left = limit.bytes_max;
    let read = async {
        while let Some(Ok(frame)) = body.frame().await {
            left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
            if left == 0 {
                break;
            }
        }
    };
    // Whoever is slower than that may see the broken pipe.
    let _ = tokio::time::timeout(limit.patience, read).await;
}

/// Reads a body of at most `limit` bytes.
///
/// What is beyond is read and dropped for a while: a client that is still writing when the answer comes and the connection
/// closes sees a broken pipe instead of the answer.
async fn bounded(mut body: Body, limit: usize, share: &mut Share) -> Result<Bytes, Unread> {
    const DROPPED_LIMITS_MAX: usize = 4;
    let mut kept = BytesMut::new();
    let mut seen: usize = 0;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Unread::BrokeOff)?.into_data() else { continue };
        seen = seen.saturating_add(data.len());
        if seen <= limit {
            share.grow(data.len()).map_err(Unread::NoRoom)?;
            kept.extend_from_slice(&data);
        } else if seen > limit.saturating_mul(1 + DROPPED_LIMITS_MAX) {
            break;
        } else {
            kept = BytesMut::new();
            share.empty();
        }
    }
    if seen <= limit { Ok(kept.freeze()) } else { Err(Unread::TooLarge) }
}
