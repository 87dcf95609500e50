//! Signatures of plans: who approved a plan, and until when it may be applied.
//!
//! A signature is a small JSON document in a separate file. Keys are Ed25519 (RFC 8032) in PEM files, in the format of
//! `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout`. The signed text contains the digest of the plan, so
//! a signature is valid for one plan only.

use std::fmt;
use std::time::{Duration, SystemTime};

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer};
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The version of the document.
const VERSION: u32 = 1;
/// The first line of every text that is signed for a plan. Texts for other purposes do not begin with this line, so the
/// signatures of such texts are never valid for a plan.
const CONTEXT: &str = "weft plan signature 1";
/// The beginning of a public Ed25519 key in DER (RFC 8410, section 10.1). The key follows.
const ED25519_PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
/// The number of bytes of the digest that names a key.
const KEY_ID_BYTES: usize = 8;
/// The maximum time by which the clock of a signer may be ahead.
const CLOCK_DIFFERENCE: Duration = Duration::from_secs(5 * 60);
/// The maximum size of a signature document in bytes.
pub const MAX_BYTES: usize = 1 << 16;

/// The JSON document of a signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    weft_plan_signature: u32,
    /// The digest of the plan: blake3 in hexadecimal.
    plan: String,
    /// The id of the key that made the signature.
    key: String,
    /// The time of the signature: RFC 3339, UTC.
    signed: String,
    /// The end of the signature's validity: RFC 3339, UTC.
    expires: String,
    /// The Ed25519 signature of [`Document::text`], in base64.
    signature: String,
}

impl Document {
    /// The text that is signed.
    fn text(&self) -> String {
        [CONTEXT, &self.plan, &self.key, &self.signed, &self.expires, ""].join("\n")
    }
}

/// Why a key or a signature is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The file has no usable key.
    #[error("it has no Ed25519 {0} key in PEM form")]
    NoKey(&'static str),
    /// The document is damaged, or from a later version.
    #[error("it is not a signature of a plan: {0}")]
    Unreadable(String),
    /// The signature belongs to another plan.
    #[error("it is the signature of the plan {signed}, but this is the plan {plan}")]
    OtherPlan {
        /// The digest in the signature.
        signed: String,
        /// The digest of the plan.
        plan: String,
    },
    /// None of the trusted keys made the signature.
    #[error("it was made with the key {key}, which is not trusted; trusted: {}", .trusted.join(", "))]
    UnknownKey {
        /// The key in the signature.
        key: String,
        /// The trusted keys.
        trusted: Vec<String>,
    },
    /// The document names a trusted key that did not make the signature.
    #[error("it does not match its key {0}: the document was changed, or the signature is forged")]
    Forged(String),
    /// The signature expired at this time.
    #[error("it expired on {0}")]
    Expired(String),
    /// The time of the signature is in the future, so the clock of the signer or of this machine is wrong.
    #[error("its date {0} is in the future: check the clocks of both machines")]
    Future(String),
}

/// The id of a public key.
fn key_id(key: &[u8]) -> String {
    digest(&SHA256, key).as_ref()[..KEY_ID_BYTES].iter().map(|byte| format!("{byte:02x}")).collect()
}

fn stamp(time: SystemTime) -> String {
    let seconds = OffsetDateTime::from(time).replace_nanosecond(0).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    seconds.format(&Rfc3339).unwrap_or_default()
}

/// A private key.
pub struct SigningKey(Ed25519KeyPair);

impl fmt::Debug for SigningKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "SigningKey({})", self.id())
    }
}

impl SigningKey {
    /// The private key of a PEM file (PKCS #8).
    ///
    /// # Errors
    /// Returns an error if the file has no Ed25519 key.
    pub fn from_pem(pem: &[u8]) -> Result<SigningKey, SignatureError> {
        let none = SignatureError::NoKey("private");
        let Ok(der) = PrivatePkcs8KeyDer::from_pem_slice(pem) else { return Err(none) };
        Ed25519KeyPair::from_pkcs8(der.secret_pkcs8_der()).map(SigningKey).map_err(|_| none)
    }

    /// The id of the key.
    pub fn id(&self) -> String {
        key_id(self.0.public_key().as_ref())
    }

    /// Signs a plan. The signature is valid from `now` on, for the time `valid`.
    pub fn sign(&self, plan: &str, now: SystemTime, valid: Duration) -> Vec<u8> {
        let mut document = Document {
            weft_plan_signature: VERSION,
            plan: plan.to_owned(),
            key: self.id(),
            signed: stamp(now),
            expires: stamp(now + valid),
            signature: String::new(),
        };
        document.signature = STANDARD.encode(self.0.sign(document.text().as_bytes()));
        let mut bytes = serde_json::to_vec_pretty(&document).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }
}

/// The keys whose signatures are accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedKeys(Vec<Vec<u8>>);

/// A signature that was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The id of the key.
    pub key: String,
    /// The time at which the signature was made: RFC 3339, UTC.
    pub signed: String,
    /// The end of the signature's validity: RFC 3339, UTC.
    pub expires: String,
}

impl TrustedKeys {
    /// The public keys of a PEM file.
    ///
    /// # Errors
    /// Returns an error if the file has no key, or a key that is not an Ed25519 key.
    pub fn from_pem(pem: &[u8]) -> Result<TrustedKeys, SignatureError> {
        let none = SignatureError::NoKey("public");
        let mut keys = Vec::new();
        for item in SubjectPublicKeyInfoDer::pem_slice_iter(pem) {
            let Ok(item) = item else { return Err(none) };
            match item.as_ref().strip_prefix(&ED25519_PREFIX) {
                Some(key) => keys.push(key.to_vec()),
                None => return Err(none),
            }
        }
        if keys.is_empty() { Err(none) } else { Ok(TrustedKeys(keys)) }
    }

