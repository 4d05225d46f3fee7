//! The encryption of a listener: one certificate for all connections, read again when its files change.
//!
//! Files that are wrong at start stop the start. Later the old certificate stays: a renewal that went wrong must not cut
//! everybody off.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::time::MissedTickBehavior;
use tokio_rustls::TlsAcceptor;

use super::metrics::Metrics;
use crate::access::{Stamp, stamp};

/// Between two looks at the files.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What is spoken inside, the preferred first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// The certificate of a listener; a clone is a count.
#[derive(Clone)]
pub struct Tls {
    inner: Arc<Inner>,
}

struct Inner {
    certificate: PathBuf,
    key: PathBuf,
    current: RwLock<Arc<ServerConfig>>,
    seen: Mutex<[Option<Stamp>; 2]>,
}

/// Why the files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("`{}` (`{option}`) cannot be read", path.display())]
    Unreadable {
        /// The option that names it.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A file holds something else.
    #[error("`{}` (`{option}`) holds no {right} in PEM form", path.display())]
    Content {
        /// The option that names it.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// What it should hold.
        right: &'static str,
    },
    /// The two do not go together, or are of a kind that cannot be used.
    #[error("the certificate `{}` and the key `{}` cannot be used together: {source}", certificate.display(), key.display())]
    Pair {
        /// The certificate.
        certificate: PathBuf,
        /// The key.
        key: PathBuf,
        /// What is wrong.
        source: rustls::Error,
    },
}

impl Tls {
    /// Reads a certificate and its key.
    ///
    /// # Errors
    /// When they cannot be read, or do not go together.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        // Before the content, so that a change between the two is seen at the next look.
        let seen = Mutex::new([stamp(certificate), stamp(key)]);
        let current = RwLock::new(Arc::new(read(certificate, key)?));
        let (certificate, key) = (certificate.to_owned(), key.to_owned());
        Ok(Self { inner: Arc::new(Inner { certificate, key, current, seen }) })
    }

    /// What a new connection is accepted with.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.inner.current.read().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Takes changes of the files into use, until dropped. Connections that are open keep what they have.
    pub async fn keep_up(self) {
        let mut looks = tokio::time::interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            let tls = self.clone();
            // On a thread of its own: a file system that hangs must not hold up a call.
            let _ = tokio::task::spawn_blocking(move || tls.look()).await;
        }
    }

    /// Reads the files again if one of them has changed. A wrong pair is told and counted once, not at every look: a
    /// renewal writes two files, and between the two they do not go together.
    fn look(&self) {
        let Inner { certificate, key, current, seen } = &*self.inner;
        let stamps = [stamp(certificate), stamp(key)];
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        if *seen == stamps {
            return;
        }
        *seen = stamps;
        match read(certificate, key) {
            Ok(config) => {
                *current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
                tracing::info!(file = %certificate.display(), "certificate read");
            }
            Err(error) => {
                Metrics::get().certificates_refused.increment(1);
                let reason = std::error::Error::source(&error).map_or(String::new(), ToString::to_string);
                tracing::error!(%error, reason, "certificate not taken, the old one stays");
            }
        }
    }
}

fn read(certificate: &Path, key: &Path) -> Result<ServerConfig, TlsError> {
    let chain = certificates(certificate)?;
    let pem = content("server.tls_key_file", key)?;
    let private =
        PrivateKeyDer::from_pem_slice(&pem).map_err(|_| wrong("server.tls_key_file", key, "private key"))?;
    // Named: a provider that some other part of the process might install must not decide this.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let built = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, private));
    let mut config = built.map_err(|source| TlsError::Pair {
        certificate: certificate.to_owned(),
        key: key.to_owned(),
        source,
    })?;
    config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
    Ok(config)
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    const OPTION: &str = "server.tls_certificate_file";
    let pem = content(OPTION, path)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    chain.ok().filter(|chain| !chain.is_empty()).ok_or_else(|| wrong(OPTION, path, "certificates"))
}

fn content(option: &'static str, path: &Path) -> Result<Vec<u8>, TlsError> {
    std::fs::read(path).map_err(|source| TlsError::Unreadable { option, path: path.to_owned(), source })
}

fn wrong(option: &'static str, path: &Path, right: &'static str) -> TlsError {
    TlsError::Content { option, path: path.to_owned(), right }
}
