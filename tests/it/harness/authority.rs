//! An authority that signs certificates for the tests, as files.

use std::path::{Path, PathBuf};

use kubemq_mcp::broker::install_crypto_provider;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

/// An authority and what it has signed.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    directory: tempfile::TempDir,
}

impl Authority {
    /// A fresh one; its own certificate is `ca.pem`.
    pub fn new() -> Self {
        install_crypto_provider();
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("a CA");
        let directory = tempfile::tempdir().expect("a directory");
        std::fs::write(directory.path().join("ca.pem"), issuer.pem()).expect("writable");
        Self { issuer, directory }
    }

    /// Its own certificate, as PEM.
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// The path of a file of it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Signs a certificate for a name, as PEM with its key.
    pub fn sign(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new([name.to_owned()]).expect("a valid name");
        (params.signed_by(&key, &self.issuer).expect("signed").pem(), key.serialize_pem())
    }

    /// Writes a fresh certificate and its key to these files.
    pub fn renew(&self, certificate: &Path, key: &Path) {
        let (certificate_pem, key_pem) = self.sign("127.0.0.1");
        std::fs::write(key, key_pem).expect("writable");
        std::fs::write(certificate, certificate_pem).expect("writable");
    }

    /// A client that trusts this authority alone.
    pub fn client(&self) -> reqwest::ClientBuilder {
        let pem = std::fs::read(self.path("ca.pem")).expect("it was written");
        let authority = reqwest::Certificate::from_pem(&pem).expect("a certificate");
        reqwest::Client::builder().no_proxy().tls_certs_only([authority])
    }
}
