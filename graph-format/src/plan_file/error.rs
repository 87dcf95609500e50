//! Errors of plan files. Each message says what the user can do.

use std::fmt::Write as _;
use std::io;

use thiserror::Error;

use super::depth::DEEPEST_NESTING;
use super::section::{MOST_CONTENT_BYTES, MOST_SECTIONS, SectionKind};
use crate::graph::Flaw;

/// Why a plan file cannot be read. The message says what the user can do.
#[derive(Debug, Error)]
pub enum PlanFileError {
    /// Reading failed.
    #[error("the plan file cannot be read: {0}. Check its path and permissions")]
    Io(#[from] io::Error),
    /// The file is not a plan.
    #[error("this is not a plan file of Weft. Use a file written by `weft plan -out=FILE`")]
    NotAPlan,
    /// A plan of OpenTofu or Terraform.
    #[error(
        "this is a plan of OpenTofu or Terraform, which does not say how unknown values are computed. Make a plan \
         with `weft plan -out=FILE`"
    )]
    PlanOfAnotherProgram,
    /// The file has another format version.
    #[error(
        "the plan file has format version {found}, but this version of Weft reads format version {supported}. Apply \
         the plan with the version of Weft that made it, or make the plan again with `weft plan -out=FILE`"
    )]
    Version {
        /// The version of the file.
        found: u32,
        /// The version that this program reads.
        supported: u32,
    },
    /// The file is shorter or longer than its header says.
    #[error(
        "the plan file has {found} bytes, but should have {stated} bytes: it was not copied or written completely. \
         Copy it again, or make the plan again with `weft plan -out=FILE`"
    )]
    Length {
        /// The size in the header. If the header itself is incomplete, the size of a header.
        stated: u64,
        /// The actual number of bytes.
        found: u64,
    },
    /// The header or the table of sections is damaged.
    #[error("the plan file is damaged: {0}. Copy it again, or make the plan again with `weft plan -out=FILE`")]
    Damaged(Damage),
    /// A required section that this program does not know.
    #[error(
        "the plan file needs a feature that this version of Weft does not have (section kind {kind}, flags \
         {flags:#x}). Apply the plan with the version of Weft that made it"
    )]
    UnknownSection {
        /// The kind of the section.
        kind: u16,
        /// The flags of the section.
        flags: u16,
    },
    /// The graph is invalid.
    #[error("the plan contradicts itself, so nothing was applied: {}. Make the plan again with `weft plan -out=FILE`",
        first_flaws(.0))]
    Unsound(Vec<Flaw>),
    /// A fragment does not exist.
    #[error("the plan has {count} fragments, but fragment {index} was requested")]
    NoSuchFragment {
        /// The index of the fragment.
        index: usize,
        /// The number of fragments.
        count: usize,
    },
}

/// The damage of a plan file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Damage {
    /// The header does not match its checksum.
    #[error("the checksum of its header is wrong")]
    Header,
    /// There are more sections than any plan has. Contains their number.
    #[error("it claims {0} sections, but the maximum is {MOST_SECTIONS}")]
    SectionCount(u32),
    /// Sections overlap, have gaps, or are out of order. Contains the position in the table.
    #[error("entry {0} of its table of sections contradicts the others")]
    Table(u32),
    /// A required section is missing.
    #[error("it has no section {0}")]
    Missing(SectionKind),
    /// A section does not match its checksum.
    #[error("the checksum of its section {0} is wrong")]
    Checksum(SectionKind),
    /// The sections were not written together.
    #[error(
        "its sections do not belong to the same plan, so the plan shown may differ from the plan that would be \
         applied; nothing was applied"
    )]
    Seal,
    /// A section that claims an unreasonable size.
    #[error(
        "its section {kind} claims {bytes} bytes of content, which exceeds the maximum of {MOST_CONTENT_BYTES} bytes, \
         or exceeds what its compressed bytes can contain"
    )]
    TooLarge {
        /// The kind of the section.
        kind: SectionKind,
        /// The size that the section claims, in bytes.
        bytes: u64,
    },
    /// A section does not decompress to the size in the table.
    #[error("its section {0} cannot be decompressed")]
    Compression(SectionKind),
    /// The content of a section does not match its kind.
    #[error("the content of its section {0} is invalid")]
    Record(SectionKind),
    /// A section with too deeply nested content.
    #[error("the content of its section {0} is nested deeper than {DEEPEST_NESTING} levels")]
    TooDeep(SectionKind),
}

/// Why a plan cannot be written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// Writing failed.
    #[error("the plan file cannot be written: {0}")]
    Io(#[from] io::Error),
    /// Something in the plan cannot be stored.
    #[error(
        "the section {0} of the plan cannot be written: it contains an ephemeral value, or a value that is nested too \
         deeply"
    )]
    Unwritable(SectionKind),
    /// Something in the plan would be refused when the plan is read back.
    #[error("the section {kind} of the plan could not be read back: {damage}")]
    Unreadable {
        /// The kind of the section that would be refused.
        kind: SectionKind,
        /// Why a reader would refuse the section.
        damage: Damage,
    },
    /// There are more fragments or providers than a file can have. Contains the number of sections.
    #[error("the plan would have {0} sections, but the maximum is {MOST_SECTIONS}")]
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
