//! The connection of a host with a plugin: the process, its handshake line, and mutual TLS.

use std::process::Stdio;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use hyper_util::rt::TokioIo;
use rcgen::{CertificateParams, KeyPair};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tonic::transport::{Channel, Endpoint};
use weft_simcloud::plugin::launch::COOKIE;

#[derive(Debug)]
struct OnlyPlugin(CertificateDer<'static>, Arc<CryptoProvider>);

impl ServerCertVerifier for OnlyPlugin {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        assert_eq!(*certificate, self.0);
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.1.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.1.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.1.signature_verification_algorithms.supported_schemes()
    }
}

pub fn host_identity() -> (String, CertificateDer<'static>, KeyPair) {
    // P-521, like hosts in Go.
    let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P521_SHA512).unwrap();
    let certificate = CertificateParams::new(vec!["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
    (certificate.pem(), certificate.der().clone(), key)
}

/// Starts a plugin and returns the parts of its handshake line.
pub async fn launch(pem: &str) -> (Child, Vec<String>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_terraform-provider-cloud"))
        .env(COOKIE.0, COOKIE.1)
        .env("PLUGIN_PROTOCOL_VERSIONS", "5,6")
        .env("PLUGIN_CLIENT_CERT", pem)
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.next_line().await.unwrap().unwrap();
    (child, line.split('|').map(str::to_owned).collect())
}

pub async fn connect(parts: &[String], own: CertificateDer<'static>, key: KeyPair) -> Result<Channel, String> {
    let plugin_certificate = CertificateDer::from(STANDARD_NO_PAD.decode(&parts[5]).unwrap());
    let crypto = Arc::new(aws_lc_rs::default_provider());
    let mut tls = ClientConfig::builder_with_provider(Arc::clone(&crypto))
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(OnlyPlugin(plugin_certificate, crypto)))
        .with_client_auth_cert(vec![own], PrivateKeyDer::from(key))
        .unwrap();
    tls.alpn_protocols = vec![b"h2".to_vec()];
    let connector = tokio_rustls::TlsConnector::from(Arc::new(tls));
    let path = parts[3].clone();
    let dial = tower::service_fn(move |_: tonic::codegen::http::Uri| {
        let (connector, path) = (connector.clone(), path.clone());
        async move {
            let stream = UnixStream::connect(path).await?;
            let name = ServerName::try_from("localhost").unwrap();
            connector.connect(name, stream).await.map(TokioIo::new)
        }
    });
    let channel = Endpoint::from_static("http://localhost").connect_with_connector(dial).await;
    channel.map_err(|error| format!("{error:?}"))
}
