//! TLS connections between the programs of a cluster.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::ServerName;
use rustls::{AlertDescription, CertificateError, ClientConfig, RootCertStore, ServerConfig, SupportedProtocolVersion};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

use crate::certificate::Certificate;
use crate::peer::Peer;

/// Only TLS 1.3, because both ends run Weft.
pub(crate) const VERSIONS: &[&SupportedProtocolVersion] = &[&rustls::version::TLS13];
/// The protocol inside TLS (RFC 9113).
pub(crate) const HTTP2: &[u8] = b"h2";

/// The implementation of the cryptography for TLS.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

/// The settings for requests to public servers, with the authorities of this system (`SSL_CERT_FILE`, `SSL_CERT_DIR`).
pub(crate) fn public_client() -> Result<ClientConfig, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in rustls_native_certs::load_native_certs().certs {
        // The system may have certificates that cannot be used. They are skipped.
        let _ = roots.add(certificate);
    }
    let config = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    let config = config.map_err(|error| TlsError::Client(error.to_string()))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("{path} cannot be read: {error}")]
    Unreadable {
        /// The file.
        path: String,
        /// The reason.
        error: String,
    },
    /// A file lacks the expected content, such as a certificate or a key.
    #[error("{path} contains no {what} in PEM format")]
    Empty {
        /// The file.
        path: String,
        /// What is missing.
        what: &'static str,
    },
    /// A server has no certificate.
    #[error(
        "a coordinator that listens on the network needs a certificate of its own: name it with -tls-cert and -tls-key"
    )]
    NoCertificate,
    /// The HTTP client for requests to issuers of tokens cannot be made.
    #[error("requests to issuers of tokens cannot be made: {0}")]
    Client(String),
    /// The content of a file cannot be used, for example because the key does not match the certificate.
    #[error("{path} cannot be used: {error}")]
    Unusable {
        /// The file.
        path: String,
        /// The reason.
        error: String,
    },
}

/// Why a connection failed, for the message to the user. Both sides describe the same problem with the same text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TlsFailure {
    /// A certificate has expired.
    #[error("the certificate of {0} has expired")]
    Expired(ConnectionSide),
    /// A certificate is not valid yet.
    #[error("the certificate of {0} is not valid yet: compare the clocks of both machines")]
    NotYetValid(ConnectionSide),
    /// The certificate comes from an authority that the other side does not trust.
    #[error("the certificate of {0} was not issued by an authority that the other side trusts (-tls-ca)")]
    UnknownAuthority(ConnectionSide),
    /// The caller has no certificate, but the coordinator requires a certificate.
    #[error("the coordinator needs a certificate: name it with -tls-cert and -tls-key")]
    CertificateRequired,
    /// The certificate is for another host.
    #[error("the certificate of the coordinator is not for this host: issue a certificate with -host {0}")]
    WrongHost(String),
    /// The certificate is refused for another reason.
    #[error("the certificate of {0} was refused")]
    BadCertificate(ConnectionSide),
    /// The other side does not speak TLS.
    #[error("the other side does not use TLS")]
    NotTls,
    /// Any other failure.
    #[error("{0}")]
    Other(String),
}

/// A side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionSide {
    /// The side that connects: a command line or a worker.
    Caller,
    /// The side that listens.
    Coordinator,
}

impl std::fmt::Display for ConnectionSide {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            ConnectionSide::Caller => "the caller",
            ConnectionSide::Coordinator => "the coordinator",
        })
    }
}

impl TlsFailure {
    /// The TLS failure that caused an error of a stream. `seen_from` is the side that saw the error. `None` if TLS did
    /// not cause the error.
    pub fn of(error: &std::io::Error, seen_from: ConnectionSide) -> Option<TlsFailure> {
        let error = error.get_ref()?.downcast_ref::<rustls::Error>()?;
        Some(TlsFailure::of_rustls(error, seen_from))
    }

