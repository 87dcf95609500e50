//! Bytes that are neither printed nor left behind.

use std::fmt;

use zeroize::Zeroizing;

/// A passphrase or a key. Its memory is wiped when it goes away, `Debug` hides it, and there is no `Display`. What the
/// operating system or a growing buffer copied before it came here is beyond its reach.
#[derive(Clone)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// Takes bytes, or text as its bytes.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Secret {
        Secret(Zeroizing::new(bytes.into()))
    }

    /// The bytes, for whoever encrypts with them or hands them on.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// How many characters it has when it is text, how many bytes otherwise.
    pub fn characters(&self) -> u64 {
        std::str::from_utf8(&self.0).map_or(self.0.len(), |text| text.chars().count()) as u64
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("(secret)")
    }
}
