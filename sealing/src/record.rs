//! Small records in our own compact binary form, for stores and journals with many records.
//!
//! ```text
//! magic      8 bytes, C1 57 65 66 74 52 65 63
//! version    1 byte, 1
//! length     4 bytes, little-endian; the length of the header
//! header     count of metadata (1 byte); each: length (2) and key, length (2) and bytes; then the wrapped record key
//! nonce      12 bytes
//! sealed     AES-256-GCM under the record key
//! tag        16 bytes
//! ```
//!
//! The wrapped record key is a payload of the target's method, as in an envelope. Its plain text is `weft record key`
//! and 32 random bytes. A call of a method may be expensive (a derivation, a command, a service), but one call serves
//! many records. Each record authenticates all bytes before its nonce, and the context from the caller. So each record
//! is bound to its location, whichever method the target uses.
//!
//! The first byte of the magic occurs neither in UTF-8 nor in MessagePack. So JSON and MessagePack values are never
//! mistaken for sealed records.

use zeroize::Zeroizing;

use crate::cipher::{Budget, Cipher, CipherError, OVERHEAD};
use crate::keyring::Metadata;
use crate::limits::{LONGEST_CHAIN, LONGEST_METADATA, LONGEST_METADATA_KEY};
use crate::pbkdf2::RandomError;

/// The magic bytes of a sealed record.
pub const RECORD_MAGIC: [u8; 8] = *b"\xc1WeftRec";

/// The version of the format.
pub const RECORD_VERSION: u8 = 1;

/// The maximum size of a wrapped record key, in bytes. With AES-GCM, the wrapped key has 75 bytes. A wrapped key from a
/// command may be longer.
pub const LONGEST_WRAPPED_KEY: usize = 32 << 10;

/// The maximum size of a header, in bytes: metadata of the longest chain, and the wrapped key.
pub const LONGEST_HEADER: usize =
    1 + LONGEST_CHAIN * (4 + LONGEST_METADATA_KEY + LONGEST_METADATA) + LONGEST_WRAPPED_KEY;

// The header stores the number of metadata entries in one byte.
const _: () = assert!(LONGEST_CHAIN <= u8::MAX as usize);

/// The number of bytes before the header.
const START: usize = RECORD_MAGIC.len() + 1 + 4;

/// The prefix of a record key's plain text. The prefix prevents other sealed data from being mistaken for a record key.
const LABEL: &[u8] = b"weft record key";

/// Why a record cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The record is truncated.
    #[error("it is truncated")]
    Short,
    /// The record has a later version.
    #[error("its version is {version}, but only {RECORD_VERSION} is supported: it was written by a newer tool")]
    Version {
        /// The version.
        version: u8,
    },
    /// The header of the record is not valid.
    #[error("its header is not valid")]
    Header,
    /// The unwrapped key is not a record key.
    #[error("its key is not a record key")]
    Key,
    /// The record was changed, or it belongs to another location.
    #[error("the record was changed, or was copied from another place")]
    Changed,
    /// The header of a new record would be too long.
    #[error("its header would have {size} bytes, but at most {LONGEST_HEADER} are accepted")]
    LongHeader {
        /// The size.
        size: usize,
    },
}

/// Whether bytes are a sealed record, of any version.
pub fn is_sealed_record(bytes: &[u8]) -> bool {
    bytes.starts_with(&RECORD_MAGIC)
}

/// A key that seals records.
#[derive(Debug)]
pub(crate) struct RecordKey {
    cipher: Cipher,
    /// The bytes before the nonce of each record.
    prefix: Vec<u8>,
    budget: Budget,
}

/// The plain text of a new record key, for the method to wrap.
pub(crate) fn new_key() -> Result<Zeroizing<Vec<u8>>, RandomError> {
    let mut plain = Zeroizing::new(vec![0; LABEL.len() + 32]);
    plain[..LABEL.len()].copy_from_slice(LABEL);
    aws_lc_rs::rand::fill(&mut plain[LABEL.len()..]).map_err(|_| RandomError)?;
    Ok(plain)
}

/// The cipher of an unwrapped record key.
pub(crate) fn cipher_of(plain: &[u8]) -> Result<Cipher, RecordError> {
    let key = plain.strip_prefix(LABEL).filter(|key| key.len() == 32).ok_or(RecordError::Key)?;
    Cipher::new(key).ok_or(RecordError::Key)
}

