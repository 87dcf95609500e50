//! The sections of a container: their kinds, and limits on their number and size.

use std::fmt;

/// The maximum size of a section's content, so that a header cannot claim all memory.
pub(super) const MOST_CONTENT_BYTES: u64 = 4 << 30;

/// The maximum number of sections. A plan has one for each provider and each provider instance, and a table of this
/// size takes about six megabytes.
pub(super) const MOST_SECTIONS: u32 = 100_000;

/// The kinds of sections. Their numbers are stored in plan files: they are assigned by hand, and never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum SectionKind {
    /// The content of the numbered sections.
    Contents = 1,
    /// [`super::Manifest`] without the parts that have their own sections.
    Manifest = 2,
    /// [`super::Manifest::prior_state`]
    PriorState = 3,
    /// At index 0, [`super::Manifest::configuration`]. At the index [`super::container::GENERATED`],
    /// [`super::Manifest::generated`].
    Configuration = 4,
    /// [`crate::changes::Changes`]
    Changes = 5,
    /// The schema of one provider. Each provider has its own section.
    Schema = 6,
    /// [`super::SourceSnippets`]
    Sources = 7,
    /// At index 0, [`super::PlanOutline`] without its shards. At the index [`super::container::PLACEMENT`],
    /// [`super::Manifest::placement`]. At [`super::container::CALL_LIMITS`], [`super::Manifest::limits`]. At
    /// [`super::container::INSTANCE_BOUNDS`], the limits on open provider instances, if there are any.
    Outline = 8,
    /// [`crate::graph::Fragment`]; one section for each shard.
    Fragment = 9,
    /// [`super::FragmentPackage`]. Never in a plan.
    Package = 10,
    /// One digest over all other sections of a plan.
    Seal = 11,
}

impl SectionKind {
    const ALL: [SectionKind; 11] = [
        SectionKind::Contents,
        SectionKind::Manifest,
        SectionKind::PriorState,
        SectionKind::Configuration,
        SectionKind::Changes,
        SectionKind::Schema,
        SectionKind::Sources,
        SectionKind::Outline,
        SectionKind::Fragment,
        SectionKind::Package,
        SectionKind::Seal,
    ];

    pub(super) fn from_number(number: u16) -> Option<SectionKind> {
        SectionKind::ALL.into_iter().find(|kind| *kind as u16 == number)
    }

    /// Whether a reader that does not know this kind must refuse the file.
    pub(super) fn is_required(self) -> bool {
        !matches!(self, SectionKind::PriorState | SectionKind::Configuration | SectionKind::Sources)
    }

    /// The name in messages and listings.
    pub fn word(self) -> &'static str {
        match self {
            SectionKind::Contents => "contents",
            SectionKind::Manifest => "manifest",
            SectionKind::PriorState => "prior-state",
            SectionKind::Configuration => "configuration",
            SectionKind::Changes => "changes",
            SectionKind::Schema => "schema",
            SectionKind::Sources => "sources",
            SectionKind::Outline => "outline",
            SectionKind::Fragment => "fragment",
            SectionKind::Package => "package",
            SectionKind::Seal => "seal",
        }
    }
}

impl fmt::Display for SectionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
