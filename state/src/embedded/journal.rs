//! The journal of one term. It consists of frames, which consist of lines. Each frame is one group of lines that became
//! durable together.
//!
//! ```text
//! frame:  "WFJ1" | length of lines u32 | number of first line u64 | crc32 of these 16 bytes | lines
//! sealed: "WFJ2" | length of the rest u32 | the same | the same | crc32 of the record | lines as a sealed record
//! line:   length u32 | event (postcard) | hash: blake3(hash of the line before, event)
//! ```
//! The journal of an encrypted state has sealed frames. The checksum of the record distinguishes two cases: a torn
//! frame, which was never acknowledged, and a frame that the key does not decrypt.
//!
//! All numbers are little-endian. The chain of hashes runs through all terms of a run. Each group is written by one
//! append and acknowledged after it is durable. So a crash can leave at most one bad frame, which is the last one.

use std::path::Path;

use weft_sealing::{OpenError, SealError};

use super::problems;
use super::sealed::JournalSeal;
use crate::content::bytes_of;
use crate::error::StoreError;
use crate::event::{Event, chain};
use crate::run::Digest;

/// The start of a frame, with the format version of the journal.
const MARK: &[u8; 4] = b"WFJ1";
/// The start of a sealed frame.
const SEALED_MARK: &[u8; 4] = b"WFJ2";
/// The number of bytes of a frame before its lines.
const HEAD: usize = 20;
/// The maximum size of a group, in bytes. A group becomes one frame. The length of a frame has 32 bits, and recovery
/// reads a whole frame into memory.
pub(super) const MAX_GROUP: usize = 1 << 30;
/// The maximum difference in length between a sealed frame and its lines. The head of a sealed record holds a wrapped
/// key and its metadata.
const SEALING_ROOM: usize = 1 << 20;

/// The end of the chain: the number of lines and the hash of the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Chain {
    /// The number of lines so far.
    pub(super) lines: u64,
    /// The hash of the last line.
    pub(super) hash: Digest,
}

/// The lines of one group before they become a frame.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    first: u64,
    lines: Vec<u8>,
}

impl Group {
    /// Whether there are no lines.
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The number of bytes of the lines.
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Adds a line and advances the chain.
    pub(super) fn push(&mut self, chain_at: &mut Chain, event: &Event) {
        if self.lines.is_empty() {
            self.first = chain_at.lines;
        }
        let bytes = bytes_of(event);
        let hash = chain(&chain_at.hash, &bytes);
        self.lines.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        self.lines.extend_from_slice(&bytes);
        self.lines.extend_from_slice(&hash.0);
        *chain_at = Chain { lines: chain_at.lines + 1, hash };
    }

    /// The frame to append.
    ///
    /// # Errors
    /// Returns an error if the frame must be encrypted and encryption fails.
    pub(super) fn frame(&self, seal: &JournalSeal) -> Result<Vec<u8>, SealError> {
        let Some(record) = seal.seal(self.first, &self.lines)? else {
            return Ok(framed(MARK, self.first, &[&self.lines]));
        };
        Ok(framed(SEALED_MARK, self.first, &[&crc32fast::hash(&record).to_le_bytes(), &record]))
    }
}

fn framed(mark: &[u8; 4], first: u64, content: &[&[u8]]) -> Vec<u8> {
    let length: usize = content.iter().map(|part| part.len()).sum();
    let mut frame = Vec::with_capacity(HEAD + length);
    frame.extend_from_slice(mark);
    frame.extend_from_slice(&(length as u32).to_le_bytes());
    frame.extend_from_slice(&first.to_le_bytes());
    frame.extend_from_slice(&crc32fast::hash(&frame).to_le_bytes());
    content.iter().for_each(|part| frame.extend_from_slice(part));
    frame
}

/// A journal as found on disk.
#[derive(Debug)]
pub(super) struct JournalContents {
    /// The valid lines, each with its hash.
    pub(super) events: Vec<(Event, Digest)>,
    /// The length up to the end of the last valid frame.
    pub(super) length: u64,
    /// The chain after the last valid line.
    pub(super) chain: Chain,
}

/// Reads a journal with this content. `start` is the chain before the journal, and `path` names the journal in
/// messages.
///
/// A bad frame at the end is dropped, because it was never acknowledged. A bad frame before a valid one is damage.
///
/// # Errors
/// [`StoreError::Damaged`], [`StoreError::Unopened`].
pub(super) fn read(
    content: &[u8],
    path: &Path,
    start: Chain,
    seal: &JournalSeal,
) -> Result<JournalContents, StoreError> {
    parse(content, start, seal).map_err(|bad| match bad {
        Bad::Damaged(offset, what) => problems::damaged_journal(path, offset, what),
        Bad::Unopened(error) => problems::unopened(path, error),
    })
}

