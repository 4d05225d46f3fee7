//! The signals that end a process in order: the first drains, a second ends at once.

use std::process::ExitCode;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The exit status of a process that was told twice to end, as a shell shows an interrupted one.
const TOLD_TWICE: u8 = 130;

/// SIGTERM and SIGINT, from now on.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Begins to listen; before that a signal ends the process as usual.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub fn listen() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for the next of them.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    /// Runs `stop` to its end, or until the next signal.
    pub async fn unless_told_again(&mut self, stop: impl Future<Output = ()>) -> ExitCode {
        tokio::select! {
            () = stop => ExitCode::SUCCESS,
            () = self.next() => {
                tracing::warn!("told again to stop; what is in flight ends unknown");
                ExitCode::from(TOLD_TWICE)
            }
        }
    }
}
