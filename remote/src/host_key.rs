//! Checks the keys that hosts present.

use std::time::{SystemTime, UNIX_EPOCH};

use russh::Preferred;
use russh::keys::ssh_key::certificate::CertType;
use russh::keys::{Algorithm, Certificate, HashAlg, PublicKey, PublicKeyOrCertificate};

use crate::error::SetupError;

/// The key that a host must present, or the key of the authority that signed the host's key.
#[derive(Clone, Debug)]
pub(crate) struct HostKey(PublicKey);

impl HostKey {
    pub(crate) fn parse(text: &str) -> Result<HostKey, SetupError> {
        PublicKey::from_openssh(text.trim()).map(HostKey).map_err(|error| SetupError::HostKey(error.to_string()))
    }

    /// Whether a host with this name may present `found`.
    pub(crate) fn accepts(&self, host: &str, found: &PublicKeyOrCertificate) -> bool {
        match found {
            PublicKeyOrCertificate::PublicKey { key, .. } => key.key_data() == self.0.key_data(),
            PublicKeyOrCertificate::Certificate(certificate) => self.has_signed(host, certificate),
        }
    }

    fn has_signed(&self, host: &str, certificate: &Certificate) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let names = certificate.valid_principals();
        certificate.cert_type() == CertType::Host
            && (names.is_empty() || names.iter().any(|name| name == host))
            && certificate.signature_key() == self.0.key_data()
            && certificate.validate_at(now, [&self.0.fingerprint(HashAlg::Sha256)]).is_ok()
    }
}

/// The algorithms to propose. The algorithms of the expected key come first. Otherwise, a host with several keys could
/// present a different key.
pub(crate) fn preferred(expected: Option<&HostKey>) -> Preferred {
    let mut preferred = Preferred::DEFAULT;
    let Some(HostKey(expected)) = expected else { return preferred };
    let is_expected = |found: &&Algorithm| match (expected.algorithm(), found) {
        (Algorithm::Rsa { .. }, Algorithm::Rsa { .. }) => true,
        (own, found) => own == **found,
    };
    let all = preferred.key.to_vec();
    let (first, others): (Vec<&Algorithm>, Vec<&Algorithm>) = all.iter().partition(is_expected);
    preferred.key = first.into_iter().chain(others).cloned().collect::<Vec<_>>().into();
    preferred
}

/// The algorithms to propose to a host with a certificate. `expected` may be the key of an authority for certificates.
pub(crate) fn preferred_signed(expected: Option<&HostKey>) -> Preferred {
    let mut preferred = preferred(expected);
    if expected.is_some() {
        preferred.host_key_certificates = preferred.key.clone();
    }
    preferred
}
