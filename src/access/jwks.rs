//! The keys of the issuer while they change: read at start, read again in time, and once more when a JWT means a key that is
//! not there.
//!
//! Without keys at start nothing starts. Later the old keys stay: an issuer that is away for a while must not lock everybody
//! out, and its age tells an operator.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use tokio::time::Instant;

use super::config::Config;
use super::error::JwksError;
use super::fetch::Place;
use super::file::{self, Stamp};
use super::jwt::{JWKS_BYTES_MAX, Keys, Rules};
use super::metrics::Metrics;
use super::refusal::Refusal;
use crate::domain::Subject;

/// Between two reads because of a key that is not there. Anybody can make such a JWT, so it is also the most often that
/// strangers can make us ask the issuer.
const UNKNOWN_KEY_PAUSE: Duration = Duration::from_secs(10);

/// Between a read that failed and the next, unless `auth.jwks_refresh_seconds` is less.
const RETRY_PAUSE: Duration = Duration::from_secs(15);

/// The issuer: its rules and its keys.
pub struct Jwks {
    rules: Rules,
    source: Source,
    refresh: Duration,
    keys: RwLock<Arc<Keys>>,
    /// Held while the source is read, so that it is read once for all who wait.
    read: tokio::sync::Mutex<Read>,
    /// When the keys were last known to be those of the source.
    well: Mutex<Instant>,
}

enum Source {
    File(PathBuf),
    Url(Place),
}

/// The last read.
struct Read {
    began: Instant,
    /// What was there, of a file.
    stamp: Option<Stamp>,
    outcome: Outcome,
    /// When it was last read because of a key that was not there.
    for_unknown: Option<Instant>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Taken,
    Failed,
}

impl Jwks {
    /// Reads the keys.
    ///
    /// # Errors
    /// When they cannot be read or are wrong.
    pub async fn load(config: &Config) -> Result<Arc<Self>, JwksError> {
        let rules = Rules::new(config);
        let source = match config.jwks_file.as_str() {
            "" => Source::Url(Place::new(&config.jwks_url)?),
            path => Source::File(path.into()),
        };
        let began = Instant::now();
        // Before the content, so that a change between the two is seen at the next look.
        let stamp = source.stamp();
        let keys = source.keys(&rules).await?;
        source.tell(&keys);
        let read = Read { began, stamp, outcome: Outcome::Taken, for_unknown: None };
        Ok(Arc::new(Self {
            rules,
            source,
            refresh: Duration::from_secs(config.jwks_refresh_seconds),
            keys: RwLock::new(Arc::new(keys)),
            read: tokio::sync::Mutex::new(read),
            well: Mutex::new(began),
        }))
    }

    /// Judges a JWT; one that means a key which is not there waits for one more read, if there was none just now.
    ///
    /// # Errors
    /// Why it lets nobody in.
    pub async fn judge(self: &Arc<Self>, token: &str) -> Result<Subject, Refusal> {
        let keys = self.keys();
        match self.rules.judge(&keys, token) {
            Err(Refusal::UnknownKey) => {
                self.read_for_unknown(keys).await;
                self.rules.judge(&self.keys(), token)
            }
            judged => judged,
        }
    }

    /// Reads the source again when it is time.
    pub async fn look(&self) {
        let mut read = self.read.lock().await;
        let due = match &self.source {
            Source::File(_) => self.source.stamp() != read.stamp,
            Source::Url(_) => read.began.elapsed() >= self.pause(read.outcome),
        };
        if due {
            self.read_now(&mut read).await;
        } else if matches!(self.source, Source::File(_)) && read.outcome == Outcome::Taken {
            self.note_well(Instant::now());
        }
        drop(read);
        let age = self.well.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
        Metrics::get().jwks_age(age);
    }

    fn pause(&self, outcome: Outcome) -> Duration {
        match outcome {
            Outcome::Taken => self.refresh,
            Outcome::Failed => self.refresh.min(RETRY_PAUSE),
        }
    }

    /// In a task of its own: a caller that leaves must not break off what others wait for.
    async fn read_for_unknown(self: &Arc<Self>, seen: Arc<Keys>) {
        let issuer = Arc::clone(self);
        let reading = tokio::spawn(async move {
            let mut read = issuer.read.lock().await;
            let is_news = !Arc::ptr_eq(&seen, &issuer.keys());
            if !is_news && read.for_unknown.is_none_or(|last| last.elapsed() >= UNKNOWN_KEY_PAUSE) {
                read.for_unknown = Some(Instant::now());
                issuer.read_now(&mut read).await;
            }
        });
        // An error is a panic, which the log has; the old keys stay.
        let _ = reading.await;
    }

    async fn read_now(&self, read: &mut Read) {
        read.began = Instant::now();
        read.stamp = self.source.stamp();
        match self.source.keys(&self.rules).await {
            Ok(keys) => {
                read.outcome = Outcome::Taken;
                Metrics::get().jwks_taken.increment(1);
                self.source.tell(&keys);
                *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
                self.note_well(read.began);
            }
            Err(error) => {
                read.outcome = Outcome::Failed;
                Metrics::get().jwks_failed.increment(1);
                tracing::error!(%error, "key set not taken, the old keys stay");
            }
        }
    }

    fn note_well(&self, when: Instant) {
        *self.well.lock().unwrap_or_else(PoisonError::into_inner) = when;
    }

    fn keys(&self) -> Arc<Keys> {
        Arc::clone(&self.keys.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Source {
    fn stamp(&self) -> Option<Stamp> {
        match self {
            Self::File(path) => file::stamp(path),
            Self::Url(_) => None,
        }
    }

    async fn keys(&self, rules: &Rules) -> Result<Keys, JwksError> {
        let (place, bytes) = match self {
            Self::Url(place) => (place.as_str().to_owned(), place.fetch().await?),
            Self::File(path) => {
                let shown = path.display().to_string();
                let (path, named) = (path.clone(), shown.clone());
                // On a thread of its own: a file system that hangs must not hold up a call.
                let read = tokio::task::spawn_blocking(move || file::bounded(&path, JWKS_BYTES_MAX)).await;
                let read = read.unwrap_or_else(|panic| Err(std::io::Error::other(panic)));
                let bytes = read.map_err(|cause| JwksError::Unreadable { path: named.clone(), cause })?;
                (shown, bytes.ok_or(JwksError::TooLarge { place: named })?)
            }
        };
        Keys::parse(&bytes, rules.algorithms()).map_err(|mistake| JwksError::Wrong { place, mistake })
    }

    fn tell(&self, keys: &Keys) {
        let source = match self {
            Self::File(path) => path.display().to_string(),
            Self::Url(place) => place.as_str().to_owned(),
        };
        Metrics::get().jwks_keys(keys.len());
        tracing::info!(source, keys = keys.len(), skipped = keys.skipped(), "key set read");
    }
}
