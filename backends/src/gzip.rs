//! Compressed documents.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

/// The maximum size of a decompressed document, in bytes. No real state is this large, so a larger document is damaged
/// or hostile.
const LARGEST: u64 = 1 << 30;
/// The first byte of every compressed document.
pub const FIRST_BYTE: u8 = 0x1f;

/// Compresses a document.
///
/// # Errors
/// Returns no error in practice, because the function only writes to memory.
pub fn compressed(content: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content)?;
    encoder.finish()
}

/// Why a document cannot be decompressed.
#[derive(Debug, thiserror::Error)]
pub enum GzipProblem {
    /// The document is damaged.
    #[error("it cannot be decompressed: {0}")]
    Damaged(#[source] std::io::Error),
    /// The document is too large.
    #[error("it has more than {LARGEST} bytes")]
    TooLarge,
}

/// Decompresses a document.
///
/// # Errors
/// Returns an error if the document is damaged or too large.
pub fn decompressed(content: &[u8]) -> Result<Vec<u8>, GzipProblem> {
    let mut found = Vec::new();
    let read = MultiGzDecoder::new(content).take(LARGEST + 1).read_to_end(&mut found);
    read.map_err(GzipProblem::Damaged)?;
    if found.len() as u64 > LARGEST {
        return Err(GzipProblem::TooLarge);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_survive() {
        for content in [b"".as_slice(), b"{}", &[7; 100_000]] {
            let short = compressed(content).unwrap();
            assert_eq!(short[0], FIRST_BYTE);
            assert_eq!(decompressed(&short).unwrap(), content);
            assert!(decompressed(&short[..short.len() - 1]).is_err());
        }
        assert!(decompressed(b"{}").is_err());
    }
}
