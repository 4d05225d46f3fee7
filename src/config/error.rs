//! What is wrong with a configuration, and where.
//!
//! All problems are told at once. No problem carries the value of a secret.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Everything that is wrong with a configuration.
#[derive(Debug, thiserror::Error)]
pub struct ConfigError {
    /// The problems, in the order of the sources; never empty.
    pub problems: Vec<Problem>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [problem] => write!(formatter, "the configuration is wrong: {problem}"),
            problems => {
                write!(formatter, "the configuration has {} problems:", problems.len())?;
                problems.iter().try_for_each(|problem| write!(formatter, "\n  {problem}"))
            }
        }
    }
}

/// One thing that is wrong.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The file cannot be read.
    #[error("{}: {cause}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The file is not TOML.
    #[error("{}:{line}:{column}: {message}", file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The character on the line, from 1.
        column: usize,
        /// What the parser said.
        message: String,
    },
    /// No option has this name.
    #[error("{place}: unknown {what} `{name}`, {}", meant(nearest.as_deref(), known))]
    Unknown {
        /// Where it stands.
        place: Place,
        /// What it would be: a section, an option, a variable.
        what: &'static str,
        /// The name.
        name: String,
        /// The valid name that is near enough.
        nearest: Option<String>,
        /// All valid names in its place.
        known: Vec<String>,
    },
    /// The value is of another type, out of range, or breaks the option's rule.
    #[error("{place}: `{name}` is {found}{}; allowed: {allowed}", advised(advice.as_deref()))]
    WrongValue {
        /// Where it stands.
        place: Place,
        /// The option.
        name: String,
        /// What was found, never the value of a secret.
        found: String,
        /// What it may be.
        allowed: String,
        /// What to write instead.
        advice: Option<String>,
    },
    /// An option that has no default is not there.
    #[error("{place}: `{name}` is missing; allowed: {allowed}")]
    Missing {
        /// Where it should stand.
        place: Place,
        /// The option.
        name: String,
        /// What it may be.
        allowed: String,
    },
    /// A variable names an entry of a section that may stand many times.
    #[error("{place}: entries of `[[{section}]]` can only stand in the file")]
    FileOnly {
        /// The variable.
        place: Place,
        /// The section.
        section: &'static str,
    },
    /// A section stands more often than it may.
    #[error("{place}: there are {count} entries of `[[{section}]]` and at most {entries_max} may be")]
    TooMany {
        /// Where the section begins.
        place: Place,
        /// The section.
        section: &'static str,
        /// How many there are.
        count: usize,
        /// How many there may be.
        entries_max: usize,
    },
    /// Two values do not go together.
    #[error("{place}: {reason}")]
    Conflict {
        /// Where one of them stands.
        place: Place,
        /// Which ones, why, and what to do.
        reason: String,
    },
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line of a file.
    File {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// An environment variable.
    Variable(String),
    /// A flag of the command line.
    Flag(String),
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { file, line } => write!(formatter, "{}:{line}", file.display()),
            Self::Variable(name) | Self::Flag(name) => formatter.write_str(name),
        }
    }
}

fn meant(nearest: Option<&str>, known: &[String]) -> String {
    match nearest {
        Some(name) => format!("the nearest is `{name}`"),
        None => format!("known are `{}`", known.join("`, `")),
    }
}

fn advised(advice: Option<&str>) -> String {
    advice.map_or_else(String::new, |advice| format!(" ({advice})"))
}
