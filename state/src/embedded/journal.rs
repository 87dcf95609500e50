//! The journal file of one term: frames of lines, each frame one durable group.
//!
//! ```text
//! frame:  "WFJ1" | length of lines u32 | number of first line u64 | crc32 of these 16 bytes | lines
//! line:   length u32 | event (postcard) | hash: blake3(hash of the line before, event)
//! ```
//! All numbers little-endian. The chain runs through all terms of a run. A group is written by one append and is
//! acknowledged by one fsync, so a crash can leave at most one bad frame, the last.

use std::fs::File;
use std::io;
use std::path::Path;

use super::lock::{failed, read_all};
use crate::content::bytes_of;
use crate::event::{Event, chain};
use crate::run::Digest;
use crate::store::StoreError;

/// The start of a frame, with the journal's format version in it.
const MARK: &[u8; 4] = b"WFJ1";
/// Bytes of a frame before its lines.
const HEAD: usize = 20;
/// Largest group: a frame's length is 32 bits, and recovery holds one in memory.
pub(super) const MAX_GROUP: usize = 1 << 30;

/// Where the chain stands: number and carried hash of the last line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Chain {
    /// Number of lines so far.
    pub(super) lines: u64,
    /// Hash of the last one.
    pub(super) hash: Digest,
}

/// Lines of one group, not yet a frame.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    first: u64,
    lines: Vec<u8>,
}

impl Group {
    /// Whether there is nothing to write.
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Bytes of its lines.
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Adds a line and moves the chain on.
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
    pub(super) fn frame(&self) -> Vec<u8> {
        let mut frame = Vec::with_capacity(HEAD + self.lines.len());
        frame.extend_from_slice(MARK);
        frame.extend_from_slice(&(self.lines.len() as u32).to_le_bytes());
        frame.extend_from_slice(&self.first.to_le_bytes());
        frame.extend_from_slice(&crc32fast::hash(&frame).to_le_bytes());
        frame.extend_from_slice(&self.lines);
        frame
    }
}

/// A journal as found on disk.
#[derive(Debug)]
pub(super) struct Found {
    /// Its sound lines, each with the hash that it carries.
    pub(super) events: Vec<(Event, Digest)>,
    /// Length up to the end of the last sound frame.
    pub(super) length: u64,
    /// The chain after the last sound line.
    pub(super) chain: Chain,
}

/// Reads a journal; `start` is where the chain stood before it.
///
/// A bad frame at the end is dropped: nobody was told that it is durable. A bad frame with a sound one behind it is
/// damage.
///
/// # Errors
/// [`StoreError::Damaged`], [`StoreError::Io`].
pub(super) fn read(path: &Path, start: Chain) -> Result<Found, StoreError> {
    let doing = || format!("reading {}", path.display());
    let file = File::open(path).map_err(failed(doing()))?;
    let content = read_all(&file).map_err(failed(doing()))?;
    parse(&content, start).map_err(|(offset, what)| StoreError::Damaged {
        place: path.display().to_string(),
        what: format!("{what} at byte {offset}, and sound records behind it"),
        way_out: "Restore the file from a backup, or set the run aside, which names every object that it touched"
            .to_owned(),
    })
}

/// The lines before the first damage, whatever comes behind it.
pub(super) fn read_sound(path: &Path, start: Chain) -> Result<Found, StoreError> {
    let file = File::open(path).map_err(failed(format!("reading {}", path.display())))?;
    let content = read_all(&file).map_err(failed(format!("reading {}", path.display())))?;
    let upto = match parse(&content, start) {
        Ok(found) => return Ok(found),
        Err((offset, _)) => content.get(..offset).unwrap_or_default(),
    };
    Ok(parse(upto, start).unwrap_or(Found { events: Vec::new(), length: 0, chain: start }))
}

/// [`read`] of bytes; the error is offset and kind of the damage.
fn parse(content: &[u8], start: Chain) -> Result<Found, (usize, &'static str)> {
    let mut found = Found { events: Vec::new(), length: 0, chain: start };
    let mut at = 0;
    while at < content.len() {
        match read_frame(&content[at..], found.chain) {
            Ok((events, chain, size)) => {
                found.events.extend(events);
                found.chain = chain;
                at += size;
                found.length = at as u64;
            }
            Err(what) => {
                if has_later_frame(&content[at + 1..], found.chain.lines) {
                    return Err((at, what));
                }
                break;
            }
        }
    }
    Ok(found)
}

