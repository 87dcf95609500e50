//! HTTP clients for backends.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::arguments::Environment;
use reqwest::redirect::Policy;
use reqwest::{NoProxy, Proxy};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{VerifierBuilderError, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, InvalidDnsNameError, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

/// The time limit for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// The maximum time between two pieces of a response.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(60);
/// The maximum number of redirects, as in Go.
const REDIRECTS: usize = 10;
/// The user agent of the backends.
const USER_AGENT: &str = concat!("Weft/", env!("CARGO_PKG_VERSION"));

/// The settings of a client.
#[derive(Clone, Default)]
pub struct ClientSettings {
    /// Certificates in PEM that replace the system's roots.
    pub roots: Option<String>,
    /// The certificates and the key of the client, in PEM.
    pub identity: Option<(String, String)>,
    /// The checks of the server's certificate.
    pub check: Check,
    /// Whether redirects are followed.
    pub redirects: bool,
    /// The proxies. They replace the proxies of the environment.
    pub proxies: Proxies,
    /// The name that the server's certificate must have, if it differs from the host of the URL.
    pub server_name: Option<String>,
    /// The Unix socket of the server. If it is set, the client connects to the socket instead of the host of the URL.
    pub socket: Option<PathBuf>,
}

impl ClientSettings {
    /// The settings that the environment determines: proxies, and the file with the roots.
    pub fn of_environment(environment: Environment<'_>) -> ClientSettings {
        let first =
            |names: [&str; 2]| names.iter().find_map(|name| environment(name).filter(|value| !value.is_empty()));
        ClientSettings {
            // If the file does not exist, the system's roots are used, as in Go.
            roots: first(["SSL_CERT_FILE"; 2]).and_then(|path| std::fs::read_to_string(path).ok()),
            redirects: true,
            proxies: Proxies {
                http: first(["HTTP_PROXY", "http_proxy"]),
                https: first(["HTTPS_PROXY", "https_proxy"]),
                except: first(["NO_PROXY", "no_proxy"]),
            },
            ..ClientSettings::default()
        }
    }
}

/// The addresses of proxies.
#[derive(Clone, Default)]
pub struct Proxies {
    /// The proxy for URLs with the scheme `http`.
    pub http: Option<String>,
    /// The proxy for URLs with the scheme `https`.
    pub https: Option<String>,
    /// The hosts without a proxy, separated by commas.
    pub except: Option<String>,
}

/// The checks of a server's certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Check {
    /// The chain and the name are checked.
    #[default]
    Whole,
    /// Only the chain is checked.
    Chain,
    /// Nothing is checked.
    Nothing,
}

