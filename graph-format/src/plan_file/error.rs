//! Problems of plan files, and the way out of each.

use std::fmt::Write as _;
use std::io;

use thiserror::Error;

use super::depth::DEEPEST_NESTING;
use super::section::{MOST_CONTENT_BYTES, MOST_SECTIONS, SectionKind};
use crate::graph::Flaw;

/// A plan file that cannot be read. The text includes the way out.
#[derive(Debug, Error)]
pub enum PlanFileError {
    /// Reading failed.
    #[error("the plan file cannot be read: {0}. Check its path and permissions")]
    Io(#[from] io::Error),
    /// Another kind of file.
    #[error("this is not a plan file of Weft. Give a file that `weft plan -out=FILE` has written")]
    NotAPlan,
    /// A plan of OpenTofu or Terraform.
    #[error(
        "this is a plan of OpenTofu or Terraform, which does not say how unknown values are computed. Make a plan \
         with `weft plan -out=FILE`"
    )]
    PlanOfAnotherProgram,
    /// The format is of another version.
    #[error(
        "the plan file has format version {found}, and this Weft reads version {supported}. Apply it with the version \
         of Weft that made it, or make the plan again with `weft plan -out=FILE`"
    )]
    Version {
        /// The version of the file.
        found: u32,
        /// The version that is read.
        supported: u32,
    },
    /// The file is shorter or longer than its header says.
    #[error(
        "the plan file has {found} bytes and should have {stated}: it was not copied or written whole. Copy it again, \
         or make the plan again with `weft plan -out=FILE`"
    )]
    Length {
        /// Bytes that the header speaks of; the size of the header itself when that is not whole.
        stated: u64,
        /// The actual number of bytes.
        found: u64,
    },
    /// The header or the table of sections is damaged.
    #[error("the plan file is damaged: {0}. Copy it again, or make the plan again with `weft plan -out=FILE`")]
    Damaged(Damage),
    /// A section that must be understood is not.
    #[error(
        "the plan file needs a feature that this Weft does not have (section kind {kind}, flags {flags:#x}). Apply it \
         with the version of Weft that made it"
    )]
    UnknownSection {
        /// Its kind.
        kind: u16,
        /// Its flags.
        flags: u16,
    },
    /// The graph is not sound.
    #[error("the plan is not sound and nothing of it was applied: {}. Make the plan again with `weft plan -out=FILE`",
        first_flaws(.0))]
    Unsound(Vec<Flaw>),
    /// A fragment does not exist.
    #[error("the plan has {count} fragments, and number {index} was asked for")]
    NoSuchFragment {
        /// Its number.
        index: usize,
        /// The number of fragments.
        count: usize,
    },
}

/// What exactly is damaged.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Damage {
    /// The header's checksum.
    #[error("the checksum of its header is wrong")]
    Header,
    /// More sections than any plan has.
    #[error("it claims {0} sections, and {MOST_SECTIONS} is the most")]
    SectionCount(u32),
    /// Sections do not follow each other, or are not in order.
    #[error("entry {0} of its table of sections contradicts the others")]
    Table(u32),
    /// A section that must be there is not.
    #[error("it has no section {0}")]
    Missing(SectionKind),
    /// A section's checksum.
    #[error("the checksum of its section {0} is wrong")]
    Checksum(SectionKind),
    /// The sections were not written together.
    #[error(
        "its sections are not those of one plan, so what it shows may not be what it would do; nothing of it was applied"
    )]
    Seal,
    /// A section that would be larger than is reasonable.
    #[error(
        "its section {kind} claims {bytes} bytes of content, more than {MOST_CONTENT_BYTES} or than so few bytes can \
         hold"
    )]
    TooLarge {
        /// Which.
        kind: SectionKind,
        /// How much it claims.
        bytes: u64,
    },
    /// A section does not decompress to the size in the table.
    #[error("its section {0} cannot be unpacked")]
    Compression(SectionKind),
    /// The content of a section does not match its kind.
    #[error("the content of its section {0} makes no sense")]
    Record(SectionKind),
    /// A section with too deeply nested content.
    #[error("the content of its section {0} is nested deeper than {DEEPEST_NESTING} levels")]
    TooDeep(SectionKind),
}

/// A plan that cannot be written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// Writing failed.
    #[error("the plan file cannot be written: {0}")]
    Io(#[from] io::Error),
    /// Something in the plan has no written form.
    #[error(
        "the section {0} of the plan cannot be written: it holds an ephemeral value or one that is nested too deeply"
    )]
    Unwritable(SectionKind),
    /// Something in the plan would be refused when it is read back.
    #[error("the section {kind} of the plan could not be read back: {damage}")]
    Unreadable {
        /// Which.
        kind: SectionKind,
        /// Why.
        damage: Damage,
    },
    /// More fragments or providers than a file can have.
    #[error("the plan would have {0} sections, and {MOST_SECTIONS} is the most")]
    TooManySections(usize),
}

/// The maximum number of flaws in an error message.
const FLAWS_SHOWN: usize = 5;

fn first_flaws(flaws: &[Flaw]) -> String {
    let mut text = flaws.iter().take(FLAWS_SHOWN).map(Flaw::to_string).collect::<Vec<_>>().join("; ");
    if flaws.len() > FLAWS_SHOWN {
        // Writing to a string cannot fail.
        let _ = write!(text, "; and {} more", flaws.len() - FLAWS_SHOWN);
    }
    text
}
