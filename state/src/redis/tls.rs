//! TLS to a Redis server: the settings, which are read from files for each connection, and the reasons of failures.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{AlertDescription, CertificateError, ClientConfig, RootCertStore};

use super::problems::LoginFault;
use super::settings::RedisSettings;

/// The maximum number of certificates in a file. A system has a few hundred authorities.
const MOST_CERTIFICATES: usize = 10_000;

/// The TLS settings of the client, with the certificates and the key from their files.
///
/// # Errors
/// Returns an error if a file cannot be read, or if the key does not match the certificate.
pub(super) fn client(settings: &RedisSettings) -> Result<Arc<ClientConfig>, LoginFault> {
    let config = builder()?.with_root_certificates(authorities(settings)?);
    let Some((certificate, key)) = settings.certificate.as_deref().zip(settings.key.as_deref()) else {
        return Ok(Arc::new(config.with_no_client_auth()));
    };
    let chain = certificates(certificate)?;
    let unreadable = |error: rustls::pki_types::pem::Error| LoginFault::unreadable(key, &error);
    let private = PrivateKeyDer::from_pem_file(key).map_err(unreadable)?;
    let config = config.with_client_auth_cert(chain, private);
    config.map(Arc::new).map_err(|error| LoginFault::unreadable(certificate, &error))
}

/// Settings that trust no authority, to find out whether a server supports TLS at all.
///
/// # Errors
/// Returns an error if the cryptography library does not work.
pub(super) fn trustless() -> Result<Arc<ClientConfig>, LoginFault> {
    Ok(Arc::new(builder()?.with_root_certificates(RootCertStore::empty()).with_no_client_auth()))
}

fn builder() -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, LoginFault> {
    // TLS 1.2 is accepted, too, because the server may be a cloud service.
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    builder.with_safe_default_protocol_versions().map_err(|error| LoginFault::Other(error.to_string()))
}

fn authorities(settings: &RedisSettings) -> Result<RootCertStore, LoginFault> {
    let mut roots = RootCertStore::empty();
    match &settings.authorities {
        Some(path) => {
            for certificate in certificates(path)? {
                roots.add(certificate).map_err(|error| LoginFault::unreadable(path, &error))?;
            }
        }
        // A system may have unusable certificates, which are skipped.
        None => drop(roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
    }
    Ok(roots)
}

/// The certificates of a PEM file, at least one.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, LoginFault> {
    let unreadable = |error: rustls::pki_types::pem::Error| LoginFault::unreadable(path, &error);
    let all = CertificateDer::pem_file_iter(path).map_err(unreadable)?.take(MOST_CERTIFICATES);
    let all = all.collect::<Result<Vec<_>, _>>().map_err(unreadable)?;
    match all.is_empty() {
        true => Err(LoginFault::unreadable(path, &"it contains no certificate in PEM format")),
        false => Ok(all),
    }
}

/// The name that a certificate must have.
///
/// # Errors
/// Returns an error if the text is neither a host name nor an IP address.
pub(super) fn server_name(name: &str) -> Result<ServerName<'static>, LoginFault> {
    ServerName::try_from(name.to_owned()).map_err(|error| LoginFault::Other(format!("{name:?}: {error}")))
}

/// The reason why TLS failed, or `None` if the failure has another cause.
pub(super) fn fault(error: &io::Error, host: &str) -> Option<LoginFault> {
    Some(of_rustls(error.get_ref()?.downcast_ref::<rustls::Error>()?, host))
}

fn of_rustls(error: &rustls::Error, host: &str) -> LoginFault {
    match error {
        rustls::Error::InvalidCertificate(error) => match error {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => LoginFault::Expired,
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => LoginFault::NotYetValid,
            CertificateError::UnknownIssuer | CertificateError::BadSignature => LoginFault::UnknownAuthority,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                LoginFault::WrongHost(host.to_owned())
            }
            error => LoginFault::BadCertificate(error.to_string()),
        },
        rustls::Error::AlertReceived(alert) => match alert {
            AlertDescription::CertificateExpired => LoginFault::OwnExpired,
            AlertDescription::CertificateRequired => LoginFault::CertificateRequired,
            AlertDescription::HandshakeFailure => LoginFault::HandshakeRefused,
            AlertDescription::UnknownCA
            | AlertDescription::DecryptError
            | AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnsupportedCertificate => LoginFault::OwnRefused,
            alert => LoginFault::Other(format!("the server ended the TLS connection ({alert:?})")),
        },
        rustls::Error::InvalidMessage(_) => LoginFault::NotTls,
        error => LoginFault::Other(error.to_string()),
    }
}

/// Whether the answer to the first TLS message shows that the server supports TLS. An error about an untrusted
/// certificate shows this, too.
pub(super) fn is_spoken<Stream>(answer: &Result<Stream, io::Error>) -> bool {
    match answer {
        Ok(_) => true,
        Err(error) => match error.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>()) {
            Some(rustls::Error::InvalidMessage(_)) | None => false,
            Some(_) => true,
        },
    }
}
