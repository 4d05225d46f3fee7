//! Scopes: what a credential was issued for, as RFC 6749 writes them. Pure.

/// Longest scope, in bytes.
pub const SCOPE_BYTES_MAX: usize = 256;

/// Whether a text is one scope: visible ASCII characters without quotes and backslashes, so that it can stand in a header.
pub fn is_scope(text: &str) -> bool {
    (1..=SCOPE_BYTES_MAX).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\')
}

/// Whether all that is required is held.
pub fn suffices(held: &[String], required: &[String]) -> bool {
    required.iter().all(|scope| held.contains(scope))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_can_stand_in_a_header() {
        for right in ["kubemq:query", "https://a.example/read", "a", &"x".repeat(SCOPE_BYTES_MAX)] {
            assert!(is_scope(right), "{right}");
        }
        for wrong in ["", "a b", "a\"", "a\\", "\u{e4}", "a\n", &"x".repeat(SCOPE_BYTES_MAX + 1)] {
            assert!(!is_scope(wrong), "{wrong}");
        }
    }

    #[test]
    fn every_scope_that_is_required_must_be_held() {
        let texts = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        let held = texts(&["a", "b"]);
        assert!(
            suffices(&held, &[]) && suffices(&held, &texts(&["b"])) && suffices(&held, &texts(&["b", "a"]))
        );
        assert!(!suffices(&held, &texts(&["a", "c"])) && !suffices(&[], &texts(&["a"])));
    }
}
