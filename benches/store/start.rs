//! A start with a million live records: how long the program takes until it serves, and how much memory.

use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use kubemq_mcp::idempotency::View;
use tokio::time::Instant;

use super::sample;
use super::say;

const RECORDS: u64 = 1_000_000;

pub fn run() -> io::Result<()> {
    let directory = tempfile::tempdir_in(".")?;
    let store_directory = directory.path().join("store");
    let mut store = sample::open(&store_directory);
    sample::fill(&mut store, 0..RECORDS, 512);
    say(&format!("{RECORDS} live records in {} MiB", store.disk_bytes() >> 20))?;
    drop(store);
    // The second start finds the snapshot that the first has written.
    for start in ["first", "second"] {
        let begun = Instant::now();
        let program = Program::serving(directory.path(), &store_directory)?;
        let (resident, most) = sample::resident(&program.0.id().to_string());
        say(&format!(
            "  {start} start: serves after {:.1?}, {resident} MiB resident, at most {most}",
            begun.elapsed()
        ))?;
    }
    Ok(())
}

/// The program, which ends with this.
struct Program(Child);

impl Program {
    /// Starts it and waits until it serves.
    fn serving(directory: &Path, store: &Path) -> io::Result<Self> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_kubemq-mcp"))
            .args(["serve", "--listen", "127.0.0.1:0", "--embedded-listen", "127.0.0.1:0"])
            .env("KUBEMQ_MCP__STORE__PATH", store)
            // Away from any `config.toml`.
            .current_dir(directory)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut ready = String::new();
        BufReader::new(child.stdout.as_mut().expect("it is piped")).read_line(&mut ready)?;
        if ready.is_empty() { Err(io::Error::other("the program did not start")) } else { Ok(Self(child)) }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Like a crash: what it has written is durable.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
