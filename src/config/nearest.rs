//! The name that was probably meant.
//!
//! Only a name that is near enough is offered: a wild guess sends the reader the wrong way.

use super::setting::Setting;
use super::table;

/// Least likeness, from 0 to 1, of a name that is offered.
const LIKENESS_MIN: f64 = 0.6;

/// How much the section counts; the key counts for the rest, since a right key in a wrong section is common.
const SECTION_WEIGHT: f64 = 0.3;

/// The option that was probably meant by a section and a key.
pub fn option(section: &str, key: &str) -> Option<&'static Setting> {
    let candidates = table::settings().map(|setting| {
        let likeness = SECTION_WEIGHT * likeness(section, setting.section())
            + (1.0 - SECTION_WEIGHT) * likeness(key, setting.key());
        (likeness, setting)
    });
    best(candidates)
}

/// The word that was probably meant.
pub fn word<'a>(text: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    best(words.into_iter().map(|word| (likeness(text, word), word)))
}

fn best<T>(candidates: impl Iterator<Item = (f64, T)>) -> Option<T> {
    candidates
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, candidate)| candidate)
}

/// How alike two names are. The order of the words does not matter: `max_connections` means `connections_max`.
fn likeness(left: &str, right: &str) -> f64 {
    let left = left.to_lowercase().replace('-', "_");
    let in_order = |name: &str| {
        let mut words: Vec<&str> = name.split('_').collect();
        words.sort_unstable();
        words.join("_")
    };
    let as_written = strsim::normalized_damerau_levenshtein(&left, right);
    as_written.max(strsim::normalized_damerau_levenshtein(&in_order(&left), &in_order(right)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_option_and_noise_finds_none() {
        let name = |section, key| option(section, key).map(|setting| setting.name);
        assert_eq!(name("server", "drain_second"), Some("server.drain_seconds"));
        assert_eq!(name("http", "max_connections"), Some("http.connections_max"));
        assert_eq!(name("http", "allowed-origins"), Some("http.allowed_origins"));
        assert_eq!(name("server", "client_id"), Some("broker.client_id"));
        assert_eq!(name("", "shards"), Some("server.shards"));
        assert_eq!(name("SERVER", "LISTEN"), Some("server.listen"));
        assert_eq!(name("server", "colour"), None);
    }
}
