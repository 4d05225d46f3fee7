//! This test binary once more, as a process of its own, for what can only be done to a process.
//!
//! The child runs one test by its name. That test returns at once unless [`ROLE`] is set, so that an ordinary run passes
//! it by.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use tokio::time::Instant;

use super::event::DEADLINE;

/// Set in a child only.
pub const ROLE: &str = "KUBEMQ_MCP_TEST_CHILD";

/// What a child writes before its address, on standard output.
pub const LISTENING: &str = "listening on ";

/// A child process that is killed when the test ends.
pub struct Process(Child);

impl Process {
    /// Runs the test of that name in a child, with these variables.
    pub fn run(test: &str, variables: &[(&str, &str)]) -> Self {
        let child = Command::new(std::env::current_exe().expect("a running binary"))
            .args([test, "--exact", "--nocapture"])
            .env(ROLE, "1")
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        Self(child)
    }

    /// Reads the address that the child has written.
    pub fn address(&mut self) -> SocketAddr {
        let output = self.0.stdout.as_mut().expect("it is piped");
        for line in BufReader::new(output).lines() {
            let line = line.expect("text");
            if let Some((_, address)) = line.split_once(LISTENING) {
                return address.trim().parse().expect("an address");
            }
        }
        panic!("the child ended without an address");
    }

    /// Stops the process, and returns when every thread of it stands still.
    pub fn freeze(&self) {
        self.signal("STOP");
        let started = Instant::now();
        while !self.stands_still() {
            assert!(started.elapsed() < DEADLINE, "the process did not stop");
            std::thread::yield_now();
        }
    }

    fn stands_still(&self) -> bool {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.0.id())).expect("it lives");
        threads.flatten().all(|thread| {
            let text = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            // The state follows the name, which stands in brackets.
            text.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
        })
    }

    /// Sends a signal, `KILL` or `CONT`.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args([&format!("-{name}"), &self.0.id().to_string()]).status();
        assert!(status.expect("kill runs").success());
    }

    /// Waits for its end and tells whether its test passed.
    pub fn passed(mut self) -> bool {
        self.0.wait().expect("a child of ours").success()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
