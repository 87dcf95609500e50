//! TLS settings from files that may change while the program runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tracing::{info, warn};

use crate::certificate::Certificate;
use crate::tls::{self, TlsError};

/// The minimum time between two checks of the files.
const LOOK: Duration = Duration::from_secs(1);
/// The time between two warnings about a certificate that expires soon.
const ANNOUNCE: Duration = Duration::from_secs(24 * 3600);
/// The maximum number of certificates in a file.
const MAX_CERTIFICATES: usize = 10_000;

/// The TLS files of a program: the authorities that the program trusts, and its own certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// Certificates of the authorities that are trusted (PEM).
    pub authorities: PathBuf,
    /// The program's own certificate and its key (PEM). `None` for a program that has a token instead.
    pub own: Option<OwnFiles>,
}

/// The files of the program's own certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnFiles {
    /// The certificate, followed by intermediate certificates.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// The parsed content of [`TlsFiles`].
struct Material {
    authorities: Arc<RootCertStore>,
    own: Option<Own>,
}

struct Own {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    read: Certificate,
}

impl TlsFiles {
    fn read(&self) -> Result<Material, TlsError> {
        let mut authorities = RootCertStore::empty();
        for certificate in certificates(&self.authorities)? {
            authorities.add(certificate).map_err(|error| unusable(&self.authorities, &error))?;
        }
        let own = self.own.as_ref().map(OwnFiles::read).transpose()?;
        Ok(Material { authorities: Arc::new(authorities), own })
    }

    /// The modification times of the files. A different time means that a file has changed.
    fn stamps(&self) -> Vec<Option<SystemTime>> {
        let own = self.own.iter().flat_map(|own| [&own.certificate, &own.key]);
        let files = std::iter::once(&self.authorities).chain(own);
        files.map(|file| std::fs::metadata(file).and_then(|file| file.modified()).ok()).collect()
    }
}

impl OwnFiles {
    fn read(&self) -> Result<Own, TlsError> {
        let chain = certificates(&self.certificate)?;
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(|error| match error {
            rustls::pki_types::pem::Error::NoItemsFound => {
                TlsError::Empty { path: self.key.display().to_string(), what: "private key" }
            }
            error => unreadable(&self.key, &error),
        })?;
        let first = chain.first().map(AsRef::as_ref).unwrap_or_default();
        let read = Certificate::read(first).map_err(|error| unreadable(&self.certificate, &error))?;
        Ok(Own { chain, key, read })
    }
}

/// The certificates of a PEM file, which must contain at least one certificate.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let all = CertificateDer::pem_file_iter(path).map_err(|error| unreadable(path, &error))?;
    let all: Result<Vec<_>, _> = all.take(MAX_CERTIFICATES).collect();
    let all = all.map_err(|error| unreadable(path, &error))?;
    if all.is_empty() {
        return Err(TlsError::Empty { path: path.display().to_string(), what: "certificate" });
    }
    Ok(all)
}

fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> TlsError {
    TlsError::Unreadable { path: path.display().to_string(), error: error.to_string() }
}

fn unusable(path: &Path, error: &dyn std::fmt::Display) -> TlsError {
    TlsError::Unusable { path: path.display().to_string(), error: error.to_string() }
}

/// Who may connect to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callers {
    /// Only callers with a certificate.
    WithCertificate,
    /// All callers. A caller without a certificate must present a token.
    WithCertificateOrToken,
}

/// The TLS settings of one side of a connection. The settings are built from files, and rebuilt when the files change.
pub struct Reloading<C> {
    files: TlsFiles,
    make: Box<dyn Fn(Material) -> Result<C, TlsError> + Send + Sync>,
    loaded: Mutex<Loaded<C>>,
}

struct Loaded<C> {
    config: Arc<C>,
    own: Option<Certificate>,
    stamps: Vec<Option<SystemTime>>,
    looked: Instant,
    announced: Option<Instant>,
}

impl<C> std::fmt::Debug for Reloading<C> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Reloading({})", self.files.authorities.display())
    }
}

