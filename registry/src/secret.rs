//! Secrets in requests.

use std::fmt;

/// A secret that is sent, but never printed or logged.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretString(String);

impl SecretString {
    /// Wraps a string.
    pub fn new(text: impl Into<String>) -> SecretString {
        SecretString(text.into())
    }

    /// The string, for requests.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}
