//! The token in `Authorization: Bearer TOKEN`, and the answer to one that is refused. Pure but for the count.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, Uri, header};
use percent_encoding::percent_decode_str;

use super::fault::{Fault, INVALID_REQUEST};
use crate::access::{Challenge, Presented, Refusal};

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

/// The token of a header. Its length is judged where tokens are, and the head of a request has a limit.
fn token(value: &HeaderValue) -> Option<&str> {
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let token = token.trim_matches(' ');
    let is_token = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    (scheme.eq_ignore_ascii_case("bearer") && is_token).then_some(token)
}

/// Whether a token stands in the query of a request, where logs and proxies read it.
pub fn is_in_query(uri: &Uri) -> bool {
    uri.query().is_some_and(|query| {
        query.split('&').any(|pair| {
            let name = pair.split_once('=').map_or(pair, |(name, _)| name);
            percent_decode_str(name).decode_utf8_lossy().eq_ignore_ascii_case("access_token")
        })
    })
}

/// The answer to a request with a token in its query. Whether the token is right is not looked at.
pub fn refused_in_query() -> Fault {
    let message = "a token in the query is not taken, since it stays in logs: send it as `Authorization: Bearer TOKEN`, and \
                   have this one replaced";
    Fault::new(StatusCode::BAD_REQUEST, INVALID_REQUEST, message)
}

/// The answer to a request that is refused for its token. It never shows the token, nor how close it was to a right one.
pub fn refused(refusal: Refusal, challenge: &Challenge) -> Response<Body> {
    let (status, message) = match refusal {
        Refusal::Missing => {
            (StatusCode::UNAUTHORIZED, "a token is needed: send it as `Authorization: Bearer TOKEN`".into())
        }
        Refusal::Malformed => {
            (StatusCode::UNAUTHORIZED, "the Authorization header must be `Bearer` and one token".into())
        }
        Refusal::Scope => {
            let scopes = challenge.scopes();
            (
                StatusCode::FORBIDDEN,
                format!("this token is not for what is asked here; it needs the scopes `{scopes}`"),
            )
        }
        _ => (StatusCode::UNAUTHORIZED, "this token is not valid here; get another".into()),
    };
    let mut response = Fault::new(status, INVALID_REQUEST, message).response();
    let value = HeaderValue::try_from(challenge.text(refusal)).unwrap_or(HeaderValue::from_static("Bearer"));
    response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
    response
}

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
    fn a_refusal_says_how_a_token_is_shown_and_not_what_was_wrong_with_it() {
        let challenge = Challenge::default();
        for refusal in Refusal::ALL {
            let response = refused(refusal, &challenge);
            let (status, value) = match refusal {
                Refusal::Missing => (401, "Bearer"),
                Refusal::Scope => (403, "Bearer error=\"insufficient_scope\""),
                _ => (401, "Bearer error=\"invalid_token\""),
            };
            assert_eq!(response.status().as_u16(), status, "{refusal:?}");
            assert_eq!(response.headers()[header::WWW_AUTHENTICATE], value, "{refusal:?}");
        }
    }

    #[test]
    fn a_token_in_the_query_is_found_however_its_name_is_written() {
        for query in [
            "access_token=a",
            "access_token",
            "a=b&access_token=",
            "ACCESS_TOKEN=a",
            "access%5Ftoken=a",
            "&access_token=a",
        ] {
            assert!(is_in_query(&format!("/mcp?{query}").parse().unwrap()), "{query}");
        }
        for query in ["", "token=a", "a=access_token", "access_tokens=a", "a&b"] {
            assert!(!is_in_query(&format!("/mcp?{query}").parse().unwrap()), "{query}");
        }
        assert!(!is_in_query(&"/access_token=a".parse().unwrap()));
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
