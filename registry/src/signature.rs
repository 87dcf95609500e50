//! Signatures of checksum lists: detached OpenPGP signatures.
//!
//! The signature must be made by one of the keys that the registry returns. A subkey is accepted if such a key
//! authorizes the subkey for signing. Revoked keys and insecure digests are refused. Expired keys are accepted unless
//! configured otherwise, because registries still offer packages that were signed before the keys expired.

use std::io::Cursor;
use std::time::{Duration, SystemTime};

use data_encoding::HEXUPPER;
use pgp::composed::{Deserializable as _, DetachedSignature, SignedPublicKey};
use pgp::crypto::hash::HashAlgorithm;
use pgp::packet::Signature;
use pgp::types::{KeyDetails as _, VerifyingKey};

/// The maximum size of a key. The largest known keys have a hundred kilobytes, because they contain signatures by
/// others.
const MAX_KEY: usize = 4 << 20;

/// The maximum size of a signature.
const MAX_SIGNATURE: usize = 64 << 10;

/// Why a document is not signed by any of the keys.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The signature is not valid OpenPGP.
    #[error("the signature cannot be read: {0}")]
    Signature(String),
    /// A key is not valid OpenPGP.
    #[error("a signing key cannot be read: {0}")]
    Key(String),
    /// None of the keys signed the document.
    #[error("authentication signature from unknown issuer")]
    UnknownIssuer,
    /// One of the keys signed another document.
    #[error("the signature by the key {key} does not match: the signed document was changed")]
    Wrong {
        /// The key's id.
        key: String,
    },
    /// The signature uses an insecure digest.
    #[error("the signature by the key {key} uses a digest that is no longer secure")]
    Weak {
        /// The key's id.
        key: String,
    },
    /// The key is revoked.
    #[error("the key {key} is revoked")]
    Revoked {
        /// The key's id.
        key: String,
    },
    /// The key has expired.
    #[error("the key {key} has expired")]
    Expired {
        /// The key's id.
        key: String,
    },
}

/// The id of the primary key of the certificate that signed a document. If `now` is set, keys and signatures that have
/// expired at that time are refused. Each element of `keys` is a string in ASCII armor, which may contain several
/// certificates.
///
/// # Errors
/// Returns an error if no accepted key signed the document, or if the signature or a key cannot be parsed.
pub fn verify(
    document: &[u8],
    signature: &[u8],
    keys: &[String],
    now: Option<SystemTime>,
) -> Result<String, SignatureError> {
    if signature.len() > MAX_SIGNATURE {
        return Err(SignatureError::Signature("it is too long".to_owned()));
    }
    let unreadable = |error: pgp::errors::Error| SignatureError::Signature(error.to_string());
    let signatures: Vec<DetachedSignature> = if signature.trim_ascii_start().starts_with(b"-----BEGIN") {
        DetachedSignature::from_armor_many(Cursor::new(signature)).map_err(unreadable)?.0.collect::<Result<_, _>>()
    } else {
        DetachedSignature::from_bytes_many(Cursor::new(signature)).map_err(unreadable)?.collect::<Result<_, _>>()
    }
    .map_err(unreadable)?;
    let mut certificates = Vec::new();
    for key in keys {
        if key.len() > MAX_KEY {
            return Err(SignatureError::Key("it is too long".to_owned()));
        }
        let unreadable = |error: pgp::errors::Error| SignatureError::Key(error.to_string());
        let (found, _) = SignedPublicKey::from_armor_many(Cursor::new(key.as_bytes())).map_err(unreadable)?;
        for certificate in found {
            certificates.push(certificate.map_err(unreadable)?);
        }
    }
    let mut problem = SignatureError::UnknownIssuer;
    for signature in &signatures {
        for certificate in &certificates {
            match by(certificate, &signature.signature, document, now) {
                Some(Ok(key)) => return Ok(key),
                Some(Err(error)) => problem = error,
                None => {}
            }
        }
    }
    Err(problem)
}

/// The id of the primary key of a certificate, if this key or a subkey made the signature. An error if such a signature
/// is refused. `None` if no key of the certificate made the signature.
fn by(
    certificate: &SignedPublicKey,
    signature: &Signature,
    document: &[u8],
    now: Option<SystemTime>,
) -> Option<Result<String, SignatureError>> {
    let primary = &certificate.primary_key;
    let key = HEXUPPER.encode(primary.legacy_key_id().as_ref());
    if is_by(signature, primary) {
        let lifetime = certificate
            .details
            .users
            .iter()
            .flat_map(|user| &user.signatures)
            .chain(&certificate.details.direct_signatures)
            .filter(|own| is_by(own, primary));
        let lifetime = newest(lifetime).and_then(Signature::key_expiration_time);
        let expired = has_expired(primary.created_at().into(), lifetime.map(Into::into), now);
        return Some(check(certificate, signature, primary, document, now, expired, key));
    }
    let subkey = certificate.public_subkeys.iter().find(|subkey| is_by(signature, &subkey.key))?;
    // A subkey that the primary key has revoked, or has never authorized for signing, does not count.
    let binding = newest(subkey.signatures.iter().filter(|s| s.verify_subkey_binding(primary, &subkey.key).is_ok()));
    let bound = binding.filter(|binding| {
        binding.key_flags().sign()
            && binding
                .embedded_signature()
                .is_some_and(|back| back.verify_primary_key_binding(&subkey.key, primary).is_ok())
    })?;
    let lifetime = bound.key_expiration_time();
    let expired = has_expired(subkey.key.created_at().into(), lifetime.map(Into::into), now);
    Some(check(certificate, signature, &subkey.key, document, now, expired, key))
}

fn check(
    certificate: &SignedPublicKey,
    signature: &Signature,
    signer: &impl VerifyingKey,
    document: &[u8],
    now: Option<SystemTime>,
    expired: bool,
    key: String,
) -> Result<String, SignatureError> {
    let weak = matches!(
        signature.hash_alg(),
        None | Some(HashAlgorithm::Md5 | HashAlgorithm::Sha1 | HashAlgorithm::Ripemd160)
    );
    if weak {
        return Err(SignatureError::Weak { key });
    }
    if signature.verify(signer, document).is_err() {
        return Err(SignatureError::Wrong { key });
    }
    let primary = &certificate.primary_key;
    if certificate.details.revocation_signatures.iter().any(|own| own.verify_key(primary).is_ok()) {
        return Err(SignatureError::Revoked { key });
    }
    let made = signature.created().map(SystemTime::from);
    let lifetime = signature.signature_expiration_time().map(Duration::from);
    if expired || made.is_some_and(|made| has_expired(made, lifetime, now)) {
        return Err(SignatureError::Expired { key });
    }
    Ok(key)
}

/// Whether a signature names this key as its issuer.
fn is_by(signature: &Signature, key: &impl pgp::types::KeyDetails) -> bool {
    let (id, fingerprint) = (key.legacy_key_id(), key.fingerprint());
    let named = signature.issuer_fingerprint();
    if named.is_empty() { signature.issuer_key_id().contains(&&id) } else { named.contains(&&fingerprint) }
}

fn newest<'a>(signatures: impl Iterator<Item = &'a Signature>) -> Option<&'a Signature> {
    signatures.max_by_key(|signature| signature.created().map(SystemTime::from))
}

fn has_expired(made: SystemTime, lifetime: Option<Duration>, now: Option<SystemTime>) -> bool {
    match (lifetime, now) {
        // A lifetime of zero means no expiry.
        (Some(lifetime), Some(now)) if !lifetime.is_zero() => made.checked_add(lifetime).is_some_and(|end| end < now),
        _ => false,
    }
}
