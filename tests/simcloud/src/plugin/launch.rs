//! The start of a plugin process, as in go-plugin. The host passes a cookie and its certificate in environment
//! variables. One line on standard output contains the address to connect to. Each side identifies the other only by
//! its certificate.

use std::io::Write;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use futures::{StreamExt, stream};
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, ServerConfig, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tonic::transport::Server;
use tonic::transport::server::Connected;
use weft_proto::health::health_server::HealthServer;
use weft_proto::plugin::grpc_broker_server::GrpcBrokerServer;
use weft_proto::plugin::grpc_controller_server::GrpcControllerServer;
use weft_proto::plugin::grpc_stdio_server::GrpcStdioServer;
use weft_proto::tfplugin6::provider_server::ProviderServer;

use super::provider::CloudProvider;
use super::standing::{Broker, Controller, Stdio, Wellbeing};

/// The cookie. It proves that the process was started by a host, not by a user by accident.
pub const COOKIE: (&str, &str) =
    ("TF_PLUGIN_MAGIC_COOKIE", "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2");

/// The only protocol version that this plugin supports.
const PROTOCOL: &str = "6";

/// The maximum size of a message in either direction. Hosts allow this size for schemas, the largest messages.
const MAX_MESSAGE: usize = 64 << 20;

/// The maximum number of concurrent calls on a connection. Hosts make one call per operation. The plugin makes fewer
/// concurrent calls to the cloud than this.
const MAX_STREAMS: u32 = 1024;

/// The maximum number of concurrent handshakes. The host opens one connection, or two.
const MAX_HANDSHAKES: usize = 16;

/// Why the plugin does not start.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The program was not started by a host.
    #[error("this program is a provider plugin: only OpenTofu, Terraform or Weft can start it")]
    NotByHost,
    /// The host supports only other protocol versions.
    #[error("the host speaks plugin protocols {0}, this plugin speaks {PROTOCOL}")]
    Protocol(String),
    /// The host's certificate cannot be read.
    #[error("PLUGIN_CLIENT_CERT is not a certificate")]
    HostCertificate,
    /// The certificate of this process cannot be created.
    #[error("making a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// TLS cannot be set up.
    #[error("setting up TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// The socket cannot be used.
    #[error("the plugin's socket: {0}")]
    Socket(#[from] std::io::Error),
    /// Serving failed.
    #[error("serving: {0}")]
    Serve(#[from] tonic::transport::Error),
}

/// The environment that the host set up.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// The cookie.
    pub cookie: Option<String>,
    /// The protocol versions that the host supports, separated by commas.
    pub protocols: Option<String>,
    /// The host's certificate, PEM. Without one, there is no TLS.
    pub host_certificate: Option<String>,
    /// The directory for sockets. By default, the temporary directory.
    pub socket_folder: Option<PathBuf>,
}

impl Environment {
    /// The environment of this process.
    pub fn of_process() -> Environment {
        let text = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
        Environment {
            cookie: text(COOKIE.0),
            protocols: text("PLUGIN_PROTOCOL_VERSIONS"),
            host_certificate: text("PLUGIN_CLIENT_CERT"),
            socket_folder: text("PLUGIN_UNIX_SOCKET_DIR").map(PathBuf::from),
        }
    }

    fn check(&self) -> Result<(), LaunchError> {
        if self.cookie.as_deref() != Some(COOKIE.1) {
            return Err(LaunchError::NotByHost);
        }
        match &self.protocols {
            Some(list) if list.split(',').all(|each| each.trim() != PROTOCOL) => {
                Err(LaunchError::Protocol(list.clone()))
            }
            _ => Ok(()),
        }
    }
}

/// Serves until the host requests a shutdown.
pub async fn launch(environment: Environment) -> Result<(), LaunchError> {
    environment.check()?;
    let identity = match &environment.host_certificate {
        Some(pem) => Some(Identity::new(pem)?),
        None => None,
    };
    let folder = environment.socket_folder.unwrap_or_else(std::env::temp_dir);
    let path = folder.join(format!("plugin{}", uuid::Uuid::new_v4().simple()));
    let listener = UnixListener::bind(&path)?;
    let certificate = identity.as_ref().map(|identity| identity.encoded.as_str()).unwrap_or_default();
    {
        let mut output = std::io::stdout().lock();
        writeln!(output, "1|{PROTOCOL}|unix|{}|grpc|{certificate}", path.display())?;
        output.flush()?;
    }
    let acceptor = identity.map(|identity| TlsAcceptor::from(Arc::new(identity.tls)));
    let outcome = serve(listener, acceptor).await;
    // The host may have already removed the socket.
    let _ = std::fs::remove_file(&path);
    outcome
}

