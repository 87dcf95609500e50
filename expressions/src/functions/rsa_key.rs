//! RSA private keys in PEM: PKCS #1 (`RSA PRIVATE KEY`), PKCS #8 (`PRIVATE KEY`) and OpenSSH's own form.

use num_bigint::BigUint;

use super::encoding::base64_bytes;

/// Largest modulus in bits; computing with a larger one takes too long to be of use.
const LARGEST_MODULUS_BITS: u64 = 16_384;

/// What decrypts.
pub(super) struct PrivateKey {
    /// n
    pub(super) modulus: BigUint,
    /// d
    pub(super) exponent: BigUint,
}

/// The key in the first PEM block, or why there is none.
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

const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const OBJECT_IDENTIFIER: u8 = 0x06;
const SEQUENCE: u8 = 0x30;

/// 1.2.840.113549.1.1.1
const RSA_ENCRYPTION: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];

/// Takes one element of DER with this tag off the front.
fn element<'a>(der: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    let (found, rest) = der.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = if first & 0x80 == 0 {
        (usize::from(*first), rest)
    } else {
        let count = usize::from(first & 0x7f);
        if count > size_of::<u32>() {
            return None;
        }
        let bytes = rest.get(..count)?;
        (bytes.iter().fold(0, |all, b| all << 8 | usize::from(*b)), &rest[count..])
    };
    if *found != tag || length > rest.len() {
        return None;
    }
    let (content, rest) = rest.split_at(length);
    *der = rest;
    Some(content)
}

fn pkcs1(der: &[u8]) -> Option<PrivateKey> {
    let mut fields = element(&mut &der[..], SEQUENCE)?;
    let mut number = || element(&mut fields, INTEGER).map(BigUint::from_bytes_be);
    let _version = number()?;
    let modulus = number()?;
    let _public_exponent = number()?;
    let exponent = number()?;
    Some(PrivateKey { modulus, exponent })
}

fn pkcs8(der: &[u8]) -> Result<PrivateKey, String> {
    let read = || {
        let mut fields = element(&mut &der[..], SEQUENCE)?;
        let _version = element(&mut fields, INTEGER)?;
        let mut algorithm = element(&mut fields, SEQUENCE)?;
        let name = element(&mut algorithm, OBJECT_IDENTIFIER)?;
        Some((name, element(&mut fields, OCTET_STRING)?))
    };
    let (algorithm, key) = read().ok_or("the key is malformed")?;
    if algorithm != RSA_ENCRYPTION {
        return Err("the key is not an RSA key".into());
    }
    pkcs1(key).ok_or_else(|| "the key is malformed".into())
}

const OPENSSH_MAGIC: &[u8] = b"openssh-key-v1\0";

/// OpenSSH's `PROTOCOL.key`: strings with a length of four bytes before them.
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