    fn of_rustls(error: &rustls::Error, seen_from: ConnectionSide) -> TlsFailure {
        let other = match seen_from {
            ConnectionSide::Caller => ConnectionSide::Coordinator,
            ConnectionSide::Coordinator => ConnectionSide::Caller,
        };
        match error {
            rustls::Error::InvalidCertificate(error) => match error {
                CertificateError::Expired | CertificateError::ExpiredContext { .. } => TlsFailure::Expired(other),
                CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                    TlsFailure::NotYetValid(other)
                }
                CertificateError::UnknownIssuer | CertificateError::BadSignature => TlsFailure::UnknownAuthority(other),
                CertificateError::NotValidForNameContext { expected, .. } => {
                    TlsFailure::WrongHost(expected.to_str().into_owned())
                }
                _ => TlsFailure::BadCertificate(other),
            },
            rustls::Error::NoCertificatesPresented => TlsFailure::CertificateRequired,
            rustls::Error::AlertReceived(alert) => match alert {
                AlertDescription::CertificateExpired => TlsFailure::Expired(seen_from),
                AlertDescription::UnknownCA | AlertDescription::DecryptError => TlsFailure::UnknownAuthority(seen_from),
                AlertDescription::CertificateRequired => TlsFailure::CertificateRequired,
                AlertDescription::BadCertificate
                | AlertDescription::CertificateUnknown
                | AlertDescription::UnsupportedCertificate => TlsFailure::BadCertificate(seen_from),
                _ => TlsFailure::Other(error.to_string()),
            },
            rustls::Error::InvalidMessage(_) => TlsFailure::NotTls,
            error => TlsFailure::Other(error.to_string()),
        }
    }
}

/// Why a connection was not accepted or made.
#[derive(Debug, thiserror::Error)]
pub enum TlsHandshakeError {
    /// TLS failed.
    #[error(transparent)]
    Tls(#[from] TlsFailure),
    /// The stream failed.
    #[error(transparent)]
    Stream(std::io::Error),
}

impl TlsHandshakeError {
    fn of(error: std::io::Error, seen_from: ConnectionSide) -> TlsHandshakeError {
        TlsFailure::of(&error, seen_from).map_or(TlsHandshakeError::Stream(error), TlsHandshakeError::Tls)
    }
}

/// Accepts a connection. Returns the stream and its peer.
///
/// # Errors
/// Returns an error if the client's certificate is refused, or if the stream fails. The error includes the stream. TLS
/// has already sent the reason of a refusal, so keep the stream open until the client has read the reason.
pub async fn accept(
    stream: TcpStream,
    config: Arc<ServerConfig>,
) -> Result<(server::TlsStream<TcpStream>, Peer), (TlsHandshakeError, TcpStream)> {
    let accepted = TlsAcceptor::from(config).accept(stream).into_fallible().await;
    let stream =
        accepted.map_err(|(error, stream)| (TlsHandshakeError::of(error, ConnectionSide::Coordinator), stream))?;
    let certificate = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
    let peer = match certificate.map(|certificate| Certificate::read(certificate)) {
        None => Peer::Unknown,
        Some(Ok(Certificate { name: Some(name), .. })) => Peer::Certificate(name),
        Some(_) => Peer::Nameless,
    };
    Ok((stream, peer))
}

/// Connects to a host. The certificate of the host must be valid for the name `host`.
///
/// # Errors
/// Returns an error if the host's certificate is refused, or if the stream fails. A host that refuses the certificate
/// of the client reports the refusal only in its first response.
pub async fn connect(
    host: &str,
    stream: TcpStream,
    config: Arc<ClientConfig>,
) -> Result<client::TlsStream<TcpStream>, TlsHandshakeError> {
    let name = ServerName::try_from(host.to_owned()).map_err(|error| TlsFailure::Other(error.to_string()))?;
    let connected = TlsConnector::from(config).connect(name, stream).await;
    connected.map_err(|error| TlsHandshakeError::of(error, ConnectionSide::Caller))
}
