//! Makes certificate authorities and issues certificates, for installations without an authority of their own.
//!
//! An authority is two PEM files: `ca.pem`, which every program needs, and `ca-key.pem`, which only the issuing person
//! needs.

use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType, SerialNumber,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use time::OffsetDateTime;

use crate::certificate::Certificate;
use crate::name::SpiffeId;

/// Certificates are valid from this long before they are issued, since clocks differ.
const BACKDATE: Duration = Duration::from_secs(5 * 60);
/// The number of random bytes in a serial number (RFC 5280 allows 20 bytes).
const SERIAL_BYTES: usize = 16;

/// A key with its certificate, as PEM.
#[derive(Clone)]
pub struct Issued {
    /// The certificate.
    pub certificate: String,
    /// The private key (PKCS #8).
    pub key: String,
}

impl std::fmt::Debug for Issued {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Issued(..)")
    }
}

/// What a certificate is issued for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateRequest {
    /// The name of the owner.
    pub name: SpiffeId,
    /// Names of hosts and addresses for which it may serve.
    pub hosts: Vec<String>,
    /// How long it is valid.
    pub valid: Duration,
}

/// Why nothing was issued.
#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    /// The authority's files do not fit.
    #[error("the certificate authority cannot be used: {0}")]
    Authority(rcgen::Error),
    /// The certificate is none of an authority with a domain.
    #[error("the certificate of the authority names no trust domain: make it with weft certs init")]
    NoDomain,
    /// A host cannot be in a certificate.
    #[error("{0:?} is not the name or the address of a host")]
    Host(String),
    /// The time of validity is out of range.
    #[error("the certificate would be valid for too long")]
    Validity,
    /// The operating system gives no random numbers.
    #[error("there are no random numbers for a serial number: {0}")]
    Random(getrandom::Error),
    /// The certificate cannot be made.
    #[error("the certificate cannot be made: {0}")]
    Making(#[from] rcgen::Error),
}

/// Makes an authority for a trust domain.
///
/// # Errors
/// When the domain cannot be part of a certificate, or no key can be made.
pub fn create(domain: &str, valid: Duration) -> Result<Issued, IssueError> {
    let mut params = params(&format!("Weft authority of {domain}"), valid)?;
    // One level: the authority issues for owners only.
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.subject_alt_names = vec![SanType::URI(format!("spiffe://{domain}").try_into()?)];
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    Ok(Issued { certificate: certificate.pem(), key: key.serialize_pem() })
}

/// Issues a certificate with a new key.
///
/// # Errors
/// When the authority cannot be used, or the request cannot be met.
pub fn issue(authority: &Issued, request: &CertificateRequest) -> Result<Issued, IssueError> {
    let key = KeyPair::from_pem(&authority.key).map_err(IssueError::Authority)?;
    let issuer = Issuer::from_ca_cert_pem(&authority.certificate, key).map_err(IssueError::Authority)?;
    let mut params = params(request.name.short(), request.valid)?;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params.use_authority_key_identifier_extension = true;
    params.subject_alt_names.push(SanType::URI(request.name.as_str().try_into()?));
    for host in &request.hosts {
        params.subject_alt_names.push(alternative(host)?);
    }
    if !request.hosts.is_empty() {
        params.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth);
    }
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, &issuer)?;
    Ok(Issued { certificate: certificate.pem(), key: key.serialize_pem() })
}

/// The trust domain of an authority's certificate (PEM).
///
/// # Errors
/// When it is not the certificate of an authority with a domain.
pub fn domain(certificate: &str) -> Result<String, IssueError> {
    let der = CertificateDer::from_pem_slice(certificate.as_bytes()).map_err(|_| IssueError::NoDomain)?;
    Certificate::domain(&der).ok_or(IssueError::NoDomain)
}

/// What all our certificates have in common.
fn params(common_name: &str, valid: Duration) -> Result<CertificateParams, IssueError> {
    let mut params = CertificateParams::default();
    let now = SystemTime::now();
    params.not_before = OffsetDateTime::from(now - BACKDATE);
    let end = time::Duration::try_from(valid).ok().and_then(|valid| OffsetDateTime::from(now).checked_add(valid));
    params.not_after = end.ok_or(IssueError::Validity)?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
    let mut serial = [0; SERIAL_BYTES];
    getrandom::fill(&mut serial).map_err(IssueError::Random)?;
    // Positive, as RFC 5280 demands.
    serial[0] &= 0x7f;
    params.serial_number = Some(SerialNumber::from_slice(&serial));
    Ok(params)
}

/// A host as a subject alternative name.
fn alternative(host: &str) -> Result<SanType, IssueError> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(SanType::IpAddress(address));
    }
    let refused = || IssueError::Host(host.to_owned());
    rustls::pki_types::DnsName::try_from(host).map_err(|_| refused())?;
    Ok(SanType::DnsName(host.try_into().map_err(|_| refused())?))
}
