//! The keys of users: reading them, and signing with them.
//!
//! RSA keys sign with AWS-LC, because the crate `rsa` leaks private keys through the timing of its operations
//! (RUSTSEC-2023-0071).

use std::sync::Arc;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{RSA_PKCS1_SHA256, RSA_PKCS1_SHA512, RsaKeyPair};
use num_bigint::BigUint;
use pkcs1::UintRef;
use pkcs1::der::Encode as _;
use russh::keys::agent::AgentIdentity;
use russh::keys::ssh_key::private::{KeypairData, RsaKeypair};
use russh::keys::{Algorithm, Certificate, HashAlg, PrivateKey, PublicKey, decode_secret_key};

use crate::error::{RsaKeyError, SetupError, SignError};
use crate::target::Endpoint;

/// The word in the header of a PKCS#1 key that marks a key with a passphrase.
const ENCRYPTED: &str = "ENCRYPTED";

/// The private key of a user, with its certificate.
#[derive(Clone)]
pub(crate) struct UserKey {
    pub(crate) key: Arc<PrivateKey>,
    pub(crate) certificate: Option<Certificate>,
    /// A copy of the private key for signing, if the key is an RSA key.
    pub(crate) rsa: Option<Arc<RsaKeyPair>>,
}

/// The private key of an endpoint's user, with its certificate.
pub(crate) fn user_key(endpoint: &Endpoint) -> Result<Option<UserKey>, SetupError> {
    let Some(text) = &endpoint.private_key else { return Ok(None) };
    let key = private_key(text.text())?;
    let rsa = match key.key_data() {
        KeypairData::Rsa(pair) => Some(Arc::new(signing_key(pair)?)),
        _ => None,
    };
    let certificate = endpoint.certificate.as_deref().map(certificate).transpose()?;
    Ok(Some(UserKey { key: Arc::new(key), certificate, rsa }))
}

fn private_key(text: &str) -> Result<PrivateKey, SetupError> {
    let is_pem = text.contains("-----BEGIN ");
    if is_pem && text.lines().take_while(|line| !line.starts_with("-----END")).any(|line| line.contains(ENCRYPTED)) {
        return Err(SetupError::Passphrase);
    }
    // Lines may end in carriage returns.
    let text: String = text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    match decode_secret_key(&text, None) {
        Ok(key) if key.is_encrypted() => Err(SetupError::Passphrase),
        Ok(key) => Ok(key),
        Err(russh::keys::Error::KeyIsEncrypted) => Err(SetupError::Passphrase),
        Err(_) if !is_pem => Err(SetupError::PrivateKey(
            "it is not in the PEM format. Give the text of the key, for example with file(\"PATH\"), not the path of \
             the key file"
                .to_owned(),
        )),
        // The messages of these errors contain no part of the key.
        Err(error) => Err(SetupError::PrivateKey(error.to_string())),
    }
}

fn certificate(text: &str) -> Result<Certificate, SetupError> {
    match Certificate::from_openssh(text.trim()) {
        Ok(found) => Ok(found),
        Err(error) => match PublicKey::from_openssh(text.trim()) {
            Ok(plain) => Err(SetupError::NotACertificate(plain.algorithm().to_string())),
            Err(_) => Err(SetupError::Certificate(error.to_string())),
        },
    }
}

/// Converts an RSA key to the form that AWS-LC needs.
fn signing_key(pair: &RsaKeypair) -> Result<RsaKeyPair, RsaKeyError> {
    let bytes = |number: &russh::keys::ssh_key::Mpint| {
        number.as_positive_bytes().map(<[u8]>::to_vec).ok_or(RsaKeyError::Negative)
    };
    let (public, private) = (pair.public(), pair.private());
    let (n, e, d) = (bytes(public.n())?, bytes(public.e())?, bytes(private.d())?);
    let (p, q, iqmp) = (bytes(private.p())?, bytes(private.q())?, bytes(private.iqmp())?);
    let below = |prime: &[u8]| {
        let one = BigUint::from(1u8);
        let prime = BigUint::from_bytes_be(prime);
        if prime <= one {
            return Err(RsaKeyError::NotPrime);
        }
        Ok((BigUint::from_bytes_be(&d) % (prime - one)).to_bytes_be())
    };
    let (dp, dq) = (below(&p)?, below(&q)?);
    let number = |bytes| UintRef::new(bytes).map_err(RsaKeyError::Encoding);
    let key = pkcs1::RsaPrivateKey {
        modulus: number(&n)?,
        public_exponent: number(&e)?,
        private_exponent: number(&d)?,
        prime1: number(&p)?,
        prime2: number(&q)?,
        exponent1: number(&dp)?,
        exponent2: number(&dq)?,
        coefficient: number(&iqmp)?,
        other_prime_infos: None,
    };
    let der = key.to_der().map_err(RsaKeyError::Encoding)?;
    Ok(RsaKeyPair::from_der(&der)?)
}

/// Appends a field of the SSH protocol: its length and its bytes.
fn push(out: &mut Vec<u8>, field: &[u8]) {
    out.extend(u32::try_from(field.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend(field);
}

/// Signs with an RSA key.
pub(crate) struct RsaSigner(pub(crate) Arc<RsaKeyPair>);

impl russh::Signer for RsaSigner {
    type Error = SignError;

    async fn auth_sign(
        &mut self,
        _: &AgentIdentity,
        hash: Option<HashAlg>,
        mut to_sign: Vec<u8>,
    ) -> Result<Vec<u8>, SignError> {
        let algorithm = match hash {
            Some(HashAlg::Sha512) => &RSA_PKCS1_SHA512,
            _ => &RSA_PKCS1_SHA256,
        };
        let name = Algorithm::Rsa { hash: hash.or(Some(HashAlg::Sha256)) };
        let mut raw = vec![0; self.0.public_modulus_len()];
        self.0.sign(algorithm, &SystemRandom::new(), &to_sign, &mut raw).map_err(|_| SignError::Rsa)?;
        let mut signature = Vec::new();
        push(&mut signature, name.as_str().as_bytes());
        push(&mut signature, &raw);
        push(&mut to_sign, &signature);
        Ok(to_sign)
    }
}