/// The lines before the first damage, regardless of what follows.
pub(super) fn read_sound(content: &[u8], start: Chain, seal: &JournalSeal) -> JournalContents {
    let upto = match parse(content, start, seal) {
        Ok(found) => return found,
        Err(Bad::Damaged(offset, _)) => content.get(..offset).unwrap_or_default(),
        // Without the key, no line can be read.
        Err(Bad::Unopened(_)) => &[],
    };
    parse(upto, start, seal).unwrap_or(JournalContents { events: Vec::new(), length: 0, chain: start })
}

/// Why a journal cannot be read.
#[derive(Debug)]
enum Bad {
    /// The offset and kind of the damage.
    Damaged(usize, &'static str),
    /// The journal cannot be decrypted.
    Unopened(OpenError),
}

/// Reads a journal from bytes, as [`read`] does. The error has no path.
fn parse(content: &[u8], start: Chain, seal: &JournalSeal) -> Result<JournalContents, Bad> {
    let mut found = JournalContents { events: Vec::new(), length: 0, chain: start };
    let mut at = 0;
    while at < content.len() {
        match read_frame(&content[at..], found.chain, seal) {
            Ok((events, chain, size)) => {
                found.events.extend(events);
                found.chain = chain;
                at += size;
                found.length = at as u64;
            }
            Err(BadFrame::Unopened(error)) => return Err(Bad::Unopened(error)),
            Err(BadFrame::Torn(what)) => {
                if has_later_frame(&content[at + 1..], found.chain.lines) {
                    return Err(Bad::Damaged(at, what));
                }
                break;
            }
        }
    }
    Ok(found)
}

/// Lines with their hashes, and the chain after them.
type Lines = (Vec<(Event, Digest)>, Chain);

/// A frame's lines with their hashes, the chain after them, and the size of the frame.
type Frame = (Vec<(Event, Digest)>, Chain, usize);

/// Why a frame cannot be read.
enum BadFrame {
    /// The frame may be incomplete.
    Torn(&'static str),
    /// The frame is complete, but cannot be decrypted.
    Unopened(OpenError),
}

impl From<&'static str> for BadFrame {
    fn from(what: &'static str) -> BadFrame {
        BadFrame::Torn(what)
    }
}

fn read_frame(bytes: &[u8], chain_at: Chain, seal: &JournalSeal) -> Result<Frame, BadFrame> {
    let (length, first) = read_head(bytes).ok_or("a frame with an invalid header")?;
    if first != chain_at.lines {
        return Err(BadFrame::Torn("a frame out of order"));
    }
    let content = bytes.get(HEAD..HEAD + length).ok_or("a frame that ends too early")?;
    let (events, chain_at) = if bytes.starts_with(SEALED_MARK) {
        let (crc, record) = content.split_at_checked(4).ok_or("a frame that ends too early")?;
        if crc32fast::hash(record).to_le_bytes() != *crc {
            return Err(BadFrame::Torn("a frame whose checksum does not match"));
        }
        read_lines(&seal.open(first, record).map_err(BadFrame::Unopened)?, chain_at)?
    } else {
        let read = read_lines(content, chain_at)?;
        seal.check_plain().map_err(BadFrame::Unopened)?;
        read
    };
    Ok((events, chain_at, HEAD + length))
}

fn read_lines(mut lines: &[u8], mut chain_at: Chain) -> Result<Lines, &'static str> {
    let mut events = Vec::new();
    while !lines.is_empty() {
        let (size, rest) = lines.split_at_checked(4).ok_or("a line that ends too early")?;
        let size = u32::from_le_bytes(size.try_into().unwrap_or_default()) as usize;
        let (event, rest) = rest.split_at_checked(size).ok_or("a line that ends too early")?;
        let (hash, rest) = rest.split_at_checked(32).ok_or("a line that ends too early")?;
        let expected = chain(&chain_at.hash, event);
        if expected.0 != hash {
            return Err("a line whose hash does not match");
        }
        let event = postcard::from_bytes(event).map_err(|_| "a line that cannot be decoded")?;
        chain_at = Chain { lines: chain_at.lines + 1, hash: expected };
        events.push((event, expected));
        lines = rest;
    }
    Ok((events, chain_at))
}

/// The length of the lines and the number of the first one, if these bytes begin with a valid frame head.
fn read_head(bytes: &[u8]) -> Option<(usize, u64)> {
    let head = bytes.get(..HEAD)?;
    let (fields, crc) = head.split_at(16);
    if !is_mark(&fields[..4]) || crc32fast::hash(fields).to_le_bytes() != *crc {
        return None;
    }
    let length = u32::from_le_bytes(fields[4..8].try_into().ok()?) as usize;
    let first = u64::from_le_bytes(fields[8..16].try_into().ok()?);
    (length <= MAX_GROUP + SEALING_ROOM).then_some((length, first))
}

