//! Makes certificate authorities and issues certificates, for installations that have no certificate authority yet.
//!
//! An authority consists of two PEM files. `ca.pem` is its certificate, which every program needs. `ca-key.pem` is its
//! private key, which is needed only to issue certificates.

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

/// The validity of a certificate begins this long before it is issued, because clocks differ.
const BACKDATE: Duration = Duration::from_secs(5 * 60);
/// The number of random bytes in a serial number (RFC 5280 allows 20 bytes).
const SERIAL_BYTES: usize = 16;

/// A certificate with its private key, as PEM.
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

/// The contents of a certificate to be issued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateRequest {
    /// The name of the owner.
    pub name: SpiffeId,
    /// The host names and addresses for which the certificate is valid. Only the certificates of servers need hosts.
    pub hosts: Vec<String>,
    /// The time for which the certificate is valid.
    pub valid: Duration,
}

/// Why no certificate was issued.
#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    /// The certificate or the key of the authority is invalid, or they do not match each other.
    #[error("the certificate authority cannot be used: {0}")]
    Authority(rcgen::Error),
    /// The certificate does not belong to an authority with a trust domain.
    #[error("the certificate of the authority names no trust domain: create the authority with `weft certs init`")]
    NoDomain,
    /// The string is not a valid host for a certificate.
    #[error("{0:?} is not the name or the address of a host")]
    Host(String),
    /// The requested validity is out of range.
    #[error("the certificate would be valid for too long: use a lower number of -days")]
    Validity,
    /// The operating system has no random bytes.
    #[error("the operating system provided no random bytes for the serial number: {0}")]
    Random(getrandom::Error),
    /// The certificate cannot be created.
    #[error("the certificate cannot be made: {0}")]
    Making(#[from] rcgen::Error),
}

/// Makes an authority for a trust domain.
///
/// # Errors
/// Returns an error if the domain cannot be part of a certificate, or if no key can be generated.
pub fn create(domain: &str, valid: Duration) -> Result<Issued, IssueError> {
    let mut params = params(&format!("Weft authority of {domain}"), valid)?;
    // Only one level: the authority cannot issue certificates of other authorities.
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
/// Returns an error if the authority cannot be used, or if a part of the request is not valid.
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
/// Returns an error if the certificate does not belong to an authority with a trust domain.
pub fn domain(certificate: &str) -> Result<String, IssueError> {
    let der = CertificateDer::from_pem_slice(certificate.as_bytes()).map_err(|_| IssueError::NoDomain)?;
    Certificate::domain(&der).ok_or(IssueError::NoDomain)
}

/// The parameters that all certificates of Weft share.
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
    // RFC 5280 requires a positive number.
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
