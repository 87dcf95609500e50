//! The format of files that consist of records. Each record is the length of the payload, its SHA-256 and the payload.
//! If a crash left a record incomplete, the valid part of the file ends before this record.

use crate::digest::Digest;

/// The size of the length and the SHA-256 before a payload, in bytes.
const HEADER: usize = 4 + 32;

/// The record of a payload; `None` if the payload has 4 GiB or more.
pub fn framed(payload: &[u8]) -> Option<Vec<u8>> {
    let length = u32::try_from(payload.len()).ok()?;
    let mut record = Vec::with_capacity(HEADER + payload.len());
    record.extend(length.to_le_bytes());
    record.extend(Digest::of(payload).0);
    record.extend(payload);
    Some(record)
}

/// The payload of the first record, and the bytes after it; `None` if the first record is incomplete.
pub fn first_payload(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (digest, rest) = rest.split_first_chunk::<32>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (payload, rest) = rest.split_at_checked(length)?;
    (Digest::of(payload).0 == *digest).then_some((payload, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_up_to_the_first_that_is_not_whole() {
        let bytes = [framed(b"one").unwrap(), framed(b"").unwrap()].concat();
        let (first, rest) = first_payload(&bytes).unwrap();
        assert_eq!((first, first_payload(rest)), (&b"one"[..], Some((&b""[..], &b""[..]))));
        for length in 0..HEADER + 3 {
            assert_eq!(first_payload(&bytes[..length]), None, "{length}");
        }
        let mut altered = bytes;
        altered[HEADER] ^= 1;
        assert_eq!(first_payload(&altered), None);
    }
}
