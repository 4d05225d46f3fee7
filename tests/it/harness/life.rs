//! One life of the connector on a store that outlives it: `kubemq-mcp serve` as a process.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use super::binary::{Binary, STORE_PATH};
use super::caller::Caller;
use super::outside::Outside;
use super::shim::Shim;

/// What `kill -9` leaves as the reason of an end.
const SIGKILL: i32 = 9;

/// A running connector.
pub struct Life {
    binary: Binary,
    caller: Caller,
}

/// A connector that ended before it was ready.
pub struct Stillborn(Binary);

impl Life {
    /// Starts the connector on this store, in front of the broker outside.
    pub fn begin(
        outside: &Outside,
        store: &Path,
        shim: Option<&Shim>,
        settings: &[(&str, &str)],
    ) -> Result<Self, Stillborn> {
        let store = store.to_str().expect("a path of ours is text");
        let mut variables = vec![(STORE_PATH, store)];
        variables.extend_from_slice(settings);
        variables.extend(shim.map(Shim::variables).unwrap_or_default());
        let broker = outside.broker();
        let binary = Binary::launch(&["serve", "--listen", "127.0.0.1:0", "--broker", &broker], &variables);
        if !binary.first_line().contains("ready") {
            return Err(Stillborn(binary));
        }
        let caller = Caller::new(&binary.word("http://"));
        Ok(Self { binary, caller })
    }

    /// An agent of it.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Kills it.
    pub fn kill(mut self) {
        self.binary.kill();
    }

    /// Waits until the shim has killed it.
    pub fn until_killed(mut self) {
        killed(&mut self.binary);
    }

    /// Ends it in order.
    pub fn stop(mut self) {
        self.binary.signal("TERM");
        assert!(self.binary.wait().success(), "{}", self.binary.log());
    }
}

impl Stillborn {
    /// Sees that the shim has killed it, and that it did not end by itself.
    pub fn was_killed(mut self) {
        killed(&mut self.0);
    }

    /// What it said when it ended by itself.
    pub fn last_words(mut self) -> String {
        assert!(!self.0.wait().success());
        self.0.log()
    }
}

fn killed(binary: &mut Binary) {
    let status = binary.wait();
    assert_eq!(status.signal(), Some(SIGKILL), "it ended by itself: {}", binary.log());
}
