//! Takes plan files apart and assembles them again with valid checksums. Written from the documentation of the layout
//! only.
#![allow(dead_code)]

/// A section as stored in a file.
#[derive(Clone)]
pub struct Part {
    pub kind: u16,
    pub flags: u16,
    pub index: u32,
    /// The size of the content according to the table. `None` for the actual size.
    pub claims: Option<u64>,
    pub stored: Vec<u8>,
}

pub const REQUIRED: u16 = 1;
pub const ZSTD: u16 = 2;
pub const HEADER: usize = 56;
pub const ENTRY: usize = 64;

fn number(bytes: &[u8], at: usize, width: usize) -> u64 {
    bytes[at..at + width].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The sections of a valid file, decompressed.
pub fn take_apart(file: &[u8]) -> Vec<Part> {
    let parts = raw_parts(file);
    parts
        .into_iter()
        .map(|part| {
            if part.flags & ZSTD == 0 {
                return part;
            }
            let content = zstd::bulk::decompress(&part.stored, part.claims.expect("a size") as usize).expect("a frame");
            Part { flags: part.flags & !ZSTD, claims: None, stored: content, ..part }
        })
        .collect()
}

/// The sections of a valid file, as stored.
pub fn raw_parts(file: &[u8]) -> Vec<Part> {
    (0..number(file, 12, 4) as usize)
        .map(|i| {
            let entry = &file[HEADER + i * ENTRY..][..ENTRY];
            let (offset, stored) = (number(entry, 8, 8) as usize, number(entry, 16, 8) as usize);
            Part {
                kind: number(entry, 0, 2) as u16,
                flags: number(entry, 2, 2) as u16,
                index: number(entry, 4, 4) as u32,
                claims: Some(number(entry, 24, 8)),
                stored: file[offset..offset + stored].to_vec(),
            }
        })
        .collect()
}

/// The kind of the section that contains a digest over all other sections.
pub const SEAL: u16 = 11;

/// Assembles a file of these sections with valid checksums. If there is a section for the seal, the seal is valid too.
pub fn put_together(parts: &[Part]) -> Vec<u8> {
    let mut parts = parts.to_vec();
    if let Some(at) = parts.iter().position(|part| part.kind == SEAL) {
        parts[at].stored = vec![0; 32];
        let file = put_together_as_sealed(&parts);
        let mut hasher = blake3::Hasher::new_derive_key("weft plan file: the sections of one plan");
        let entries = file[HEADER..][..parts.len() * ENTRY].chunks(ENTRY).zip(&parts);
        for (entry, _) in entries.filter(|(_, part)| part.kind != SEAL) {
            hasher.update(entry);
        }
        parts[at].stored = hasher.finalize().as_bytes().to_vec();
    }
    put_together_as_sealed(&parts)
}

/// Assembles a file of these sections with valid checksums, and leaves the seal as it is.
pub fn put_together_as_sealed(parts: &[Part]) -> Vec<u8> {
    let mut file = b"\x89WEFT\r\n\x1a".to_vec();
    file.extend(2u32.to_le_bytes());
    file.extend((parts.len() as u32).to_le_bytes());
    let mut offset = (HEADER + parts.len() * ENTRY) as u64;
    let length = offset + parts.iter().map(|p| p.stored.len() as u64).sum::<u64>();
    file.extend(length.to_le_bytes());
    let mut table = Vec::new();
    for part in parts {
        table.extend(part.kind.to_le_bytes());
        table.extend(part.flags.to_le_bytes());
        table.extend(part.index.to_le_bytes());
        table.extend(offset.to_le_bytes());
        table.extend((part.stored.len() as u64).to_le_bytes());
        table.extend(part.claims.unwrap_or(part.stored.len() as u64).to_le_bytes());
        table.extend(blake3::hash(&part.stored).as_bytes());
        offset += part.stored.len() as u64;
    }
    file.extend([0; 32]);
    file.extend(table);
    parts.iter().for_each(|part| file.extend(&part.stored));
    seal(&mut file);
    file
}

/// Corrects the checksum of the header, whatever the header contains, if the file is long enough.
pub fn seal(file: &mut [u8]) {
    let table = (number(file, 12, 4) as usize).saturating_mul(ENTRY).saturating_add(HEADER).min(file.len());
    let mut hasher = blake3::Hasher::new();
    hasher.update(&file[..24]);
    hasher.update(&file[HEADER..table]);
    file[24..HEADER].copy_from_slice(hasher.finalize().as_bytes());
}
