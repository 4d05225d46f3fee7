//! What a caller may do: entries that allow and deny, and what follows from all of them. Pure.
//!
//! Without an entry everybody may do everything. With the first one, what no entry allows is denied; a denial stands
//! above whatever allows the same, in whatever order they are written.

mod decision;
mod entry;
#[cfg(test)]
mod tests;
mod who;

pub use decision::{Allowed, Basis, Bounds, Denied, Reason};
pub use entry::{Entry, ToolSet};
pub use who::Who;

use crate::domain::{Channel, Kind, Subject, Tool};

/// Entries that one configuration may have.
pub const ENTRIES_MAX: usize = 1_000;

/// Whether a connector serves commands at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Service {
    /// Queries and commands.
    #[default]
    Whole,
    /// Queries only, whoever asks.
    ReadOnly,
}

/// All that is said of who may do what.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policy {
    entries: Vec<Entry>,
    service: Service,
}

impl Policy {
    /// The policy of these entries.
    pub fn new(entries: Vec<Entry>, service: Service) -> Self {
        Self { entries, service }
    }

    /// Whether everybody may do the same, and so sees the same tools.
    pub fn is_for_everybody(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries, in the order of the file.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Whether this caller may use this tool on this channel, and within which bounds. Without a channel: whether the
    /// tool is open to it on some channel.
    ///
    /// # Errors
    /// Says why not, and which entry decides.
    pub fn decide(
        &self,
        subject: &Subject,
        tool: Tool,
        channel: Option<&Channel>,
    ) -> Result<Allowed, Denied> {
        let of_caller = || self.entries.iter().enumerate().filter(|(_, entry)| entry.who.is(subject));
        if tool.kind() == Kind::Command {
            if self.service == Service::ReadOnly {
                return Err(Denied { reason: Reason::ReadOnlyService, basis: Basis::Service });
            }
            if subject.read_only {
                return Err(Denied { reason: Reason::ReadOnlyCredential, basis: Basis::Credential });
            }
            if let Some((index, _)) = of_caller().find(|(_, entry)| entry.read_only) {
                return Err(Denied { reason: Reason::ReadOnlyCaller, basis: Basis::Entry(index) });
            }
        }
        if self.entries.is_empty() {
            return Ok(Allowed { basis: Basis::NoPolicy, bounds: Bounds::default() });
        }
        if let Some((index, _)) = of_caller().find(|(_, entry)| entry.denies(tool, channel)) {
            return Err(Denied { reason: Reason::Denied, basis: Basis::Entry(index) });
        }
        let mut allowing = of_caller().filter(|(_, entry)| entry.allows(tool, channel)).peekable();
        let Some((first, _)) = allowing.peek() else {
            return Err(Denied { reason: Reason::NotAllowed, basis: Basis::NoEntry });
        };
        let basis = Basis::Entry(*first);
        let bounds = allowing.map(|(_, entry)| entry.bounds()).fold(Bounds::default(), Bounds::narrowed);
        Ok(Allowed { basis, bounds })
    }
}