impl Reloading<ServerConfig> {
    /// The settings of a server.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read or used, or if the server has no certificate.
    pub fn server(files: TlsFiles, callers: Callers) -> Result<Reloading<ServerConfig>, TlsError> {
        let path = files.own.as_ref().ok_or(TlsError::NoCertificate)?.certificate.clone();
        Reloading::new(files, move |material| {
            let own = material.own.ok_or(TlsError::NoCertificate)?;
            let verifier = WebPkiClientVerifier::builder_with_provider(material.authorities, tls::provider());
            let verifier = match callers {
                Callers::WithCertificate => verifier,
                Callers::WithCertificateOrToken => verifier.allow_unauthenticated(),
            };
            let verifier = verifier.build().map_err(|error| unusable(&path, &error))?;
            let config = ServerConfig::builder_with_provider(tls::provider())
                .with_protocol_versions(tls::VERSIONS)
                .map_err(|error| unusable(&path, &error))?
                .with_client_cert_verifier(verifier)
                .with_single_cert(own.chain, own.key);
            let mut config = config.map_err(|error| unusable(&path, &error))?;
            config.alpn_protocols = vec![tls::HTTP2.to_vec()];
            Ok(config)
        })
    }
}

impl Reloading<ClientConfig> {
    /// The settings of a client.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read or used.
    pub fn client(files: TlsFiles) -> Result<Reloading<ClientConfig>, TlsError> {
        let path = files.own.as_ref().map_or_else(|| files.authorities.clone(), |own| own.certificate.clone());
        Reloading::new(files, move |material| {
            let config = ClientConfig::builder_with_provider(tls::provider())
                .with_protocol_versions(tls::VERSIONS)
                .map_err(|error| unusable(&path, &error))?
                .with_root_certificates(material.authorities);
            let mut config = match material.own {
                Some(own) => {
                    config.with_client_auth_cert(own.chain, own.key).map_err(|error| unusable(&path, &error))?
                }
                None => config.with_no_client_auth(),
            };
            config.alpn_protocols = vec![tls::HTTP2.to_vec()];
            Ok(config)
        })
    }
}

impl<C> Reloading<C> {
    fn new(
        files: TlsFiles,
        make: impl Fn(Material) -> Result<C, TlsError> + Send + Sync + 'static,
    ) -> Result<Reloading<C>, TlsError> {
        let stamps = files.stamps();
        let material = files.read()?;
        let own = material.own.as_ref().map(|own| own.read.clone());
        let config = Arc::new(make(material)?);
        let loaded = Loaded { config, own, stamps, looked: Instant::now(), announced: None };
        let reloading = Reloading { files, make: Box::new(make), loaded: Mutex::new(loaded) };
        reloading.announce(&mut reloading.loaded.lock());
        Ok(reloading)
    }

    /// The program's own certificate, as last read.
    pub fn own(&self) -> Option<Certificate> {
        self.loaded.lock().own.clone()
    }

    /// The settings for the next connection. Reads the files again if they have changed. If the new files cannot be
    /// used, logs a warning and keeps the previous settings.
    pub fn current(&self) -> Arc<C> {
        let mut loaded = self.loaded.lock();
        if loaded.looked.elapsed() >= LOOK {
            loaded.looked = Instant::now();
            let stamps = self.files.stamps();
            if stamps != loaded.stamps {
                loaded.stamps = stamps;
                self.reload(&mut loaded);
            }
            self.announce(&mut loaded);
        }
        Arc::clone(&loaded.config)
    }

    fn reload(&self, loaded: &mut Loaded<C>) {
        let made = self.files.read().and_then(|material| {
            let own = material.own.as_ref().map(|own| own.read.clone());
            (self.make)(material).map(|config| (config, own))
        });
        match made {
            Ok((config, own)) => {
                info!("the TLS files were read again");
                loaded.config = Arc::new(config);
                loaded.own = own;
                loaded.announced = None;
            }
            Err(error) => {
                warn!("the TLS files have changed and cannot be used, so the previous files stay in use: {error}")
            }
        }
    }

    /// Warns about a certificate that expires soon.
    fn announce(&self, loaded: &mut Loaded<C>) {
        let Some(days) = loaded.own.as_ref().and_then(|own| own.days_left(SystemTime::now())) else { return };
        if loaded.announced.is_some_and(|announced| announced.elapsed() < ANNOUNCE) {
            return;
        }
        loaded.announced = Some(Instant::now());
        let path = self.files.own.as_ref().map(|own| own.certificate.display().to_string()).unwrap_or_default();
        warn!(
            days,
            "the certificate {path} expires in {days} days: replace the file. This process reads the new file without \
             a restart"
        );
    }
}
