//! The root certificates for verifying servers.
//!
//! As in Go, `SSL_CERT_FILE` replaces the system's file of certificates, and `SSL_CERT_DIR` replaces the system's
//! directories. A variable that is not set replaces nothing. A server is trusted if its own certificate is one of the
//! roots. This includes certificates that are marked as certificates of an authority, as self-signed certificates
//! usually are.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_native_certs::{CertificateResult, load_certs_from_paths, load_native_certs};

use super::HttpError;
use super::settings::CertificatePlaces;

/// The directories where systems store one certificate in each file.
const SYSTEM_DIRECTORIES: [&str; 2] = ["/etc/ssl/certs", "/etc/pki/tls/certs"];
/// The files where systems store all certificates. The first one that exists is used.
const SYSTEM_FILES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The settings of secure connections.
pub(super) fn client_config(places: &CertificatePlaces) -> Result<ClientConfig, HttpError> {
    let (certificates, problems) = certificates(places);
    let mut roots = RootCertStore::empty();
    let (_, unusable) = roots.add_parsable_certificates(certificates.iter().cloned());
    if unusable > 0 {
        tracing::debug!("root certificates: {unusable} cannot be used");
    }
    if roots.is_empty() {
        let reason = if problems.is_empty() { "there are none".to_owned() } else { problems.join("; ") };
        return Err(HttpError::Setup(format!("there are no root certificates for verifying servers: {reason}")));
    }
    for problem in problems {
        tracing::debug!("root certificates: {problem}");
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let versions = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| HttpError::Setup(error.to_string()))?;
    let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|error| HttpError::Setup(error.to_string()))?;
    let verifier = Verifier { inner, known: certificates.iter().map(|certificate| certificate.to_vec()).collect() };
    // The method is called "dangerous" because a custom verifier can accept anything. This verifier accepts only one
    // more case: certificates that are roots themselves.
    Ok(versions.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth())
}

/// Verifies chains as usual, and accepts certificates that are roots themselves.
#[derive(Debug)]
struct Verifier {
    inner: Arc<WebPkiServerVerifier>,
    known: BTreeSet<Vec<u8>>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let checked = self.inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match checked {
            // The inner verifier has checked the dates of the certificate, but not its name.
            Err(rustls::Error::InvalidCertificate(problem))
                if is_authority(&problem) && self.known.contains(end_entity.as_ref()) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            checked => checked,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// Whether the only problem of a certificate is that it belongs to an authority.
fn is_authority(problem: &CertificateError) -> bool {
    let CertificateError::Other(other) = problem else { return false };
    other.0.downcast_ref::<webpki::Error>() == Some(&webpki::Error::CaUsedAsEndEntity)
}

/// The certificates, and the problems of their locations.
fn certificates(places: &CertificatePlaces) -> (Vec<CertificateDer<'static>>, Vec<String>) {
    let mut certificates = Vec::new();
    let mut problems = Vec::new();
    let mut take = |found: CertificateResult, named: bool| {
        certificates.extend(found.certs);
        if named {
            problems.extend(found.errors.iter().map(ToString::to_string));
        }
    };
    if places.file.is_none() && places.directories.is_none() {
        take(load_native_certs(), true);
        return (certificates, problems);
    }
    match &places.file {
        Some(file) => take(load_certs_from_paths(Some(file), None), true),
        None => {
            if let Some(file) = SYSTEM_FILES.iter().map(Path::new).find(|file| file.is_file()) {
                take(load_certs_from_paths(Some(file), None), false);
            }
        }
    }
    match &places.directories {
        Some(directories) => {
            directories.iter().for_each(|directory| take(load_certs_from_paths(None, Some(directory)), true));
        }
        None => {
            let there = SYSTEM_DIRECTORIES.iter().map(Path::new).filter(|directory| directory.is_dir());
            there.for_each(|directory| take(load_certs_from_paths(None, Some(directory)), false));
        }
    }
    (certificates, problems)
}
