//! Digests of text.

use base64::Engine;
use md5::Digest;
use sha2::{Sha256, Sha512};
use weft_graph_format::value::Value;

use super::arguments::text;
use super::encoding::BASE64;
use super::{Function, text_function};

pub(super) fn functions() -> Vec<Function> {
    vec![
        text_function("md5", "The MD5 digest in hexadecimal.", |_, a, _| {
            Ok(Value::string(hex(&md5(text(a, 0)?.as_bytes()))))
        }),
        text_function("sha1", "The SHA-1 digest in hexadecimal.", |_, a, _| {
            Ok(Value::string(hex(&sha1(text(a, 0)?.as_bytes()))))
        }),
        text_function("sha256", "The SHA-256 digest in hexadecimal.", |_, a, _| {
            Ok(Value::string(hex(&sha256(text(a, 0)?.as_bytes()))))
        }),
        text_function("sha512", "The SHA-512 digest in hexadecimal.", |_, a, _| {
            Ok(Value::string(hex(&sha512(text(a, 0)?.as_bytes()))))
        }),
        text_function("base64sha256", "The SHA-256 digest in base64.", |_, a, _| {
            Ok(Value::string(BASE64.encode(sha256(text(a, 0)?.as_bytes()))))
        }),
        text_function("base64sha512", "The SHA-512 digest in base64.", |_, a, _| {
            Ok(Value::string(BASE64.encode(sha512(text(a, 0)?.as_bytes()))))
        }),
    ]
}

/// Bytes as lowercase hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}

/// The MD5 digest.
pub(super) fn md5(bytes: &[u8]) -> Vec<u8> {
    md5::Md5::digest(bytes).to_vec()
}

/// The SHA-1 digest.
pub(super) fn sha1(bytes: &[u8]) -> Vec<u8> {
    use aws_lc_rs::digest;
    digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, bytes).as_ref().to_vec()
}

/// The SHA-256 digest.
pub(super) fn sha256(bytes: &[u8]) -> Vec<u8> {
    Sha256::digest(bytes).to_vec()
}

/// The SHA-512 digest.
pub(super) fn sha512(bytes: &[u8]) -> Vec<u8> {
    Sha512::digest(bytes).to_vec()
}
