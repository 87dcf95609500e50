//! RSA private keys in PEM: PKCS #1 (`RSA PRIVATE KEY`), PKCS #8 (`PRIVATE KEY`) and the OpenSSH format.

use num_bigint::BigUint;

use super::encoding::base64_bytes;

/// The maximum size of a modulus in bits. Larger moduli are too slow to be useful.
const LARGEST_MODULUS_BITS: u64 = 16_384;

/// The parts of a private key that decryption needs.
pub(super) struct PrivateKey {
    /// The modulus n.
    pub(super) modulus: BigUint,
    /// The private exponent d.
    pub(super) exponent: BigUint,
}

/// Reads the key in the first PEM block.
pub(super) fn read_private_key(pem: &str) -> Result<PrivateKey, String> {
    let no_key = || "no key found".to_owned();
    let (_, after) = pem.split_once("-----BEGIN ").ok_or_else(no_key)?;
    let (label, after) = after.split_once("-----").ok_or_else(no_key)?;
    let (body, _) = after.split_once(&format!("-----END {label}-----")).ok_or_else(no_key)?;
    if body.contains("ENCRYPTED") || label.starts_with("ENCRYPTED") {
        return Err("this private key is passphrase protected".into());
    }
    let text: String = body.chars().filter(|c| !c.is_whitespace()).collect();
    let der = base64_bytes(&text).map_err(|_| no_key())?;
    let broken = || "the key is malformed".to_owned();
    let key = match label {
        "RSA PRIVATE KEY" => pkcs1(&der).ok_or_else(broken)?,
        "PRIVATE KEY" => pkcs8(&der)?,
        "OPENSSH PRIVATE KEY" => openssh(&der)?,
        other => return Err(format!("unsupported key type {other:?}")),
    };
    if key.modulus.bits() > LARGEST_MODULUS_BITS || key.modulus.bits() == 0 {
        return Err(format!("keys of more than {LARGEST_MODULUS_BITS} bits are not supported"));
    }
    Ok(key)
}

fn pkcs1(der: &[u8]) -> Option<PrivateKey> {
    let key = pkcs1::RsaPrivateKey::try_from(der).ok()?;
    Some(PrivateKey {
        modulus: BigUint::from_bytes_be(key.modulus.as_bytes()),
        exponent: BigUint::from_bytes_be(key.private_exponent.as_bytes()),
    })
}

fn pkcs8(der: &[u8]) -> Result<PrivateKey, String> {
    let broken = || "the key is malformed".to_owned();
    let key = pkcs8::PrivateKeyInfo::try_from(der).map_err(|_| broken())?;
    if key.algorithm.oid != pkcs1::ALGORITHM_OID {
        return Err("the key is not an RSA key".into());
    }
    pkcs1(key.private_key).ok_or_else(broken)
}

const OPENSSH_MAGIC: &[u8] = b"openssh-key-v1\0";

/// Reads the format of OpenSSH's `PROTOCOL.key`: strings, each after a length of four bytes.
fn openssh(bytes: &[u8]) -> Result<PrivateKey, String> {
    fn string<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let content = after.get(..length)?;
        *rest = &after[length..];
        Some(content)
    }
    let read = || -> Option<Result<PrivateKey, String>> {
        let mut rest = bytes.strip_prefix(OPENSSH_MAGIC)?;
        let cipher = string(&mut rest)?;
        let _derivation = string(&mut rest)?;
        let _options = string(&mut rest)?;
        if cipher != b"none" {
            return Some(Err("this private key is passphrase protected".into()));
        }
        rest = rest.get(4..)?;
        let _public = string(&mut rest)?;
        let mut private = string(&mut rest)?;
        private = private.get(8..)?;
        if string(&mut private)? != b"ssh-rsa" {
            return Some(Err("the key is not an RSA key".into()));
        }
        let modulus = BigUint::from_bytes_be(string(&mut private)?);
        let _public_exponent = string(&mut private)?;
        let exponent = BigUint::from_bytes_be(string(&mut private)?);
        Some(Ok(PrivateKey { modulus, exponent }))
    };
    read().unwrap_or_else(|| Err("the key is malformed".into()))
}
