//! Signed tokens (JWT: RFC 7515, RFC 7519), with which accounts request access tokens.

use aws_lc_rs::error::KeyRejected;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RSA_PSS_SHA256,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustls::pki_types::PrivateKeyDer;
use serde_json::{Value as Json, json};

/// The signature algorithm. The header of the token must name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// RSA with the padding of PKCS #1.
    Rs256,
    /// RSA with the padding PSS.
    Ps256,
}

/// Why a key does not sign a token. The messages contain no secrets.
#[derive(Clone, Copy, Debug, thiserror::Error)]
pub enum SigningProblem {
    /// The key is not an RSA key.
    #[error("the private key cannot be used: {0}")]
    NotRsa(KeyRejected),
    /// The key is not an elliptic curve key of the required curve.
    #[error("the private key cannot be used: it is not on the curve P-256")]
    OtherCurve,
    /// The key is valid, but signs nothing.
    #[error("the private key does not sign")]
    NoSignature,
}

/// Makes a signed token.
///
/// # Errors
/// Returns an error if the key is not an RSA key that can sign.
pub fn signed(
    header: &Json,
    claims: &Json,
    key: &PrivateKeyDer<'_>,
    algorithm: Algorithm,
) -> Result<String, SigningProblem> {
    let encode = |part: &Json| URL_SAFE_NO_PAD.encode(part.to_string());
    let text = format!("{}.{}", encode(header), encode(claims));
    let key = match key {
        PrivateKeyDer::Pkcs1(key) => KeyPair::from_der(key.secret_pkcs1_der()),
        key => KeyPair::from_pkcs8(key.secret_der()),
    };
    let key = key.map_err(SigningProblem::NotRsa)?;
    let padding = match algorithm {
        Algorithm::Rs256 => &RSA_PKCS1_SHA256,
        Algorithm::Ps256 => &RSA_PSS_SHA256,
    };
    let mut signature = vec![0; key.public_modulus_len()];
    key.sign(padding, &SystemRandom::new(), text.as_bytes(), &mut signature)
        .map_err(|_| SigningProblem::NoSignature)?;
    Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

/// Makes a token that is signed with an elliptic curve key (ES256). Its header has the public key.
///
/// # Errors
/// Returns an error if the key is not on the curve P-256.
pub fn with_own_key(kind: &str, claims: &Json, key: &PrivateKeyDer<'_>) -> Result<String, SigningProblem> {
    let key = EcdsaKeyPair::from_private_key_der(&ECDSA_P256_SHA256_FIXED_SIGNING, key.secret_der());
    let key = key.map_err(|_| SigningProblem::OtherCurve)?;
    // The public key consists of one byte for the format and two coordinates.
    let point = key.public_key().as_ref().get(1..).unwrap_or_default();
    let (x, y) = point.split_at_checked(32).ok_or(SigningProblem::OtherCurve)?;
    let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let header = json!({"typ": kind, "alg": "ES256",
        "jwk": {"kty": "EC", "crv": "P-256", "x": encode(x), "y": encode(y)}});
    let text = format!("{}.{}", encode(header.to_string().as_bytes()), encode(claims.to_string().as_bytes()));
    let signature = key.sign(&SystemRandom::new(), text.as_bytes()).map_err(|_| SigningProblem::NoSignature)?;
    Ok(format!("{text}.{}", encode(signature.as_ref())))
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::encoding::AsDer as _;
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    use super::*;

    #[test]
    fn statements_with_their_own_key() {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
        // The AWS CLI writes keys in this form.
        let key = PrivateKeyDer::Sec1(pair.private_key().as_der().unwrap().as_ref().to_vec().into());
        let statement = with_own_key("dpop+jwt", &json!({"htm": "POST"}), &key).unwrap();
        let parts: Vec<&str> = statement.split('.').collect();
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).unwrap();
        let header: Json = serde_json::from_slice(&decode(parts[0])).unwrap();
        assert_eq!((&header["typ"], &header["alg"]), (&json!("dpop+jwt"), &json!("ES256")));
        let point = ["x", "y"].map(|part| decode(header["jwk"][part].as_str().unwrap())).concat();
        let public = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, [vec![4], point].concat());
        let text = format!("{}.{}", parts[0], parts[1]);
        public.verify(text.as_bytes(), &decode(parts[2])).unwrap();
    }
}
