//! The errors of the functions of cryptography.

use std::fmt::Display;

use crate::functions::FunctionError;

/// `bcrypt` has more than two arguments.
pub(in crate::functions) fn too_many_bcrypt_arguments() -> FunctionError {
    FunctionError::new("bcrypt() takes no more than two arguments")
}

/// The cost of `bcrypt` is above the range.
pub(in crate::functions) fn cost_out_of_range(cost: i64) -> FunctionError {
    FunctionError::new(format!("the cost {cost} is out of range; it must be from 4 to 31"))
}

/// The password of `bcrypt` exceeds its limit.
pub(in crate::functions) fn password_too_long() -> FunctionError {
    FunctionError::new("the password is longer than 72 bytes")
}

/// The password cannot be hashed.
pub(in crate::functions) fn cannot_hash_password(why: impl Display) -> FunctionError {
    FunctionError::new(format!("the password cannot be hashed: {why}"))
}

/// The namespace is neither a known name nor a UUID.
pub(in crate::functions) fn invalid_namespace(namespace: &str, why: impl Display) -> FunctionError {
    FunctionError::new(format!("uuidv5() doesn't support namespace {namespace} ({why})"))
}

/// The cipher text is not base64.
pub(in crate::functions) fn cipher_not_base64() -> FunctionError {
    FunctionError::argument(0, "failed to decode input: cipher text must be base64-encoded")
}

/// The private key cannot be read.
pub(in crate::functions) fn invalid_private_key(why: impl Display) -> FunctionError {
    FunctionError::argument(1, format!("invalid private key: {why}"))
}

/// The key does not decrypt the cipher text.
pub(in crate::functions) fn cannot_decrypt() -> FunctionError {
    FunctionError::new("failed to decrypt: decryption error")
}
