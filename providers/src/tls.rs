//! Mutual TLS with a plugin. Each side makes a certificate for one plugin process only, and passes it to the other
//! side: in the environment, or over standard output. No other process can write to these channels.
//!
//! So each side accepts only the announced certificate, and the other side must prove that it has the private key.
//! Chains, names and dates do not matter, and a check of the chain would fail: these certificates are self-signed.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};

/// The name in the certificates of both sides.
pub const SERVER_NAME: &str = "localhost";

/// Weft's certificate for one plugin process.
pub struct ClientIdentity {
    certificate: CertificateDer<'static>,
    key: KeyPair,
    pem: String,
}

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum PluginTlsError {
    /// A key or certificate could not be made.
    #[error("cannot create a client certificate: {0}")]
    Identity(#[from] rcgen::Error),
    /// The TLS library refuses the settings.
    #[error("cannot configure TLS: {0}")]
    Config(#[from] rustls::Error),
}

impl ClientIdentity {
    /// A new key and certificate.
    pub fn generate() -> Result<ClientIdentity, PluginTlsError> {
        let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?;
        let mut params = CertificateParams::new(vec![SERVER_NAME.to_owned()])?;
        params.distinguished_name.push(DnType::CommonName, SERVER_NAME);
        params.distinguished_name.push(DnType::OrganizationName, "Weft");
        // The plugin accepts Weft's certificate as its only authority.
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyEncipherment,
            KeyUsagePurpose::KeyAgreement,
            KeyUsagePurpose::KeyCertSign,
        ];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth];
        let certificate = params.self_signed(&key)?;
        Ok(ClientIdentity { pem: certificate.pem(), certificate: certificate.der().clone(), key })
    }

    /// The certificate for the plugin's environment.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// The TLS settings for a plugin that announced `server_certificate` (DER).
    pub fn client_config(&self, server_certificate: &[u8]) -> Result<ClientConfig, PluginTlsError> {
        // Go offers P-521, which aws-lc-rs supports and ring does not.
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier = AnnouncedCertificate {
            expected: CertificateDer::from(server_certificate.to_vec()),
            provider: provider.clone(),
        };
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.serialize_der()));
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_client_auth_cert(vec![self.certificate.clone()], key)?;
        // Go's gRPC server closes connections that did not negotiate this.
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(config)
    }
}

#[derive(Debug)]
struct AnnouncedCertificate {
    expected: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnnouncedCertificate {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if end_entity.as_ref() == self.expected.as_ref() {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(rustls::Error::General(
                "the plugin presents a different certificate than the certificate in its handshake".into(),
            ))
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
