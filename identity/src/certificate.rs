//! Reads certificates: the name of the owner, the hosts, and the expiry.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use crate::name::SpiffeId;

/// Warnings about the expiry of a certificate begin this long before the expiry.
pub const ANNOUNCE_EXPIRY: Duration = Duration::from_secs(14 * 24 * 3600);

/// The parts of a certificate that Weft uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The name of the owner. `None` if the certificate has no SPIFFE ID, or more than one.
    pub name: Option<SpiffeId>,
    /// The host names and addresses for which the certificate is valid.
    pub hosts: Vec<String>,
    /// The end of the certificate's validity.
    pub expires: SystemTime,
}

/// Why a certificate cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the certificate cannot be read: {0}")]
pub struct Unreadable(String);

impl Certificate {
    /// Reads a certificate (DER).
    ///
    /// # Errors
    /// Returns an error if the bytes are not an X.509 certificate.
    pub fn read(der: &[u8]) -> Result<Certificate, Unreadable> {
        let (_, certificate) = X509Certificate::from_der(der).map_err(|error| Unreadable(error.to_string()))?;
        let names = certificate.subject_alternative_name().map_err(|error| Unreadable(error.to_string()))?;
        let names = names.map(|names| names.value.general_names.as_slice()).unwrap_or_default();
        let mut uris = names.iter().filter_map(|name| match name {
            GeneralName::URI(uri) => Some(*uri),
            _ => None,
        });
        // A SPIFFE certificate has exactly one URI (X509-SVID, section 2).
        let name = match (uris.next(), uris.next()) {
            (Some(uri), None) => SpiffeId::parse(uri).ok(),
            _ => None,
        };
        let hosts = names.iter().filter_map(host).collect();
        let seconds = u64::try_from(certificate.validity().not_after.timestamp()).unwrap_or(0);
        Ok(Certificate { name, hosts, expires: UNIX_EPOCH + Duration::from_secs(seconds) })
    }

    /// The trust domain of an authority (DER): `spiffe://DOMAIN` among its alternative names (X509-SVID, section 3).
    pub fn domain(der: &[u8]) -> Option<String> {
        let (_, certificate) = X509Certificate::from_der(der).ok()?;
        let names = certificate.subject_alternative_name().ok()??;
        let domains = names.value.general_names.iter().filter_map(|name| match name {
            GeneralName::URI(uri) => uri.strip_prefix("spiffe://").filter(|domain| !domain.contains('/')),
            _ => None,
        });
        domains.map(str::to_owned).next()
    }

    /// The number of whole days until the certificate expires: 0 on the last day and after the expiry. `None` if at
    /// least [`ANNOUNCE_EXPIRY`] remains.
    pub fn days_left(&self, now: SystemTime) -> Option<u64> {
        let left = self.expires.duration_since(now).unwrap_or_default();
        (left < ANNOUNCE_EXPIRY).then_some(left.as_secs() / (24 * 3600))
    }
}

/// The host of an alternative name. `None` if the alternative name is not a host.
fn host(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => match bytes.len() {
            4 => <[u8; 4]>::try_from(*bytes).ok().map(|bytes| std::net::Ipv4Addr::from(bytes).to_string()),
            16 => <[u8; 16]>::try_from(*bytes).ok().map(|bytes| std::net::Ipv6Addr::from(bytes).to_string()),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_certificate_is_an_error() {
        for bytes in [&b""[..], b"0", b"\x30\x82\xff\xff", &[0x30; 64]] {
            assert!(Certificate::read(bytes).is_err());
        }
    }

    #[test]
    fn an_end_within_two_weeks_is_announced() {
        let now = UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let day = Duration::from_secs(24 * 3600);
        let with = |expires| Certificate { name: None, hosts: Vec::new(), expires }.days_left(now);
        assert_eq!(with(now + day * 15), None);
        assert_eq!(with(now + day * 14 - Duration::from_secs(1)), Some(13));
        assert_eq!(with(now + Duration::from_secs(5)), Some(0));
        assert_eq!(with(now - day), Some(0));
    }
}