/// A frame's lines with their hashes, the chain behind them, and the frame's size.
type Frame = (Vec<(Event, Digest)>, Chain, usize);

fn read_frame(bytes: &[u8], mut chain_at: Chain) -> Result<Frame, &'static str> {
    let (length, first) = read_head(bytes).ok_or("a bad frame head")?;
    if first != chain_at.lines {
        return Err("a frame out of order");
    }
    let mut lines = bytes.get(HEAD..HEAD + length).ok_or("a frame that ends too early")?;
    let mut events = Vec::new();
    while !lines.is_empty() {
        let (size, rest) = lines.split_at_checked(4).ok_or("a line that ends too early")?;
        let size = u32::from_le_bytes(size.try_into().unwrap_or_default()) as usize;
        let (event, rest) = rest.split_at_checked(size).ok_or("a line that ends too early")?;
        let (hash, rest) = rest.split_at_checked(32).ok_or("a line that ends too early")?;
        let expected = chain(&chain_at.hash, event);
        if expected.0 != hash {
            return Err("a line whose hash does not fit");
        }
        let event = postcard::from_bytes(event).map_err(|_| "a line that cannot be decoded")?;
        chain_at = Chain { lines: chain_at.lines + 1, hash: expected };
        events.push((event, expected));
        lines = rest;
    }
    Ok((events, chain_at, HEAD + length))
}

/// Length of lines and number of the first, if these bytes begin with a sound frame head.
fn read_head(bytes: &[u8]) -> Option<(usize, u64)> {
    let head = bytes.get(..HEAD)?;
    let (fields, crc) = head.split_at(16);
    if &fields[..4] != MARK || crc32fast::hash(fields).to_le_bytes() != *crc {
        return None;
    }
    let length = u32::from_le_bytes(fields[4..8].try_into().ok()?) as usize;
    let first = u64::from_le_bytes(fields[8..16].try_into().ok()?);
    (length <= MAX_GROUP).then_some((length, first))
}

/// Whether a frame that comes after line `lines` begins somewhere in these bytes.
fn has_later_frame(bytes: &[u8], lines: u64) -> bool {
    let marks = bytes.windows(MARK.len()).enumerate().filter(|(_, window)| window == MARK);
    marks.filter_map(|(offset, _)| read_head(&bytes[offset..])).any(|(_, first)| first > lines)
}

/// Appends a frame durably. On failure the file is brought back to `offset` and that is made durable, so that no
/// half-written frame stays.
///
/// # Errors
/// The first error; the caller must not append to this journal again.
pub(super) fn append(file: &File, offset: u64, frame: &[u8]) -> io::Result<()> {
    use std::os::unix::fs::FileExt as _;
    if let Err(error) = file.write_all_at(frame, offset) {
        file.set_len(offset)?;
        file.sync_all()?;
        return Err(error);
    }
    // After a failed fsync nothing is known of the pages any more: not even a truncation would tell the truth.
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{OpIndex, RunStatus};
    use crate::step::StoreStep;

    fn journal(groups: usize) -> (Vec<u8>, Vec<usize>) {
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
            content.extend(lines.frame());
            ends.push(content.len());
        }
        (content, ends)
    }

    #[test]
    fn round_trip_and_every_torn_end() {
        let (content, ends) = journal(4);
        assert_eq!(parse(&content, Chain::default()).unwrap().events.len(), 16);
        for length in 0..content.len() {
            let found = parse(&content[..length], Chain::default()).unwrap();
            let whole = ends.iter().filter(|end| **end <= length).count();
            assert_eq!((found.events.len(), found.chain.lines), (whole * 4, whole as u64 * 4), "cut at {length}");
            assert_eq!(found.length as usize, ends[..whole].last().copied().unwrap_or(0));
        }
    }

    #[test]
    fn every_flipped_byte_is_seen() {
        let (content, ends) = journal(3);
        for at in 0..content.len() {
            let mut altered = content.clone();
            altered[at] ^= 0x40;
            let answer = parse(&altered, Chain::default());
            if at < ends[1] {
                assert!(answer.is_err(), "byte {at}");
            } else {
                assert_eq!(answer.unwrap().events.len(), 8, "byte {at}");
            }
        }
    }
}
