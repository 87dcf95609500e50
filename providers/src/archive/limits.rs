//! The limits of an archive from an untrusted source.

use std::io::{self, Read, Write};

/// The maximum ratio of unpacked to packed size. Programs shrink to a quarter of their size, and text to a tenth. Zip
/// bombs reach a ratio of a thousand.
pub const MAX_RATIO: u64 = 200;

/// The limits on the content of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum number of entries.
    pub entries: usize,
    /// The maximum number of unpacked bytes.
    pub bytes: u64,
}

impl Limits {
    /// The limits for an archive of `length` bytes. The archive may unpack to `free` bytes or to [`MAX_RATIO`] times
    /// its length, whichever is more, but never to more than `most` bytes. `most` must not be less than `free`.
    pub fn of(length: u64, entries: usize, free: u64, most: u64) -> Limits {
        Limits { entries, bytes: length.saturating_mul(MAX_RATIO).clamp(free, most) }
    }
}

/// The archive has more entries or bytes than the limits allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exceeded;

/// Why the content of an entry is not copied.
#[derive(Debug)]
pub enum CopyError {
    /// The content cannot be read, or the copy cannot be written.
    Io(io::Error),
    /// The content is longer than the limits allow.
    Exceeded,
}

/// Counts the entries and bytes of an archive.
#[derive(Debug)]
pub struct Quota {
    limits: Limits,
    entries: usize,
    left: u64,
}

impl Quota {
    /// A quota of which nothing is used yet.
    pub fn new(limits: Limits) -> Quota {
        Quota { limits, entries: 0, left: limits.bytes }
    }

    /// The limits.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Counts an entry.
    ///
    /// # Errors
    /// Returns an error if there are more entries than allowed.
    pub fn count(&mut self) -> Result<(), Exceeded> {
        self.entries += 1;
        if self.entries > self.limits.entries { Err(Exceeded) } else { Ok(()) }
    }

    /// Copies the content of an entry. Reads at most one byte more than is allowed.
    ///
    /// # Errors
    /// Returns an error if the content cannot be copied, or is too long.
    pub fn copy(&mut self, content: &mut dyn Read, to: &mut dyn Write) -> Result<(), CopyError> {
        let copied = io::copy(&mut content.take(self.left.saturating_add(1)), to).map_err(CopyError::Io)?;
        self.left = self.left.checked_sub(copied).ok_or(CopyError::Exceeded)?;
        Ok(())
    }
}
