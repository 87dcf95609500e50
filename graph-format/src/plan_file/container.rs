//! The container: a header, a table of sections, the sections.
//!
//! All numbers are little endian.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | magic: the first byte is not text; for a plan, line ends follow, so that a copy in text mode is detected |
//! | 4 | format version |
//! | 4 | number of sections |
//! | 8 | size of the whole file in bytes |
//! | 32 | blake3 of the preceding 24 bytes and of the table |
//! | 64 each | the table: kind (2), flags (2), index (4), offset (8), stored size (8), content size (8), blake3 (32) |
//! | the rest | the sections, in the order of the table, without gaps |
//!
//! The last section of a plan is [`SectionKind::Seal`]: one digest over the table entries of all other sections. The
//! seal proves that the sections were written together. Every reader checks the seal when it opens the file, even to
//! read a single fragment. So the changes of one plan cannot be combined with the operations of another. The seal is
//! not a signature, and needs no secret.
//!
//! The table is in ascending order of kind and index. Every byte of a file is covered by a checksum. The header's
//! checksum covers the checksums of the sections, so a reader that knows the header's checksum can check any section
//! alone.

use super::FORMAT_VERSION;
use super::error::{Damage, PlanFileError};
use super::section::{MOST_CONTENT_BYTES, MOST_SECTIONS, SectionKind};

/// The minimum size of a section that is compressed, in bytes. Compression of smaller sections would save too little.
const COMPRESS_FROM: usize = 512;
/// zstd's default. Higher levels take several times as long and save a few percent.
const COMPRESSION_LEVEL: i32 = 3;
/// The maximum ratio of a section's content to its compressed size. The writer stores a section uncompressed if its
/// ratio would be higher. So a small file never claims much memory.
const MOST_BYTES_A_BYTE: u64 = 1024;
pub(super) const HEADER_BYTES: usize = 56;
pub(super) const ENTRY_BYTES: usize = 64;
/// The number of bytes of the header that its checksum covers. The checksum follows them.
const HEADER_CHECKED: usize = 24;

/// A reader that does not know the section must refuse the file.
const FLAG_REQUIRED: u16 = 1;
/// The section is compressed as one zstd frame.
const FLAG_ZSTD: u16 = 2;
const KNOWN_FLAGS: u16 = FLAG_REQUIRED | FLAG_ZSTD;

/// The kind of container: a whole plan, or the package of one fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Magic {
    Plan,
    Package,
}

impl Magic {
    pub(super) fn bytes(self) -> [u8; 8] {
        match self {
            Magic::Plan => *b"\x89WEFT\r\n\x1a",
            Magic::Package => *b"\x89WEFTfr\x1a",
        }
    }
}

/// The index of the section of kind [`SectionKind::Configuration`] that contains [`super::Manifest::generated`].
pub(super) const GENERATED: u32 = 1;

/// The index of the section of kind [`SectionKind::Outline`] that contains the placement.
pub(super) const PLACEMENT: u32 = 1;

/// The index of the section of kind [`SectionKind::Outline`] that contains the limits on calls.
pub(super) const CALL_LIMITS: u32 = 2;

/// The index of the section of kind [`SectionKind::Outline`] that contains the limits on open provider instances.
pub(super) const INSTANCE_BOUNDS: u32 = 3;

/// A section to be written.
pub(super) struct Section {
    pub(super) kind: SectionKind,
    pub(super) index: u32,
    pub(super) content: Vec<u8>,
}

/// An entry of the table, for a known kind of section.
#[derive(Clone, Copy, Debug)]
pub(super) struct SectionEntry {
    pub(super) kind: SectionKind,
    pub(super) index: u32,
    pub(super) offset: u64,
    pub(super) stored: u64,
    pub(super) content: u64,
    pub(super) compressed: bool,
    checksum: [u8; 32],
}

/// The context of the seal's key derivation, so that a digest made for another purpose never equals a seal.
const SEAL_CONTEXT: &str = "weft plan file: the sections of one plan";
/// The size of the seal, in bytes.
const SEAL_BYTES: usize = 32;