fn is_mark(bytes: &[u8]) -> bool {
    bytes == MARK || bytes == SEALED_MARK
}

/// Whether these bytes contain the start of a frame that comes after line `lines`.
fn has_later_frame(bytes: &[u8], lines: u64) -> bool {
    let marks = bytes.windows(MARK.len()).enumerate().filter(|(_, window)| is_mark(window));
    marks.filter_map(|(offset, _)| read_head(&bytes[offset..])).any(|(_, first)| first > lines)
}

#[cfg(test)]
mod tests {
    use weft_sealing::{
        EncryptionSettings, KeyProvider, KeyProviderName, KeySource, Method, MethodName, Passphrase, Pbkdf2, Sealing,
        Secret, Target, TargetName,
    };

    use super::super::sealed::Seals;
    use super::*;
    use crate::run::{OpIndex, RunId, RunStatus};
    use crate::step::StoreStep;

    fn seal_of(sealing: Sealing, run: &str) -> JournalSeal {
        Seals::new(std::sync::Arc::new(sealing)).journal(&RunId::parse(run).unwrap(), 1)
    }

    fn encrypting() -> Sealing {
        let words = Passphrase::Words(Secret::new(b"some words that are long enough".to_vec()));
        let keys = KeyProviderName::new("pbkdf2", "main");
        let method = MethodName::new("aes_gcm", "main");
        let iterations = weft_sealing::key_provider::LEAST_ITERATIONS;
        let source = KeySource::Pbkdf2(Pbkdf2 { iterations, ..Pbkdf2::with_defaults(words) });
        let settings = EncryptionSettings {
            key_providers: [(keys.clone(), KeyProvider::new(source))].into(),
            methods: [(method.clone(), Method::AesGcm { keys, aad: Vec::new() })].into(),
            targets: [(TargetName::State, Target { enforced: true, methods: vec![method] })].into(),
        };
        Sealing::new(settings).unwrap()
    }

    /// The seals of an unencrypted state and of an encrypted one.
    fn seals() -> [JournalSeal; 2] {
        [Sealing::default(), encrypting()].map(|sealing| seal_of(sealing, "run-a"))
    }

    fn journal(groups: usize, seal: &JournalSeal) -> (Vec<u8>, Vec<usize>) {
        let mut chain_at = Chain::default();
        let mut content = Vec::new();
        let mut ends = Vec::new();
        for group in 0..groups {
            let mut lines = Group::default();
            for line in 0..3 {
                let op = OpIndex((group * 3 + line) as u32);
                lines.push(&mut chain_at, &Event::Step(StoreStep::Reopen { op }));
            }
            lines.push(&mut chain_at, &Event::Ended { status: RunStatus::Stopped, abandoned: false });
            content.extend(lines.frame(seal).unwrap());
            ends.push(content.len());
        }
        (content, ends)
    }

    #[test]
    fn journals_survive_any_torn_end() {
        for seal in &seals() {
            let (content, ends) = journal(4, seal);
            assert_eq!(parse(&content, Chain::default(), seal).unwrap().events.len(), 16);
            for length in 0..content.len() {
                let found = parse(&content[..length], Chain::default(), seal).unwrap();
                let whole = ends.iter().filter(|end| **end <= length).count();
                assert_eq!((found.events.len(), found.chain.lines), (whole * 4, whole as u64 * 4), "cut at {length}");
                assert_eq!(found.length as usize, ends[..whole].last().copied().unwrap_or(0));
            }
        }
    }

    #[test]
    fn every_flipped_byte_is_detected() {
        for seal in &seals() {
            let (content, ends) = journal(3, seal);
            for at in 0..content.len() {
                let mut altered = content.clone();
                altered[at] ^= 0x40;
                let answer = parse(&altered, Chain::default(), seal);
                if at < ends[1] {
                    assert!(answer.is_err(), "byte {at}");
                } else {
                    assert_eq!(answer.unwrap().events.len(), 8, "byte {at}");
                }
            }
        }
    }

    /// A wrong key is reported and never mistaken for a torn end. An unsealed frame is not trusted where frames must be
    /// sealed.
    #[test]
    fn frames_with_another_key_are_not_dropped() {
        let ([plain, sealed], [_, again]) = (seals(), seals());
        let elsewhere = seal_of(encrypting(), "run-b");
        let (of_plain, of_sealed) = (journal(1, &plain).0, journal(1, &sealed).0);
        assert!(parse(&of_sealed, Chain::default(), &again).is_ok(), "the same words, another process");
        for (content, seal) in [(&of_sealed, &plain), (&of_plain, &sealed), (&of_sealed, &elsewhere)] {
            assert!(matches!(parse(content, Chain::default(), seal), Err(Bad::Unopened(_))));
        }
    }
}
