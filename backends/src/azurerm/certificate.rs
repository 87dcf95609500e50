//! The certificate of an application with its private key (PKCS #12, RFC 7292).

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use p12::PFX;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// Advice on how to create a file that Weft can read.
const ADVICE: &str = "create the file again, for example with: openssl pkcs12 -export -legacy -inkey key.pem -in \
                      cert.pem";

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
    /// The problem, as a sentence without secrets.
    pub(super) fn read(text: Option<&str>, file: Option<&str>, password: &str) -> Result<Certificate, String> {
        let misconfigured = |error: String| format!("The Client Certificate is misconfigured: {error}");
        let text = text.map(|text| STANDARD.decode(text.trim())).transpose();
        let text = text.map_err(|error| misconfigured(format!("error decoding client certificate: {error}")))?;
        let file = file.map(std::fs::read).transpose();
        let file = file.map_err(|error| misconfigured(format!("error reading client certificate file: {error}")))?;
        let filled = |bytes: &Vec<u8>| !bytes.is_empty();
        let content = match (text.filter(filled), file.filter(filled)) {
            (None, None) => {
                return Err(misconfigured("missing certificate, client certificate is required".to_owned()));
            }
            (Some(text), Some(file)) if text != file => {
                let error = "the client certificate and the content of its file differ: set only one of the two \
                             arguments";
                return Err(misconfigured(error.to_owned()));
            }
            (Some(content), _) | (None, Some(content)) => content,
        };
        Certificate::of(&content, password).map_err(|error| format!("The Client Certificate is invalid: {error}"))
    }

    fn of(content: &[u8], password: &str) -> Result<Certificate, String> {
        let unreadable = |error| format!("the file is not a PKCS #12 file that can be read ({error}): {ADVICE}");
        let store = PFX::parse(content).map_err(|error| unreadable(format!("{error:?}")))?;
        if !store.verify_mac(password) {
            return Err(format!(
                "the password is wrong, or the file uses an encryption that OpenTofu does not support: {ADVICE}"
            ));
        }
        let keys = store.key_bags(password).map_err(|error| unreadable(format!("{error:?}")))?;
        let certificates = store.cert_x509_bags(password).map_err(|error| unreadable(format!("{error:?}")))?;
        let (Some(key), Some(certificate)) = (keys.into_iter().next(), certificates.into_iter().next()) else {
            return Err(format!("the file needs a certificate and its private key: {ADVICE}"));
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
            let error = Certificate::read(text, file, "").map(|_| ()).unwrap_err();
            assert!(error.contains(want), "{error}");
        }
    }
}
