//! Every option there is: the one place that knows names, types, ranges, defaults and meanings.
//!
//! `config.toml`, the table in the README, the environment and every error are made from it. The layers' own
//! structs repeat the defaults, and a test holds the two together.

mod auth;
mod broker;
mod embedded;
mod http;
mod limits;
mod process;
mod store;

use super::setting::Setting;

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
pub static SECTIONS: [&Section; 10] = [
    &process::SERVER,
    &process::LOG,
    &http::HTTP,
    &http::ADMIN,
    &auth::AUTH,
    &broker::BROKER,
    &embedded::EMBEDDED,
    &limits::CHANNEL,
    &limits::TOOL,
    &store::STORE,
];

/// The section that may stand many times, once for each set of channels. Its options have no defaults.
pub static CHANNELS: &Section = &limits::CHANNELS;

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
