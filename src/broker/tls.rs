//! Whom we trust and who we are when the connection is encrypted.
//!
//! Every file is read and looked into at start: a certificate that turns out wrong at the first reconnect, at night,
//! would be found too late.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};

use super::address::Address;
use super::config::Config;
use super::error::ConfigError;

/// Variables that would make the client library encrypt although `broker.tls` is `false`.
const LIBRARY_VARIABLES: [&str; 4] =
    ["KUBEMQ_TLS_CERT_FILE", "KUBEMQ_TLS_CERT_DATA", "KUBEMQ_TLS_CLIENT_CERT", "KUBEMQ_TLS_CLIENT_KEY"];

/// Makes `ring` the cryptography of the whole process. Calling it again does nothing.
pub fn install_crypto_provider() {
    // An error means that a provider is installed already, which is all we want.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// What encryption needs, read and checked. Cheap to clone.
#[derive(Clone)]
pub(super) struct Tls {
    trusted_pem: Arc<[u8]>,
    identity: Option<Identity>,
    server_name: Option<String>,
}

#[derive(Clone)]
struct Identity {
    certificate_pem: Arc<[u8]>,
    key_pem: Arc<[u8]>,
}

impl Tls {
    /// Reads the files that the configuration names; `None` when the connection is not encrypted.
    pub(super) fn load(config: &Config) -> Result<Option<Self>, ConfigError> {
        if !config.tls {
            let set = LIBRARY_VARIABLES.into_iter().find(|name| std::env::var_os(name).is_some());
            return set.map_or(Ok(None), |variable| Err(ConfigError::Environment { variable }));
        }
        let trusted_pem = match config.tls_ca_file.as_str() {
            "" => system_roots()?,
            path => certificates("tls_ca_file", path)?,
        };
        let identity = match config.tls_certificate_file.as_str() {
            "" => None,
            path => Some(Identity {
                certificate_pem: certificates("tls_certificate_file", path)?.into(),
                key_pem: key("tls_key_file", &config.tls_key_file)?.into(),
            }),
        };
        let server_name = Some(config.tls_server_name.clone()).filter(|name| !name.is_empty());
        if let Some(name) = &server_name {
            ServerName::try_from(name.as_str()).map_err(|_| ConfigError::OutOfRange {
                key: "tls_server_name",
                value: name.clone(),
                right: "a host name or an IP address",
            })?;
        }
        Ok(Some(Self { trusted_pem: trusted_pem.into(), identity, server_name }))
    }

    /// The same for the official client.
    pub(super) fn for_client(&self, address: &Address) -> kubemq::TlsConfig {
        kubemq::TlsConfig {
            ca_cert_pem: Some(self.trusted_pem.to_vec()),
            cert_pem: self.identity.as_ref().map(|identity| identity.certificate_pem.to_vec()),
            key_pem: self.identity.as_ref().map(|identity| identity.key_pem.to_vec()),
            server_name: Some(self.name_of(address)),
            ..kubemq::TlsConfig::default()
        }
    }

    /// The same for a plain gRPC endpoint.
    pub(super) fn for_endpoint(&self, address: &Address) -> tonic::transport::ClientTlsConfig {
        let trusted = tonic::transport::Certificate::from_pem(&self.trusted_pem);
        let tls = tonic::transport::ClientTlsConfig::new()
            .ca_certificate(trusted)
            .domain_name(self.name_of(address));
        match &self.identity {
            None => tls,
            Some(Identity { certificate_pem, key_pem }) => {
                tls.identity(tonic::transport::Identity::from_pem(certificate_pem, key_pem))
            }
        }
    }

    // Always given: left alone, the library would take an IPv6 host with its brackets and refuse it as a name.
    fn name_of(&self, address: &Address) -> String {
        self.server_name.clone().unwrap_or_else(|| address.host().to_owned())
    }
}

fn read(key: &'static str, path: &str) -> Result<Vec<u8>, ConfigError> {
    std::fs::read(path).map_err(|source| ConfigError::Unreadable { key, path: path.to_owned(), source })
}

fn certificates(key: &'static str, path: &str) -> Result<Vec<u8>, ConfigError> {
    let pem = read(key, path)?;
    let mut store = RootCertStore::empty();
    let all_valid = CertificateDer::pem_slice_iter(&pem)
        .all(|certificate| certificate.is_ok_and(|certificate| store.add(certificate).is_ok()));
    if !all_valid || store.is_empty() {
        return Err(ConfigError::Content { key, path: path.to_owned(), right: "certificates in PEM form" });
    }
    Ok(pem)
}

fn key(key: &'static str, path: &str) -> Result<Vec<u8>, ConfigError> {
    let pem = read(key, path)?;
    if PrivateKeyDer::from_pem_slice(&pem).is_err() {
        return Err(ConfigError::Content { key, path: path.to_owned(), right: "private key in PEM form" });
    }
    Ok(pem)
}

/// The system's trusted certificates as PEM, the only form that the client library takes.
fn system_roots() -> Result<Vec<u8>, ConfigError> {
    let mut store = RootCertStore::empty();
    let mut pem = String::new();
    for certificate in rustls_native_certs::load_native_certs().certs {
        // Systems carry old certificates that rustls does not read; one of them would make the library refuse all.
        if store.add(certificate.clone()).is_ok() {
            pem.push_str("-----BEGIN CERTIFICATE-----\n");
            pem.push_str(&STANDARD.encode(&certificate));
            pem.push_str("\n-----END CERTIFICATE-----\n");
        }
    }
    if store.is_empty() {
        return Err(ConfigError::NoSystemRoots);
    }
    Ok(pem.into_bytes())
}
