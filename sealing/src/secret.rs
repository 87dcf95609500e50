//! Bytes that are never printed, and that are wiped when dropped.

use std::fmt;

use zeroize::Zeroizing;

/// A passphrase or a key. The bytes are wiped when dropped, `Debug` hides them, and there is no `Display`. Copies that
/// the operating system or a growing buffer made earlier are not wiped.
#[derive(Clone)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Wraps bytes, or the bytes of a string.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Secret {
        Secret(Zeroizing::new(bytes.into()))
    }

    /// The bytes of the secret. Do not print or log them.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// The secret as text. Empty if the bytes are not valid UTF-8.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The number of characters if the secret is valid UTF-8, otherwise the number of bytes.
    pub fn characters(&self) -> u64 {
        std::str::from_utf8(&self.0).map_or(self.0.len(), |text| text.chars().count()) as u64
    }
}

/// Compares secrets of equal length in constant time.
impl PartialEq for Secret {
    fn eq(&self, other: &Secret) -> bool {
        aws_lc_rs::constant_time::verify_slices_are_equal(&self.0, &other.0).is_ok()
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("(secret)")
    }
}
