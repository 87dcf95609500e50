//! The plan file: everything that an apply needs, in one versioned container.
//!
//! [`PlanFile`] is the whole file in memory. [`write()`] writes it. [`PlanReader`] opens a file and reads only the
//! requested parts. A [`FragmentPackage`] is the part that one worker gets. [`container`] describes the layout.
//!
//! Invariants:
//! - Equal plans produce equal bytes.
//! - [`PlanReader::whole`] reads everything that [`write()`] writes: the writer reads its own sections back.
//! - The changes for the reviewer and the graph belong together: opening a file checks the seal over all sections.
//! - Nothing in a file is trusted. Lengths, checksums, nesting and the validity of the graph are checked before
//!   anything is returned, and no input causes a panic.
//! - A file never contains an ephemeral value: [`crate::value::Value`] refuses to serialize one.

pub mod container;
mod depth;
mod error;
mod manifest;
mod package;
mod package_bytes;
mod read_back;
mod reader;
mod record;
mod section;
mod snippets;
mod writer;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use depth::DEEPEST_NESTING;
pub use error::{PlanFileError, WriteError};
pub use manifest::{CheckResult, CheckStatus, CheckedKind, EphemeralVariable, Manifest, ProviderPackage, UiMode};
pub use package::FragmentPackage;
pub use reader::{PlanOutline, PlanReader, SectionInfo};
pub use section::SectionKind;
pub use snippets::SourceSnippets;
pub use writer::write;

use crate::address::ProviderSource;
use crate::changes::Changes;
use crate::graph::{ExecutionGraph, Shard};
use crate::schema::ProviderSchema;

/// The version of the format that this program writes, and the only one that it reads.
///
/// Version 2 added the seal over all sections. Version 1 is refused: otherwise a file whose seal was removed could pass
/// for a file of version 1, which needs no seal.
pub const FORMAT_VERSION: u32 = 2;

/// A whole plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanFile {
    /// What the plan is about, and where it comes from.
    pub manifest: Manifest,
    /// The changes for the reviewer.
    pub changes: Changes,
    /// Schemas of the providers, restricted to the types that the plan uses.
    pub schemas: BTreeMap<ProviderSource, ProviderSchema>,
    /// Source lines for diagnostics at apply.
    pub sources: SourceSnippets,
    /// The execution graph.
    pub graph: ExecutionGraph,
}

/// What each numbered section contains, so that a reader can find a section without reading the others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Contents {
    /// The shards of the fragment sections, by index.
    shards: Vec<Shard>,
    /// The providers of the schema sections, by index.
    schemas: Vec<ProviderSource>,
}