/// The digest over all entries of a table except that of the seal.
pub(super) fn seal_of(table: &[u8]) -> [u8; SEAL_BYTES] {
    let mut hasher = blake3::Hasher::new_derive_key(SEAL_CONTEXT);
    for entry in table.chunks_exact(ENTRY_BYTES).filter(|entry| number(entry, 0, 2) != Some(SectionKind::Seal as u64)) {
        hasher.update(entry);
    }
    *hasher.finalize().as_bytes()
}

/// Assembles the file from sections in ascending order of kind and index. Adds the seal to a plan.
pub(super) fn assemble(magic: Magic, mut sections: Vec<Section>) -> Vec<u8> {
    if magic == Magic::Plan {
        // The content is computed from the table entries of the other sections.
        sections.push(Section { kind: SectionKind::Seal, index: 0, content: Vec::new() });
    }
    let table_bytes = sections.len() * ENTRY_BYTES;
    let mut table: Vec<u8> = Vec::with_capacity(table_bytes);
    let mut body: Vec<Vec<u8>> = Vec::with_capacity(sections.len());
    let mut offset = (HEADER_BYTES + table_bytes) as u64;
    for mut section in sections {
        if section.kind == SectionKind::Seal {
            section.content = seal_of(&table).to_vec();
        }
        let content_bytes = section.content.len() as u64;
        let (stored, compressed) = compress(section.content);
        let flag = |set: bool, flag: u16| if set { flag } else { 0 };
        let flags = flag(section.kind.is_required(), FLAG_REQUIRED) | flag(compressed, FLAG_ZSTD);
        table.extend((section.kind as u16).to_le_bytes());
        table.extend(flags.to_le_bytes());
        table.extend(section.index.to_le_bytes());
        table.extend(offset.to_le_bytes());
        table.extend((stored.len() as u64).to_le_bytes());
        table.extend(content_bytes.to_le_bytes());
        table.extend(blake3::hash(&stored).as_bytes());
        offset += stored.len() as u64;
        body.push(stored);
    }
    let mut file = Vec::with_capacity(usize::try_from(offset).unwrap_or_default());
    file.extend(magic.bytes());
    file.extend(FORMAT_VERSION.to_le_bytes());
    file.extend((body.len() as u32).to_le_bytes());
    file.extend(offset.to_le_bytes());
    let checksum = header_checksum(&file, &table);
    file.extend(checksum);
    file.extend(table);
    body.iter().for_each(|stored| file.extend(stored));
    file
}

fn compress(content: Vec<u8>) -> (Vec<u8>, bool) {
    if content.len() < COMPRESS_FROM {
        return (content, false);
    }
    match zstd::bulk::compress(&content, COMPRESSION_LEVEL) {
        Ok(packed)
            if packed.len() < content.len() && content.len() as u64 <= packed.len() as u64 * MOST_BYTES_A_BYTE =>
        {
            (packed, true)
        }
        _ => (content, false),
    }
}

fn header_checksum(front: &[u8], table: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(front);
    hasher.update(table);
    *hasher.finalize().as_bytes()
}

/// The header of a file.
pub(super) struct Header {
    front: [u8; HEADER_CHECKED],
    checksum: [u8; 32],
    pub(super) sections: u32,
}

impl Header {
    /// Parses a header. `file_bytes` is the actual size of the file.
    pub(super) fn parse(magic: Magic, bytes: &[u8], file_bytes: u64) -> Result<Header, PlanFileError> {
        if !bytes.starts_with(&magic.bytes()) {
            // A file that ends within the magic is treated like a file without the magic.
            let is_zip = bytes.starts_with(b"PK\x03\x04");
            return Err(if is_zip { PlanFileError::PlanOfAnotherProgram } else { PlanFileError::NotAPlan });
        }
        let too_short = PlanFileError::Length { stated: HEADER_BYTES as u64, found: file_bytes };
        // The header of other versions may differ after the version.
        let Some(version) = number(bytes, 8, 4) else { return Err(too_short) };
        if version != u64::from(FORMAT_VERSION) {
            return Err(PlanFileError::Version { found: version as u32, supported: FORMAT_VERSION });
        }
        let (Some(sections), Some(stated)) = (number(bytes, 12, 4), number(bytes, 16, 8)) else {
            return Err(too_short);
        };
        let (Some(front), Some(checksum)) = (bytes.first_chunk(), array(bytes, HEADER_CHECKED)) else {
            return Err(too_short);
        };
        if stated != file_bytes {
            return Err(PlanFileError::Length { stated, found: file_bytes });
        }
        let sections = sections as u32;
        let table_bytes = u64::from(sections) * ENTRY_BYTES as u64;
        if sections > MOST_SECTIONS || HEADER_BYTES as u64 + table_bytes > file_bytes {
            return Err(PlanFileError::Damaged(Damage::SectionCount(sections)));
        }
        Ok(Header { front: *front, checksum, sections })
    }

