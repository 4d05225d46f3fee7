//! The tests that are run in a process of their own by another test, and return at once otherwise.

use std::time::Duration;

use crate::harness::child::{LISTENING, ROLE};
use crate::harness::scripted::Scripted;

/// How long a child lives when its parent forgets it.
const CHILD_LIFE: Duration = Duration::from_secs(60);

#[test]
fn runs_a_scripted_broker_when_asked() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    let server = Scripted::start();
    println!("{LISTENING}{}", server.address);
    // The parent ends this process by a signal; the pause is no wait for an event.
    std::thread::sleep(CHILD_LIFE);
}
