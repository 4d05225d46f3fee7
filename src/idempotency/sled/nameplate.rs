//! The file `STORE`: says outside of sled that the directory is a store, which one, and whether it was ever used.
//!
//! sled opens an emptied or garbled file as an empty database without a word. This file is how we tell that from a new
//! one. It is replaced as a whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use super::{OpenError, directory};

/// The name of the file.
pub const STORE: &str = "STORE";
/// Its next version, until it takes its place.
pub const NEXT: &str = "STORE.new";
/// The format that this program writes, and the newest that it reads.
pub const FORMAT: u32 = 1;

/// What the file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nameplate {
    /// Which store it is; its head says the same.
    pub instance: u128,
    /// How far it is.
    pub state: State,
}

/// How far the making of a store is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nobody has ever been told that anything is in it.
    Creating,
    /// Somebody may have been.
    Ready,
}

impl State {
    const fn word(self) -> &'static str {
        match self {
            Self::Creating => "creating",
            Self::Ready => "ready",
        }
    }
}

impl Nameplate {
    /// Reads the file of a directory, if it has one.
    ///
    /// # Errors
    /// When the file cannot be read, is damaged or of a newer program.
    pub fn read(directory: &Path) -> Result<Option<Self>, OpenError> {
        let bytes = match fs::read(directory.join(STORE)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(OpenError::unusable(directory, "read its file `STORE`", error)),
        };
        let text = String::from_utf8(bytes).unwrap_or_default();
        match parse(&text) {
            Ok(nameplate) => Ok(Some(nameplate)),
            Err(Some(format)) => Err(OpenError::Newer {
                directory: directory.to_owned(),
                what: format!("it has format {format}, and this program reads up to {FORMAT}"),
            }),
            Err(None) => Err(OpenError::Nameplate { directory: directory.to_owned() }),
        }
    }

    /// Writes the file, durably.
    ///
    /// # Errors
    /// When the operating system says no; the file is then as it was.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        let next = directory.join(NEXT);
        let mut file = File::create(&next)?;
        file.write_all(self.text().as_bytes())?;
        file.sync_all()?;
        fs::rename(&next, directory.join(STORE))?;
        directory::sync(directory)
    }

    fn text(&self) -> String {
        let Self { instance, state } = self;
        format!("kubemq-mcp store\nformat {FORMAT}\ninstance {instance:032x}\nstate {}\n", state.word())
    }
}

/// Takes nothing but what [`Nameplate::text`] writes. `Err` is a newer format, or nothing that is known.
fn parse(text: &str) -> Result<Nameplate, Option<u32>> {
    let mut lines = text.lines();
    let mut value = |name: &str| lines.next()?.strip_prefix(name);
    let format = value("kubemq-mcp store").and_then(|_| value("format ")?.parse().ok()).ok_or(None)?;
    if format > FORMAT {
        return Err(Some(format));
    }
    let instance = value("instance ").and_then(|digits| u128::from_str_radix(digits, 16).ok()).ok_or(None)?;
    let word = value("state ").ok_or(None)?;
    [State::Creating, State::Ready]
        .into_iter()
        .map(|state| Nameplate { instance, state })
        .find(|nameplate| nameplate.state.word() == word && nameplate.text() == text)
        .ok_or(None)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_nameplate_comes_back_as_it_was_written(instance in any::<u128>(), ready in any::<bool>()) {
            let nameplate = Nameplate { instance, state: if ready { State::Ready } else { State::Creating } };
            prop_assert_eq!(parse(&nameplate.text()), Ok(nameplate));
        }

        #[test]
        fn a_changed_or_missing_byte_never_makes_a_used_store_a_new_one(
            instance in any::<u128>(),
            place in any::<prop::sample::Index>(),
            change in 1u8..,
        ) {
            let text = Nameplate { instance, state: State::Ready }.text();
            let place = place.index(text.len());
            prop_assert!(parse(&text[..place]).is_err());
            let mut changed = text.into_bytes();
            changed[place] ^= change;
            let read = parse(&String::from_utf8(changed).unwrap_or_default());
            prop_assert!(read.is_err() || read.is_ok_and(|read| read.state == State::Ready && read.instance != instance));
        }
    }

    #[test]
    fn a_newer_format_is_refused_by_its_number() {
        assert_eq!(parse("kubemq-mcp store\nformat 2\nwhatever\n"), Err(Some(2)));
        assert_eq!(parse(""), Err(None));
    }
}