async fn serve(listener: UnixListener, acceptor: Option<TlsAcceptor>) -> Result<(), LaunchError> {
    let (end, mut ended) = watch::channel(false);
    let incoming = stream::unfold((listener, acceptor), |(listener, acceptor)| async move {
        let accepted = listener.accept().await.map(|(stream, _)| stream);
        let handshake = handshake(accepted, acceptor.clone());
        Some((handshake, (listener, acceptor)))
    });
    // A failed handshake only drops its own connection.
    let incoming = incoming.buffer_unordered(MAX_HANDSHAKES).filter_map(|made| std::future::ready(made.ok().map(Ok)));
    let incoming = incoming.map(|made: Result<Connection, std::convert::Infallible>| made);
    let provider = ProviderServer::new(CloudProvider::new())
        .max_decoding_message_size(MAX_MESSAGE)
        .max_encoding_message_size(MAX_MESSAGE);
    let asked = async move {
        // An error means that the controller was dropped, and with it the server.
        let _ = ended.wait_for(|ended| *ended).await;
    };
    let served = Server::builder()
        .max_concurrent_streams(MAX_STREAMS)
        .add_service(provider)
        .add_service(GrpcControllerServer::new(Controller { end: end.clone() }))
        .add_service(GrpcStdioServer::new(Stdio))
        .add_service(GrpcBrokerServer::new(Broker))
        .add_service(HealthServer::new(Wellbeing))
        .serve_with_incoming(incoming);
    tokio::select! {
        outcome = served => outcome?,
        () = asked => {
            // The reply to the shutdown must still be sent, but open streams must not keep the process alive.
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    }
    Ok(())
}

async fn handshake(
    accepted: std::io::Result<UnixStream>,
    acceptor: Option<TlsAcceptor>,
) -> std::io::Result<Connection> {
    let stream = accepted?;
    Ok(Connection(match acceptor {
        Some(acceptor) => Box::new(acceptor.accept(stream).await?),
        None => Box::new(stream),
    }))
}

/// The requirements on a connection.
trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// A connection with or without TLS.
struct Connection(Box<dyn Duplex>);

impl Connected for Connection {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

/// The identity of this process for mutual TLS.
struct Identity {
    tls: ServerConfig,
    /// The certificate for the handshake line.
    encoded: String,
}

impl Identity {
    fn new(host_pem: &str) -> Result<Identity, LaunchError> {
        let host = CertificateDer::from_pem_slice(host_pem.as_bytes()).map_err(|_| LaunchError::HostCertificate)?;
        let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?;
        // The host uses the certificate as its own authority, for the name "localhost".
        let mut parameters = CertificateParams::new(vec!["localhost".to_owned()])?;
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages =
            vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyAgreement, KeyUsagePurpose::KeyCertSign];
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = parameters.self_signed(&key)?.der().clone();
        let encoded = STANDARD_NO_PAD.encode(&certificate);
        let crypto = Arc::new(aws_lc_rs::default_provider());
        let verifier = Arc::new(OnlyHost { host, crypto: Arc::clone(&crypto) });
        let mut tls = ServerConfig::builder_with_provider(crypto)
            .with_safe_default_protocol_versions()?
            .with_client_cert_verifier(verifier)
            .with_single_cert(vec![certificate], PrivateKeyDer::from(key))?;
        tls.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Identity { tls, encoded })
    }
}

/// Accepts only the host: the holder of the key for the certificate in the environment.
#[derive(Debug)]
struct OnlyHost {
    host: CertificateDer<'static>,
    crypto: Arc<CryptoProvider>,
}

impl ClientCertVerifier for OnlyHost {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        if *certificate == self.host {
            return Ok(ClientCertVerified::assertion());
        }
        Err(CertificateError::UnknownIssuer.into())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.crypto.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.crypto.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.crypto.signature_verification_algorithms.supported_schemes()
    }
}
