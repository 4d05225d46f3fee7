//! Every option there is: the one place that knows names, types, ranges, defaults and meanings.
//!
//! `config.toml`, the table in the README, the environment and every error are made from it. The layers' own
//! structs repeat the defaults, and a test holds the two together.

mod audit;
mod auth;
mod broker;
mod embedded;
mod http;
mod limits;
mod policy;
mod principal;
mod process;
mod store;

use super::setting::Setting;
use crate::access::ENTRIES_MAX;

/// One table of `config.toml`.
pub struct Section {
    /// Its name.
    pub name: &'static str,
    /// What it is about, in one sentence.
    pub about: &'static str,
    /// Its options, in the order of the file.
    pub settings: &'static [Setting],
}

/// All sections, in the order of the file.
pub static SECTIONS: [&Section; 12] = [
    &process::SERVER,
    &process::LOG,
    &http::HTTP,
    &http::ADMIN,
    &auth::AUTH,
    &principal::LIMITS,
    &audit::AUDIT,
    &broker::BROKER,
    &embedded::EMBEDDED,
    &limits::CHANNEL,
    &limits::TOOL,
    &store::STORE,
];

/// A section that may stand many times. Its options have no defaults.
pub struct Repeated {
    /// Its options, with what an example has.
    pub section: &'static Section,
    /// The one that every entry must have.
    pub required: &'static str,
    /// Most entries.
    pub entries_max: usize,
    /// Whether an entry is told where it stands, for whoever asks what decides.
    pub place_told: bool,
}

/// The sections that may stand many times, in the order of the file.
pub static REPEATED: [Repeated; 2] = [
    Repeated {
        section: &limits::CHANNELS,
        required: "channels.pattern",
        entries_max: CHANNEL_RULES_MAX,
        place_told: false,
    },
    Repeated { section: &policy::POLICY, required: "policy.who", entries_max: ENTRIES_MAX, place_told: true },
];

/// Entries of `[[channels]]`: every call looks through them.
const CHANNEL_RULES_MAX: usize = 1_000;

/// The section of that name that may stand many times.
pub fn repeated(name: &str) -> Option<&'static Repeated> {
    REPEATED.iter().find(|repeated| repeated.section.name == name)
}

/// All options that have a default.
pub fn settings() -> impl Iterator<Item = &'static Setting> {
    SECTIONS.iter().flat_map(|section| section.settings)
}

/// The option of that name, `section.key`.
pub fn find(name: &str) -> Option<&'static Setting> {
    settings().find(|setting| setting.name == name)
}

/// The section of that name.
pub fn section(name: &str) -> Option<&'static Section> {
    SECTIONS.iter().copied().find(|section| section.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_option_stands_once_in_its_own_section_with_a_default_it_allows() {
        let mut names = HashSet::new();
        for section in SECTIONS {
            for setting in section.settings {
                assert_eq!(setting.section(), section.name, "{}", setting.name);
                assert!(names.insert(setting.name), "{} stands twice", setting.name);
                assert_eq!(setting.default().check(setting), Ok(()), "{}", setting.name);
                assert!(setting.about.ends_with('.'), "{}: a meaning is sentences", setting.name);
            }
        }
    }

    #[test]
    fn no_name_can_be_read_as_another_variable() {
        for setting in settings() {
            assert!(!setting.section().contains("__") && !setting.key().contains("__"), "{}", setting.name);
        }
        let variables: HashSet<String> = settings().map(Setting::variable).collect();
        assert_eq!(variables.len(), settings().count());
    }
}