    /// The table entries of known sections. Unknown sections that are not required are skipped.
    pub(super) fn table(&self, table: &[u8], file_bytes: u64) -> Result<Vec<SectionEntry>, PlanFileError> {
        if header_checksum(&self.front, table) != self.checksum {
            return Err(PlanFileError::Damaged(Damage::Header));
        }
        let mut entries: Vec<SectionEntry> = Vec::with_capacity(self.sections as usize);
        let mut expected = (HEADER_BYTES + table.len()) as u64;
        let mut last: Option<(u16, u32)> = None;
        for (i, raw) in table.chunks_exact(ENTRY_BYTES).enumerate() {
            let bad = PlanFileError::Damaged(Damage::Table(i as u32));
            let field = |at, bytes| number(raw, at, bytes).unwrap_or_default();
            let (kind, flags, index) = (field(0, 2) as u16, field(2, 2) as u16, field(4, 4) as u32);
            let (offset, stored, content) = (field(8, 8), field(16, 8), field(24, 8));
            let Some(checksum) = array(raw, 32) else { return Err(bad) };
            let Some(end) = offset.checked_add(stored) else { return Err(bad) };
            if offset != expected || end > file_bytes || last.is_some_and(|l| l >= (kind, index)) {
                return Err(bad);
            }
            expected = end;
            last = Some((kind, index));
            let Some(kind) = SectionKind::from_number(kind) else {
                if flags & FLAG_REQUIRED != 0 {
                    return Err(PlanFileError::UnknownSection { kind, flags });
                }
                continue;
            };
            if flags & !KNOWN_FLAGS != 0 {
                return Err(PlanFileError::UnknownSection { kind: kind as u16, flags });
            }
            let compressed = flags & FLAG_ZSTD != 0;
            if !compressed && content != stored {
                return Err(bad);
            }
            let most = MOST_CONTENT_BYTES.min(stored.saturating_mul(MOST_BYTES_A_BYTE));
            if compressed && content > most {
                return Err(PlanFileError::Damaged(Damage::TooLarge { kind, bytes: content }));
            }
            entries.push(SectionEntry { kind, index, offset, stored, content, compressed, checksum });
        }
        if expected != file_bytes {
            return Err(PlanFileError::Length { stated: expected, found: file_bytes });
        }
        Ok(entries)
    }
}

impl SectionEntry {
    /// Decompresses and checks the stored bytes of the section.
    pub(super) fn unpack(&self, stored: Vec<u8>) -> Result<Vec<u8>, Damage> {
        if *blake3::hash(&stored).as_bytes() != self.checksum {
            return Err(Damage::Checksum(self.kind));
        }
        if !self.compressed {
            return Ok(stored);
        }
        let bytes = usize::try_from(self.content).map_err(|_| Damage::Compression(self.kind))?;
        let content = zstd::bulk::decompress(&stored, bytes).map_err(|_| Damage::Compression(self.kind))?;
        if content.len() != bytes {
            return Err(Damage::Compression(self.kind));
        }
        Ok(content)
    }
}

fn array(bytes: &[u8], at: usize) -> Option<[u8; 32]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// Reads a number of `width` bytes, at most 8.
fn number(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    let part = bytes.get(at..at + width)?;
    Some(part.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}
