//! Methods and targets as plain data.
//!
//! Facts: OpenTofu's page "State and Plan Encryption", section "Methods", and the README of its AES-GCM method.

use crate::name::{KeyProviderName, MethodName};

/// Lengths of keys that AES-GCM takes, in bytes.
pub const AES_KEY_LENGTHS: [u64; 3] = [16, 24, 32];

/// How bytes are encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Method {
    /// `aes_gcm`.
    AesGcm {
        /// Where keys come from: 16, 24 or 32 bytes.
        keys: KeyProviderName,
        /// Bytes that are not kept with what is encrypted, and without which it cannot be decrypted.
        aad: Vec<u8>,
    },
    /// `external`: commands do it.
    External {
        /// Where keys come from, when the commands want any.
        keys: Option<KeyProviderName>,
        /// The program that encrypts, and its arguments.
        encrypt_command: Vec<String>,
        /// The program that decrypts, and its arguments.
        decrypt_command: Vec<String>,
    },
    /// `unencrypted`: plain text, while moving to encryption or away from it.
    Unencrypted,
}

impl Method {
    /// Where its keys come from.
    pub fn keys(&self) -> Option<&KeyProviderName> {
        match self {
            Method::AesGcm { keys, .. } => Some(keys),
            Method::External { keys, .. } => keys.as_ref(),
            Method::Unencrypted => None,
        }
    }
}

/// How one kind of thing is encrypted.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Target {
    /// Whether plain text is out of the question.
    pub enforced: bool,
    /// The main method, with which is written, then the fallbacks in the order in which they are tried.
    pub methods: Vec<MethodName>,
}