impl RecordKey {
    /// A record key with the prefix of all its records.
    pub(crate) fn new(plain: &[u8], metadata: &Metadata, wrapped: &[u8]) -> Result<RecordKey, RecordError> {
        let mut header = vec![u8::try_from(metadata.len()).map_err(|_| RecordError::Header)?];
        for part in metadata.iter().flat_map(|(key, own)| [key.as_bytes(), own]) {
            let length = u16::try_from(part.len()).map_err(|_| RecordError::LongHeader { size: part.len() })?;
            header.extend_from_slice(&length.to_le_bytes());
            header.extend_from_slice(part);
        }
        header.extend_from_slice(wrapped);
        let length = u32::try_from(header.len()).ok().filter(|_| header.len() <= LONGEST_HEADER);
        let length = length.ok_or(RecordError::LongHeader { size: header.len() })?;
        let mut prefix = Vec::with_capacity(START + header.len());
        prefix.extend_from_slice(&RECORD_MAGIC);
        prefix.push(RECORD_VERSION);
        prefix.extend_from_slice(&length.to_le_bytes());
        prefix.extend_from_slice(&header);
        Ok(RecordKey { cipher: cipher_of(plain)?, prefix, budget: Budget::whole() })
    }

    /// Reduces the budget of the key by the encryption of one record of `bytes` bytes. Returns `false` if the rest of
    /// the budget is too small. The first encryption with a key is always allowed.
    pub(crate) fn may_seal(&self, bytes: u64, first: bool) -> bool {
        self.budget.take(bytes, first)
    }

    /// Seals a record.
    pub(crate) fn seal(&self, context: &[u8], plain: &[u8]) -> Result<Vec<u8>, CipherError> {
        let mut bytes = Vec::with_capacity(self.prefix.len() + plain.len() + OVERHEAD);
        bytes.extend_from_slice(&self.prefix);
        self.cipher.seal_onto(&mut bytes, &[&self.prefix, context].concat(), plain)?;
        Ok(bytes)
    }
}

/// The parts of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    prefix: &'a [u8],
    pub(crate) header: &'a [u8],
    payload: &'a [u8],
}

impl<'a> Record<'a> {
    /// Splits a record into its parts. [`is_sealed_record`] must be true for the bytes.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Record<'a>, RecordError> {
        let version = *bytes.get(RECORD_MAGIC.len()).ok_or(RecordError::Short)?;
        if version != RECORD_VERSION {
            return Err(RecordError::Version { version });
        }
        let length = bytes.get(RECORD_MAGIC.len() + 1..).and_then(<[u8]>::first_chunk).ok_or(RecordError::Short)?;
        let length = usize::try_from(u32::from_le_bytes(*length)).map_err(|_| RecordError::Header)?;
        if length > LONGEST_HEADER {
            return Err(RecordError::Header);
        }
        let (prefix, payload) = bytes.split_at_checked(START + length).ok_or(RecordError::Short)?;
        Ok(Record { prefix, header: &prefix[START..], payload })
    }

    /// The metadata and the wrapped key.
    pub(crate) fn header(&self) -> Result<(Metadata, &'a [u8]), RecordError> {
        let (&count, mut rest) = self.header.split_first().ok_or(RecordError::Header)?;
        let mut part = || {
            let (length, behind) = rest.split_first_chunk().ok_or(RecordError::Header)?;
            let length = usize::from(u16::from_le_bytes(*length));
            let (part, behind) = behind.split_at_checked(length).ok_or(RecordError::Header)?;
            rest = behind;
            Ok(part)
        };
        let mut metadata = Metadata::new();
        for _ in 0..count {
            let key = std::str::from_utf8(part()?).map_err(|_| RecordError::Header)?;
            let own = part()?;
            if key.len() > LONGEST_METADATA_KEY || own.len() > LONGEST_METADATA {
                return Err(RecordError::Header);
            }
            metadata.insert(key.to_owned(), own.to_vec());
        }
        Ok((metadata, rest))
    }

    /// The plain text.
    pub(crate) fn open(&self, cipher: &Cipher, context: &[u8]) -> Result<Zeroizing<Vec<u8>>, RecordError> {
        cipher.open(&[self.prefix, context].concat(), self.payload).map_err(|_| RecordError::Changed)
    }
}
