//! The plan file: everything that applying needs, in one versioned container.
//!
//! [`PlanFile`] is the whole file in memory. [`write()`] writes it, and [`PlanReader`] opens one and reads only the
//! requested parts. A [`FragmentPackage`] is the part of one worker. [`container`] describes the layout.
//!
//! Invariants:
//! - Equal plans produce equal bytes.
//! - What [`write()`] has written, [`PlanReader::whole`] reads: the writer reads its own sections back.
//! - The changes for the reviewer and the graph belong together: opening a file checks the seal over all sections.
//! - Nothing that is read is trusted: lengths, checksums, nesting and the soundness of the graph are checked before
//!   anything is handed out; no input makes it panic.
//! - No ephemeral value is ever in a file: [`crate::value::Value`] refuses to be written with one.

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
/// 1: the first. 2: a seal over all sections. Version 1 is refused, since a file that needs no seal could pass for one
/// whose seal was taken off.
pub const FORMAT_VERSION: u32 = 2;

/// A plan, whole.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanFile {
    /// The subject and the origin of the plan.
    pub manifest: Manifest,
    /// The changes for the reviewer.
    pub changes: Changes,
    /// Schemas of the providers, restricted to the types that the plan uses.
    pub schemas: BTreeMap<ProviderSource, ProviderSchema>,
    /// Source lines for diagnostics at apply.
    pub sources: SourceSnippets,
    /// The graph.
    pub graph: ExecutionGraph,
}

/// The content of the numbered sections. It finds one without reading the others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Contents {
    /// The shard of each fragment section.
    shards: Vec<Shard>,
    /// The provider of each schema section.
    schemas: Vec<ProviderSource>,
}
