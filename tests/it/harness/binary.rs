//! The real program as a process of its own.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

use super::event::DEADLINE;

/// Names another program than the one built with the tests: CI gives the heavy tests the release build.
const PROGRAM: &str = "KUBEMQ_MCP_TEST_PROGRAM";

/// A running `kubemq-mcp`, killed when the test ends.
pub struct Binary {
    child: Child,
    ready: String,
    log: Arc<Mutex<String>>,
    store: PathBuf,
}

/// Where a process keeps its keys.
pub const STORE_PATH: &str = "KUBEMQ_MCP__STORE__PATH";

/// A place for the store of one process, which makes the directory itself.
fn fresh_store() -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let name = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("stores").join(name)
}

impl Binary {
    /// Starts it with these arguments and variables, and reads the line that it prints when it is ready.
    pub fn start(arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let binary = Self::launch(arguments, variables);
        assert!(binary.ready.contains("ready"), "not ready: {} {}", binary.ready, binary.log());
        binary
    }

    /// Starts it and reads its first line, which is empty when it ended without one.
    pub fn launch(arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let store = fresh_store();
        let mut child = Self::command(arguments, &[])
            .env(STORE_PATH, &store)
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let log = Arc::new(Mutex::new(String::new()));
        let (errors, kept) = (child.stderr.take().expect("it is piped"), Arc::clone(&log));
        std::thread::spawn(move || {
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                let mut log = kept.lock().unwrap_or_else(PoisonError::into_inner);
                log.push_str(&line);
                log.push('\n');
            }
        });
        let mut ready = String::new();
        BufReader::new(child.stdout.as_mut().expect("it is piped")).read_line(&mut ready).expect("a text");
        Self { child, ready, log, store }
    }

    /// The line that it printed first.
    pub fn first_line(&self) -> &str {
        &self.ready
    }

    /// The program with these arguments and variables and nothing else of ours in its environment.
    pub fn command(arguments: &[&str], variables: &[(&str, &str)]) -> Command {
        let program = std::env::var_os(PROGRAM).unwrap_or_else(|| env!("CARGO_BIN_EXE_kubemq-mcp").into());
        let mut command = Command::new(program);
        command.env(STORE_PATH, fresh_store());
        command.args(arguments).envs(variables.iter().copied()).current_dir(env!("CARGO_TARGET_TMPDIR"));
        command
    }

    /// The word of the ready line that contains this, without punctuation around it: a URL, an address.
    pub fn word(&self, part: &str) -> String {
        let mut words = self.ready.split_whitespace().map(|word| word.trim_matches(['(', ')', ',']));
        words
            .find(|word| word.contains(part))
            .unwrap_or_else(|| panic!("no {part} in {}", self.ready))
            .to_owned()
    }

    /// The last word of the ready line: the address of the embedded broker.
    pub fn last_word(&self) -> String {
        let word = self.ready.split_whitespace().last().expect("a line");
        word.trim_matches(['(', ')', ',']).to_owned()
    }

    /// Where it keeps its keys.
    pub fn store(&self) -> &Path {
        &self.store
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What it has logged, once this stands in it so many times: a line is written before it is read here.
    pub fn logged(&self, text: &str, count: usize) -> String {
        let started = Instant::now();
        loop {
            let log = self.log();
            if log.matches(text).count() >= count {
                return log;
            }
            assert!(started.elapsed() < DEADLINE, "not {count} times `{text}` in {log}");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    /// Its resident memory, in KiB.
    pub fn resident_kib(&self) -> u64 {
        let mut text = String::new();
        let path = format!("/proc/{}/status", self.child.id());
        std::fs::File::open(path).and_then(|mut file| file.read_to_string(&mut text)).expect("it lives");
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux says so");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }

    /// Kills it, and waits until it is gone.
    pub fn kill(&mut self) {
        self.child.kill().expect("a child of ours");
        self.wait();
    }

    /// Sends it a signal, such as `TERM`.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(status.expect("kill runs").success());
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a child of ours") {
                return status;
            }
            assert!(started.elapsed() < DEADLINE, "it did not end: {}", self.log());
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}

impl Drop for Binary {
    fn drop(&mut self) {
        // All fail only when it has ended already, or kept nothing.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.store);
    }
}
