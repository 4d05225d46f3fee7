//! The token in `Authorization: Bearer TOKEN`, and the answer to one that is refused. Pure but for the count.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};

use super::fault::{Fault, INVALID_REQUEST};
use crate::access::{Presented, Refusal};

/// What a request shows of its caller.
pub fn presented(headers: &HeaderMap) -> Presented<'_> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    match (values.next(), values.next()) {
        (None, _) => Presented::Nothing,
        (Some(value), None) => token(value).map_or(Presented::Unreadable, Presented::Token),
        // Which of two is meant is not ours to guess.
        (Some(_), Some(_)) => Presented::Unreadable,
    }
}

/// The token of a header. Its length needs no limit of its own: the head of a request has one.
fn token(value: &HeaderValue) -> Option<&str> {
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let token = token.trim_matches(' ');
    let is_token = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    (scheme.eq_ignore_ascii_case("bearer") && is_token).then_some(token)
}

/// The answer to a request that is refused for its token; it never shows the token.
pub fn refused(refusal: Refusal) -> Response<Body> {
    // RFC 6750: whoever showed nothing is told how to, and not that something was wrong.
    let (message, challenge) = match refusal {
        Refusal::Unknown => ("nobody has this token; ask the operator for another", INVALID),
        Refusal::Malformed => ("the Authorization header must be `Bearer` and one token", INVALID),
        Refusal::Missing => ("a token is needed: send it as `Authorization: Bearer TOKEN`", "Bearer"),
    };
    tracing::warn!(reason = refusal.as_str(), "request refused for its token");
    let mut response = Fault::new(StatusCode::UNAUTHORIZED, INVALID_REQUEST, message).response();
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
    response
}

/// What is said to a caller that showed something wrong.
const INVALID: &str = "Bearer error=\"invalid_token\"";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(values: &[&[u8]]) -> HeaderMap {
        let value = |bytes: &&[u8]| (header::AUTHORIZATION, HeaderValue::from_bytes(bytes).unwrap());
        values.iter().map(value).collect()
    }

    #[test]
    fn one_bearer_token_is_read_and_anything_else_is_unreadable() {
        assert!(presented(&HeaderMap::new()) == Presented::Nothing);
        for right in ["Bearer t0ken+/=", "bearer t0ken+/=", "BEARER   t0ken+/= "] {
            assert!(presented(&shown(&[right.as_bytes()])) == Presented::Token("t0ken+/="), "{right}");
        }
        for wrong in
            ["", "Bearer", "Bearer ", "Basic YTpi", "t0ken", "Bearer a b", "Bearer a,b c", "Bearer\ta"]
        {
            assert!(presented(&shown(&[wrong.as_bytes()])) == Presented::Unreadable, "{wrong}");
        }
        assert!(presented(&shown(&[b"Bearer \xe4"])) == Presented::Unreadable);
        assert!(presented(&shown(&[b"Bearer a", b"Bearer a"])) == Presented::Unreadable);
    }

    #[test]
    fn a_refusal_says_how_a_token_is_shown() {
        for (refusal, challenge) in
            [(Refusal::Missing, "Bearer"), (Refusal::Unknown, INVALID), (Refusal::Malformed, INVALID)]
        {
            let response = refused(refusal);
            assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
            assert_eq!(response.headers()[header::WWW_AUTHENTICATE], challenge);
        }
    }

    proptest! {
        #[test]
        fn any_header_is_read_without_a_panic(value in "[ -~\u{80}-\u{ff}]{0,60}") {
            if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
                let _ = presented(&HeaderMap::from_iter([(header::AUTHORIZATION, value)]));
            }
        }
    }
}