/// Why no connection can be made with some settings. The messages contain no secrets.
#[derive(Debug, thiserror::Error)]
pub enum ClientProblem {
    /// The settings of TLS contradict each other.
    #[error("{0}")]
    Tls(#[source] rustls::Error),
    /// The certificates of the authority cannot be used.
    #[error("{0}")]
    Authority(#[source] VerifierBuilderError),
    /// The expected name of the server is not a name of a host.
    #[error("the name of the server: {0}")]
    ServerName(#[source] InvalidDnsNameError),
    /// A certificate is damaged.
    #[error("{whose} cannot be read: {error}")]
    Certificate {
        /// The owner of the certificate.
        whose: CertificateOwner,
        /// What is wrong.
        error: pem::Error,
    },
    /// A text has no certificate.
    #[error("{0} is not in PEM form")]
    NotPem(CertificateOwner),
    /// The key of the client is damaged.
    #[error("the private key of the client cannot be read: {0}")]
    Key(#[source] pem::Error),
    /// The key of the client does not fit its certificate.
    #[error("the key of the client: {0}")]
    Identity(#[source] rustls::Error),
    /// The HTTP client cannot be made, for example because the address of a proxy is not valid.
    #[error("{}", reason(.0))]
    Http(#[source] reqwest::Error),
    /// The system has no Unix sockets.
    #[error("there are no Unix sockets on this system")]
    NoSockets,
}

/// The owner of a certificate in the settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateOwner {
    /// The client.
    Client,
    /// The authority that signs the certificates of servers.
    Authority,
}

impl fmt::Display for CertificateOwner {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            CertificateOwner::Client => "the certificate of the client",
            CertificateOwner::Authority => "the certificate of the authority",
        })
    }
}

/// Makes a client with these settings. If the settings have no proxies, the client uses the proxies of the environment.
///
/// # Errors
/// Returns an error if a certificate or the key is not valid.
pub fn client(settings: &ClientSettings) -> Result<reqwest::Client, ClientProblem> {
    let builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls_config(settings)?)
        .user_agent(USER_AGENT)
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(SILENCE_TIMEOUT)
        .redirect(if settings.redirects { Policy::limited(REDIRECTS) } else { Policy::none() });
    let mut builder = builder;
    if let Some(socket) = &settings.socket {
        builder = at_socket(builder, socket)?;
    }
    let Proxies { http, https, except } = &settings.proxies;
    let none = except.as_deref().and_then(NoProxy::from_string);
    let made = [http.as_deref().map(Proxy::http), https.as_deref().map(Proxy::https)];
    for proxy in made.into_iter().flatten() {
        builder = builder.proxy(proxy.map_err(ClientProblem::Http)?.no_proxy(none.clone()));
    }
    builder.build().map_err(ClientProblem::Http)
}

#[cfg(unix)]
fn at_socket(
    builder: reqwest::ClientBuilder,
    socket: &std::path::Path,
) -> Result<reqwest::ClientBuilder, ClientProblem> {
    Ok(builder.unix_socket(socket))
}

#[cfg(not(unix))]
fn at_socket(_: reqwest::ClientBuilder, _: &std::path::Path) -> Result<reqwest::ClientBuilder, ClientProblem> {
    Err(ClientProblem::NoSockets)
}

/// The settings of encrypted connections.
///
/// # Errors
/// Returns an error if a certificate or the key is not valid.
pub fn tls_config(settings: &ClientSettings) -> Result<ClientConfig, ClientProblem> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(ClientProblem::Tls)?;
    let builder = match (settings.check, &settings.server_name) {
        (Check::Whole, None) => builder.with_root_certificates(roots(settings.roots.as_deref())?),
        (Check::Nothing, _) => {
            let verifier = OwnVerifier { inner: None, name: None, provider };
            builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
        }
        (check, name) => {
            let roots = Arc::new(roots(settings.roots.as_deref())?);
            let inner = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider)).build();
            let inner = Some(inner.map_err(ClientProblem::Authority)?);
            let name = name.clone().filter(|_| check == Check::Whole).map(ServerName::try_from).transpose();
            let name = name.map_err(ClientProblem::ServerName)?;
            builder.dangerous().with_custom_certificate_verifier(Arc::new(OwnVerifier { inner, name, provider }))
        }
    };
    let Some((certificates, key)) = &settings.identity else { return Ok(builder.with_no_client_auth()) };
    let certificates = pem_certificates(certificates, CertificateOwner::Client)?;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(ClientProblem::Key)?;
    builder.with_client_auth_cert(certificates, key).map_err(ClientProblem::Identity)
}

fn roots(own: Option<&str>) -> Result<RootCertStore, ClientProblem> {
    let certificates = match own {
        Some(text) => pem_certificates(text, CertificateOwner::Authority)?,
        None => rustls_native_certs::load_native_certs().certs,
    };
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates);
    Ok(roots)
}

fn pem_certificates(text: &str, whose: CertificateOwner) -> Result<Vec<CertificateDer<'static>>, ClientProblem> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    let certificates = certificates.map_err(|error| ClientProblem::Certificate { whose, error })?;
    if certificates.is_empty() {
        return Err(ClientProblem::NotPem(whose));
    }
    Ok(certificates)
}

/// A verifier for settings that relax the usual checks of a certificate. With `inner`, checks the chain, and checks the
/// name in `name` instead of the host of the URL. Without `inner`, accepts every certificate. Always checks the
/// signatures of the handshake.
#[derive(Debug)]
struct OwnVerifier {
    inner: Option<Arc<WebPkiServerVerifier>>,
    /// The name that the certificate must have; `None` for any.
    name: Option<ServerName<'static>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for OwnVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        use rustls::CertificateError::{NotValidForName, NotValidForNameContext};
        let Some(inner) = &self.inner else { return Ok(ServerCertVerified::assertion()) };
        let name = self.name.as_ref().unwrap_or(server_name);
        match inner.verify_server_cert(end_entity, intermediates, name, ocsp_response, now) {
            // The inner verifier checks the name last. So the rest of the certificate is valid.
            Err(rustls::Error::InvalidCertificate(NotValidForName | NotValidForNameContext { .. }))
                if self.name.is_none() =>
            {
                Ok(ServerCertVerified::assertion())
            }
            answer => answer,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// The causes of a failed request. The URL is omitted, because it may contain secrets.
pub fn reason(error: &reqwest::Error) -> String {
    let mut texts = Vec::new();
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        texts.push(cause.to_string());
        next = cause.source();
    }
    // An error often repeats its cause.
    texts.dedup_by(|later, earlier| earlier.contains(later.as_str()));
    match (texts.is_empty(), error.is_timeout()) {
        (true, true) => "the time limit was exceeded".to_owned(),
        (true, false) => "the connection failed".to_owned(),
        (false, _) => texts.join(": "),
    }
}
