//! The tests that are run in a process of their own by another test, and return at once otherwise.

use std::io::Read;

use crate::harness::child::{LISTENING, ROLE};
use crate::harness::scripted::Scripted;

#[test]
fn runs_a_scripted_broker_when_asked() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    let server = Scripted::start();
    println!("{LISTENING}{}", server.address);
    // The pipe ends with the parent, so that no child outlives a test that was killed itself.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
}
