//! Methods and targets as plain data.
//!
//! Sources: OpenTofu's page "State and Plan Encryption", section "Methods", and the README of its AES-GCM method.

use crate::name::{KeyProviderName, MethodName};

/// The lengths of AES-GCM keys, in bytes.
pub const AES_KEY_LENGTHS: [u64; 3] = [16, 24, 32];

/// An encryption method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Method {
    /// `aes_gcm`.
    AesGcm {
        /// The source of keys of 16, 24 or 32 bytes.
        keys: KeyProviderName,
        /// Additional authenticated data. It is needed for decryption, but is not stored with the ciphertext.
        aad: Vec<u8>,
    },
    /// `external`: commands encrypt and decrypt.
    External {
        /// The source of keys, if the commands need any.
        keys: Option<KeyProviderName>,
        /// The program that encrypts, and its arguments.
        encrypt_command: Vec<String>,
        /// The program that decrypts, and its arguments.
        decrypt_command: Vec<String>,
    },
    /// `unencrypted`: plain text, during a migration to or from encryption.
    Unencrypted,
}

impl Method {
    /// The source of the keys of this method.
    pub fn keys(&self) -> Option<&KeyProviderName> {
        match self {
            Method::AesGcm { keys, .. } => Some(keys),
            Method::External { keys, .. } => keys.as_ref(),
            Method::Unencrypted => None,
        }
    }
}

/// The encryption of one target.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Target {
    /// Whether plain text is refused.
    pub enforced: bool,
    /// The main method, which is used for writing. The fallbacks follow, in the order in which they are tried.
    pub methods: Vec<MethodName>,
}
