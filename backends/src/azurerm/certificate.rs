//! The certificate of an application with its private key (PKCS #12, RFC 7292).

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use p12::PFX;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use super::problems::reasons::{CertificateContent, CertificateProblem, CertificateSource};

/// A certificate with its key.
pub(super) struct Certificate {
    /// The private key.
    pub(super) key: PrivateKeyDer<'static>,
    /// The SHA-256 digest of the certificate, as in the header `x5t#S256` (RFC 7515, section 4.1.8).
    pub(super) thumbprint: String,
}

impl Certificate {
    /// Reads the certificate from a base64 text, a file, or both. If both are given, they must have the same content.
    ///
    /// # Errors
    /// Returns an error if there is no certificate, or if it cannot be read.
    pub(super) fn read(
        text: Option<&str>,
        file: Option<&str>,
        password: &str,
    ) -> Result<Certificate, CertificateProblem> {
        let text = text.map(|text| STANDARD.decode(text.trim())).transpose();
        let text = text.map_err(CertificateSource::Text)?;
        let file = file.map(std::fs::read).transpose();
        let file = file.map_err(CertificateSource::File)?;
        let filled = |bytes: &Vec<u8>| !bytes.is_empty();
        let content = match (text.filter(filled), file.filter(filled)) {
            (None, None) => return Err(CertificateSource::Missing.into()),
            (Some(text), Some(file)) if text != file => return Err(CertificateSource::Differs.into()),
            (Some(content), _) | (None, Some(content)) => content,
        };
        Ok(Certificate::of(&content, password)?)
    }

    fn of(content: &[u8], password: &str) -> Result<Certificate, CertificateContent> {
        let unreadable = |error: &dyn std::fmt::Debug| CertificateContent::Unreadable(format!("{error:?}"));
        let store = PFX::parse(content).map_err(|error| unreadable(&error))?;
        if !store.verify_mac(password) {
            return Err(CertificateContent::Password);
        }
        let keys = store.key_bags(password).map_err(|error| unreadable(&error))?;
        let certificates = store.cert_x509_bags(password).map_err(|error| unreadable(&error))?;
        let (Some(key), Some(certificate)) = (keys.into_iter().next(), certificates.into_iter().next()) else {
            return Err(CertificateContent::Incomplete);
        };
        Ok(Certificate {
            key: PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key)),
            thumbprint: URL_SAFE_NO_PAD.encode(digest(&SHA256, &certificate)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_certificate_says_so() {
        for (text, file, want) in [
            (None, None, "missing certificate"),
            (Some("%"), None, "error decoding"),
            (None, Some("/absent.pfx"), "error reading"),
            (Some("MAA="), None, "openssl pkcs12 -export -legacy"),
        ] {
            let error = Certificate::read(text, file, "").map(|_| ()).unwrap_err().to_string();
            assert!(error.contains(want), "{error}");
        }
    }
}
