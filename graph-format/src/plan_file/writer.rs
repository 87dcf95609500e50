//! Writing a plan file.

use std::io::Write;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::container::{MOST_SECTIONS, Magic, Section, SectionKind, assemble};
use super::error::WriteError;
use super::reader::OutlineRecord;
use super::{Contents, Digest, PlanFile, SourceSnippets, record};
use crate::changes::Changes;
use crate::graph::Fragment;
use crate::schema::ProviderSchema;

/// Writes a plan. Equal plans give equal bytes; their blake3 is handed back.
///
/// Each section is read back before anything is written, so that no plan is put down that could not be applied.
/// Whether the graph is sound is for whoever made it to say ([`crate::graph::verify`]); it is checked when the file is
/// read.
///
/// # Errors
/// [`WriteError::Unwritable`] where a value is ephemeral or too deeply nested; errors of `out`.
pub fn write(plan: &PlanFile, mut out: impl Write) -> Result<Digest, WriteError> {
    let file = encode(plan)?;
    out.write_all(&file)?;
    out.flush()?;
    Ok(Digest(*blake3::hash(&file).as_bytes()))
}

fn encode(plan: &PlanFile) -> Result<Vec<u8>, WriteError> {
    let contents = Contents {
        shards: plan.graph.fragments.iter().map(|fragment| fragment.shard.clone()).collect(),
        schemas: plan.schemas.keys().cloned().collect(),
    };
    let mut sections = Vec::new();
    sections.push(section::<Contents>(SectionKind::Contents, 0, &contents)?);
    sections.push(section::<super::Manifest>(SectionKind::Manifest, 0, &plan.manifest)?);
    let texts = [
        (SectionKind::PriorState, &plan.manifest.prior_state),
        (SectionKind::Configuration, &plan.manifest.configuration),
    ];
    for (kind, text) in texts {
        if let Some(text) = text {
            sections.push(Section { kind, index: 0, content: text.clone().into_bytes() });
        }
    }
    sections.push(section::<Changes>(SectionKind::Changes, 0, &plan.changes)?);
    for (index, schema) in plan.schemas.values().enumerate() {
        sections.push(section::<ProviderSchema>(SectionKind::Schema, index, schema)?);
    }
    sections.push(section::<SourceSnippets>(SectionKind::Sources, 0, &plan.sources)?);
    let outline = OutlineRecord::of(&plan.graph);
    sections.push(section::<OutlineRecord>(SectionKind::Outline, 0, &outline)?);
    for (index, fragment) in plan.graph.fragments.iter().enumerate() {
        sections.push(section::<Fragment>(SectionKind::Fragment, index, fragment)?);
    }
    if sections.len() > MOST_SECTIONS as usize {
        return Err(WriteError::TooManySections(sections.len()));
    }
    Ok(assemble(Magic::Plan, sections))
}

/// The section of a record, after reading it back.
pub(super) fn section<T: Serialize + DeserializeOwned>(
    kind: SectionKind,
    index: usize,
    content: &T,
) -> Result<Section, WriteError> {
    let content = record::encode(kind, content)?;
    record::decode::<T>(kind, &content).map_err(|damage| WriteError::Unreadable { kind, damage })?;
    Ok(Section { kind, index: u32::try_from(index).unwrap_or(u32::MAX), content })
}
