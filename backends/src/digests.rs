//! Digests and authentication codes for requests.

use aws_lc_rs::digest::{self, Algorithm};
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest as _, Md5};

/// Bytes in lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The MD5 digest of these bytes in hex.
pub fn md5_hex(content: &[u8]) -> String {
    hex(&Md5::digest(content))
}

/// The MD5 digest of these bytes in base64.
pub fn md5_base64(content: &[u8]) -> String {
    STANDARD.encode(Md5::digest(content))
}

/// The SHA-1 digest of these bytes in hex, for old kinds of signatures.
pub fn sha1_hex(content: &[u8]) -> String {
    digest_hex(&digest::SHA1_FOR_LEGACY_USE_ONLY, content)
}

/// The SHA-256 digest of these bytes in hex.
pub fn sha256_hex(content: &[u8]) -> String {
    digest_hex(&digest::SHA256, content)
}

fn digest_hex(algorithm: &'static Algorithm, content: &[u8]) -> String {
    hex(digest::digest(algorithm, content).as_ref())
}

/// The HMAC-SHA-1 of a string, for old kinds of signatures.
pub fn hmac_sha1(key: &[u8], text: &str) -> Vec<u8> {
    code(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, key, text)
}

/// The HMAC-SHA-256 of a string.
pub fn hmac_sha256(key: &[u8], text: &str) -> Vec<u8> {
    code(hmac::HMAC_SHA256, key, text)
}

fn code(algorithm: hmac::Algorithm, key: &[u8], text: &str) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(algorithm, key), text.as_bytes()).as_ref().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_and_codes() {
        assert_eq!(md5_hex(b""), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(md5_base64(b""), "1B2M2Y8AsgTpgAmY7PhCfg==");
        assert_eq!(sha1_hex(b"abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
        assert_eq!(&sha256_hex(b"abc")[..16], "ba7816bf8f01cfea");
        // Source: RFC 2202 and RFC 4231, the second test cases.
        let text = "what do ya want for nothing?";
        assert_eq!(hex(&hmac_sha1(b"Jefe", text)), "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
        assert_eq!(&hex(&hmac_sha256(b"Jefe", text))[..16], "5bdcc146bf60754e");
    }
}