    /// The ids of the keys.
    pub fn ids(&self) -> Vec<String> {
        self.0.iter().map(|key| key_id(key)).collect()
    }

    /// Checks the signature of a plan.
    ///
    /// # Errors
    /// Returns the reason why the signature is refused.
    pub fn verify(&self, document: &[u8], plan: &str, now: SystemTime) -> Result<Verified, SignatureError> {
        let unreadable = |why: &dyn fmt::Display| SignatureError::Unreadable(why.to_string());
        if document.len() > MAX_BYTES {
            return Err(unreadable(&format!("it is larger than {MAX_BYTES} bytes")));
        }
        let document: Document = serde_json::from_slice(document).map_err(|error| unreadable(&error))?;
        if document.weft_plan_signature != VERSION {
            return Err(unreadable(&format!("it has the version {}", document.weft_plan_signature)));
        }
        let key = self.0.iter().find(|key| key_id(key) == document.key);
        let Some(key) = key else {
            return Err(SignatureError::UnknownKey { key: document.key, trusted: self.ids() });
        };
        let signature = STANDARD.decode(&document.signature).map_err(|error| unreadable(&error))?;
        if UnparsedPublicKey::new(&ED25519, key).verify(document.text().as_bytes(), &signature).is_err() {
            return Err(SignatureError::Forged(document.key));
        }
        if document.plan != plan {
            return Err(SignatureError::OtherPlan { signed: document.plan, plan: plan.to_owned() });
        }
        let time = |text: &str| OffsetDateTime::parse(text, &Rfc3339).map_err(|error| unreadable(&error));
        let (signed, expires) = (time(&document.signed)?, time(&document.expires)?);
        if OffsetDateTime::from(now) >= expires {
            return Err(SignatureError::Expired(document.expires));
        }
        if OffsetDateTime::from(now + CLOCK_DIFFERENCE) < signed {
            return Err(SignatureError::Future(document.signed));
        }
        Ok(Verified { key: document.key, signed: document.signed, expires: document.expires })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Made by `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout`.
    const KEY: &str = include_str!("signature/test-key.pem");
    const PUBLIC: &str = include_str!("signature/test-public.pem");
    const DAY: Duration = Duration::from_secs(24 * 3600);

    fn signed(plan: &str, now: SystemTime) -> Vec<u8> {
        SigningKey::from_pem(KEY.as_bytes()).unwrap().sign(plan, now, DAY)
    }

    #[test]
    fn a_signature_counts_for_its_plan_and_its_time() {
        let trusted = TrustedKeys::from_pem(PUBLIC.as_bytes()).unwrap();
        let now = SystemTime::UNIX_EPOCH + 20_000 * DAY;
        let document = signed("aa", now);
        let verified = trusted.verify(&document, "aa", now + DAY / 2).unwrap();
        assert_eq!((verified.key, verified.expires.as_str()), (trusted.ids().remove(0), "2024-10-05T00:00:00Z"));
        let refused = |plan: &str, now| trusted.verify(&document, plan, now).unwrap_err();
        assert_eq!(refused("bb", now), SignatureError::OtherPlan { signed: "aa".into(), plan: "bb".into() });
        assert_eq!(refused("aa", now + DAY), SignatureError::Expired("2024-10-05T00:00:00Z".into()));
        assert_eq!(refused("aa", now - DAY), SignatureError::Future("2024-10-04T00:00:00Z".into()));
    }

    #[test]
    fn each_changed_part_is_noticed() {
        let trusted = TrustedKeys::from_pem(PUBLIC.as_bytes()).unwrap();
        let now = SystemTime::UNIX_EPOCH + 20_000 * DAY;
        let document = String::from_utf8(signed("aa", now)).unwrap();
        for (from, to) in [("\"aa\"", "\"ab\""), ("2024-10-05", "2034-10-05"), ("2024-10-04", "2024-10-03")] {
            let changed = document.replace(from, to);
            assert_ne!(changed, document);
            assert!(
                matches!(trusted.verify(changed.as_bytes(), "ab", now), Err(SignatureError::Forged(_))),
                "{from} became {to}"
            );
        }
        for unreadable in ["", "{}", "[]", &document.replace(": 1,", ": 2,"), &document.replacen('{', "{\"a\": 1,", 1)]
        {
            assert!(matches!(trusted.verify(unreadable.as_bytes(), "aa", now), Err(SignatureError::Unreadable(_))));
        }
    }

    #[test]
    fn only_trusted_ed25519_keys_count() {
        let other = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
        let now = SystemTime::UNIX_EPOCH + 20_000 * DAY;
        let document = SigningKey::from_pem(other.serialize_pem().as_bytes()).unwrap().sign("aa", now, DAY);
        let trusted = TrustedKeys::from_pem(PUBLIC.as_bytes()).unwrap();
        assert!(matches!(trusted.verify(&document, "aa", now), Err(SignatureError::UnknownKey { .. })));
        let both = TrustedKeys::from_pem(format!("{PUBLIC}{}", other.public_key_pem()).as_bytes()).unwrap();
        assert!(both.verify(&document, "aa", now).is_ok() && both.verify(&signed("aa", now), "aa", now).is_ok());
        let elliptic = rcgen::KeyPair::generate().unwrap();
        assert!(SigningKey::from_pem(elliptic.serialize_pem().as_bytes()).is_err());
        assert!(TrustedKeys::from_pem(elliptic.public_key_pem().as_bytes()).is_err());
        assert!(TrustedKeys::from_pem(KEY.as_bytes()).is_err() && TrustedKeys::from_pem(b"").is_err());
    }
}
