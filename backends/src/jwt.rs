//! Signed statements (RFC 7515, RFC 7519), with which accounts ask for tokens.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::{RSA_PKCS1_SHA256, RSA_PSS_SHA256};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustls::pki_types::PrivateKeyDer;
use serde_json::Value as Json;

/// How a statement is signed. The header of the statement must name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// RSA with the padding of PKCS #1.
    Rs256,
    /// RSA with the padding PSS.
    Ps256,
}

/// A statement with its signature.
///
/// # Errors
/// The key is not an RSA key that can sign, in words without secrets.
pub fn signed(header: &Json, claims: &Json, key: &PrivateKeyDer<'_>, algorithm: Algorithm) -> Result<String, String> {
    let encode = |part: &Json| URL_SAFE_NO_PAD.encode(part.to_string());
    let text = format!("{}.{}", encode(header), encode(claims));
    let key = match key {
        PrivateKeyDer::Pkcs1(key) => KeyPair::from_der(key.secret_pkcs1_der()),
        key => KeyPair::from_pkcs8(key.secret_der()),
    };
    let key = key.map_err(|error| format!("the private key cannot be used: {error}"))?;
    let padding = match algorithm {
        Algorithm::Rs256 => &RSA_PKCS1_SHA256,
        Algorithm::Ps256 => &RSA_PSS_SHA256,
    };
    let mut signature = vec![0; key.public_modulus_len()];
    key.sign(padding, &SystemRandom::new(), text.as_bytes(), &mut signature)
        .map_err(|_| "the private key does not sign")?;
    Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
}
