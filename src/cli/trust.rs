//! Whom a client of ours trusts when it connects with `https`, beside those that the system trusts.

use std::io;
use std::path::PathBuf;

use reqwest::Certificate;

/// Where the certificates are.
#[derive(Clone, Debug, Default, clap::Args)]
#[group(id = "trust")]
pub struct Source {
    /// A file with the certificate of whoever has signed the connector's, as PEM; those that the system trusts hold too
    #[arg(long, value_name = "FILE", global = true)]
    ca_file: Option<PathBuf>,
}

/// Why there is nobody to trust.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The file cannot be read.
    #[error("the file of certificates {} cannot be read: {cause}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The file holds something else.
    #[error("{} holds no certificate in PEM form", file.display())]
    Content {
        /// The file.
        file: PathBuf,
    },
}

impl Source {
    /// Reads them; none when no file is named.
    ///
    /// # Errors
    /// When the file cannot be read, or holds none.
    pub fn certificates(&self) -> Result<Vec<Certificate>, TrustError> {
        let Some(file) = &self.ca_file else { return Ok(Vec::new()) };
        let pem =
            std::fs::read(file).map_err(|cause| TrustError::Unreadable { file: file.clone(), cause })?;
        let certificates = Certificate::from_pem_bundle(&pem).ok();
        certificates
            .filter(|certificates| !certificates.is_empty())
            .ok_or_else(|| TrustError::Content { file: file.clone() })
    }
}
