//! The door of the audit: intents that are waited for, and notes that are not.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use super::file::{OpenError, Target};
use super::metrics::Metrics;
use super::writer::{self, Work};
use super::{Config, Line};

/// Lines that wait for the thread. A call makes two, so that is a thousand calls that end while one batch is written.
const LINES_WAITING_MAX: usize = 4_096;

/// How long an intent may take. Longer means that its disk hangs.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// The audit; a clone is one count. The default writes nothing.
#[derive(Clone, Debug, Default)]
pub struct Audit(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    lines: mpsc::Sender<Work>,
    health: Arc<Health>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// A line that has to be there cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the audit cannot be written")]
pub struct Unavailable;

/// Whether lines are written, and how many are lost since the last that was.
#[derive(Debug, Default)]
pub(super) struct Health {
    lost: AtomicU64,
    failure: Mutex<Option<String>>,
}

impl Health {
    /// Lines that were lost and not told yet.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Acquire)
    }

    /// Lines are written again, and those lost have been told.
    pub fn found(&self, told: u64) {
        self.lost.fetch_sub(told, Ordering::AcqRel);
        if self.failure().take().is_some() {
            tracing::info!(lines_lost = told, "the audit is written again");
            Metrics::get().up.set(1.0);
        }
    }

    /// Lines could not be written.
    pub fn fail(&self, reason: String, lost: u64) {
        self.lose(lost);
        let mut failure = self.failure();
        if failure.is_none() {
            tracing::error!(reason, "the audit cannot be written; commands are refused until it can");
            Metrics::get().up.set(0.0);
        }
        *failure = Some(reason);
    }

    fn lose(&self, lines: u64) {
        self.lost.fetch_add(lines, Ordering::AcqRel);
        Metrics::get().lost.increment(lines);
    }

    fn failure(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Audit {
    /// Opens it, if there is to be one, and starts its thread.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn start(config: &Config) -> Result<Self, OpenError> {
        if !config.is_on() {
            return Ok(Self::default());
        }
        let target = Target::open(config)?;
        let (lines, inbox) = mpsc::channel(LINES_WAITING_MAX);
        let health = Arc::new(Health::default());
        let shown = Arc::clone(&health);
        let thread = std::thread::Builder::new()
            .name("audit".into())
            .spawn(move || writer::run(target, inbox, &shown))
            .map_err(|source| OpenError { path: (&config.path).into(), source })?;
        Ok(Self(Some(Arc::new(Inner { lines, health, thread: Mutex::new(Some(thread)) }))))
    }

    /// Writes the line of a command that is about to leave, and returns when it is written. `line` is called only when
    /// there is an audit.
    ///
    /// # Errors
    /// When it cannot be written: then the command must not leave.
    pub async fn intend(&self, line: impl FnOnce() -> Line) -> Result<(), Unavailable> {
        let Some(inner) = &self.0 else { return Ok(()) };
        let (waiter, written) = oneshot::channel();
        let work = Work::Write { line: line(), waiter: Some(waiter) };
        let whole = async {
            inner.lines.send(work).await.map_err(|_| Unavailable)?;
            written.await.map_err(|_| Unavailable)
        };
        match tokio::time::timeout(PATIENCE, whole).await {
            Ok(Ok(true)) => Ok(()),
            Ok(Ok(false) | Err(Unavailable)) | Err(_) => Err(Unavailable),
        }
    }

    /// Writes a line of what has happened already. One that finds no room is lost, counted, and told as a gap.
    pub fn note(&self, line: impl FnOnce() -> Line) {
        let Some(inner) = &self.0 else { return };
        if inner.lines.try_send(Work::Write { line: line(), waiter: None }).is_err() {
            inner.health.lose(1);
        }
    }

    /// Whether lines can be written.
    ///
    /// # Errors
    /// Says why not.
    pub fn health(&self) -> Result<(), String> {
        let failure = self.0.as_ref().and_then(|inner| inner.health.failure().clone());
        failure.map_or(Ok(()), Err)
    }

    /// Writes what waits and ends the thread.
    pub async fn close(&self) {
        let Some(inner) = &self.0 else { return };
        let (waiter, written) = oneshot::channel();
        if inner.lines.send(Work::Stop { waiter }).await.is_ok() {
            // Dropped unanswered when the thread has ended already.
            let _ = written.await;
        }
        let thread = inner.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::SystemTime;

    use super::super::What;
    use super::*;

    fn audit(path: &Path) -> Audit {
        Audit::start(&Config { path: path.to_str().unwrap().into(), ..Config::default() }).unwrap()
    }

    fn line(what: What) -> Line {
        Line::new(what, SystemTime::UNIX_EPOCH)
    }

    fn kinds(path: &Path) -> Vec<String> {
        let text = std::fs::read_to_string(path).unwrap();
        let kind = |line: &str| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["kind"].as_str().unwrap().to_owned()
        };
        text.lines().filter(|line| !line.is_empty()).map(kind).collect()
    }

    #[tokio::test]
    async fn an_intent_is_written_when_it_returns_and_notes_follow_in_their_order() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.jsonl");
        let audit = audit(&path);
        audit.intend(|| line(What::Intent)).await.unwrap();
        assert_eq!(kinds(&path), ["intent"]);
        audit.note(|| line(What::Outcome));
        audit.note(|| line(What::Query));
        audit.close().await;
        assert_eq!(kinds(&path), ["intent", "outcome", "query"]);
        assert_eq!(
            audit.intend(|| line(What::Intent)).await,
            Err(Unavailable),
            "a closed audit writes nothing"
        );
    }

    #[tokio::test]
    async fn without_an_audit_nothing_is_written_and_everything_may_leave() {
        let audit = Audit::start(&Config::default()).unwrap();
        assert_eq!(audit.intend(|| unreachable!()).await, Ok(()));
        audit.note(|| unreachable!());
        audit.close().await;
    }

    #[tokio::test]
    async fn what_was_lost_is_told_as_a_gap_once_lines_are_written_again() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path().join("folder");
        std::fs::create_dir(&folder).unwrap();
        let path = folder.join("audit.jsonl");
        // Every line is put in a file of its own, so that a folder that is gone is noticed at the next.
        let config = Config { path: path.to_str().unwrap().into(), file_bytes_max: 1, ..Config::default() };
        let audit = Audit::start(&config).unwrap();
        audit.intend(|| line(What::Intent)).await.unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        audit.note(|| line(What::Outcome));
        assert_eq!(audit.intend(|| line(What::Intent)).await, Err(Unavailable));
        assert!(audit.health().is_err());
        std::fs::create_dir(&folder).unwrap();
        audit.intend(|| line(What::Intent)).await.unwrap();
        assert_eq!(audit.health(), Ok(()));
        assert_eq!(kinds(&path), ["gap", "intent"]);
        assert!(std::fs::read_to_string(&path).unwrap().contains("\"lines_lost\":1"));
        audit.close().await;
    }
}
