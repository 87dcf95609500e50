//! Writing a plan file.

use std::collections::BTreeMap;
use std::io::Write;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::container::{CALL_LIMITS, GENERATED, INSTANCE_BOUNDS, Magic, PLACEMENT, Section, assemble};
use super::error::WriteError;
use super::read_back::{ReadBackChanges, ReadBackFragment, ReadBackOutline};
use super::reader::OutlineRecord;
use super::section::{MOST_SECTIONS, SectionKind};
use super::{Contents, PlanFile, SourceSnippets, record};
use crate::digest::Digest;
use crate::limits::CallLimits;
use crate::placement::{InstanceBound, Placement};
use crate::schema::ProviderSchema;

/// Writes a plan, and returns the blake3 digest of its bytes. Equal plans produce equal bytes.
///
/// Each section is read back before anything is written, so a plan that cannot be decoded is never written. The creator
/// of the graph verifies it ([`crate::graph::verify`]), and so does every reader of the file.
///
/// # Errors
/// Returns [`WriteError::Unwritable`] if a value is ephemeral or nested too deeply, [`WriteError::Unreadable`] if a
/// section cannot be read back, [`WriteError::TooManySections`], and the errors of `out`.
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
    let outline = OutlineRecord::of(&plan.graph);
    let mut parts: Vec<SectionJob<'_>> = vec![
        Box::new(|| section::<Contents>(SectionKind::Contents, 0, &contents)),
        Box::new(|| section::<super::Manifest>(SectionKind::Manifest, 0, &plan.manifest)),
    ];
    let texts = [
        (SectionKind::PriorState, &plan.manifest.prior_state),
        (SectionKind::Configuration, &plan.manifest.configuration),
    ];
    for (kind, text) in texts {
        if let Some(text) = text {
            parts.push(Box::new(move || Ok(Section { kind, index: 0, content: text.clone().into_bytes() })));
        }
    }
    let generated = &plan.manifest.generated;
    if !generated.is_empty() {
        let index = GENERATED as usize;
        parts.push(Box::new(move || section::<BTreeMap<String, String>>(SectionKind::Configuration, index, generated)));
    }
    parts.push(Box::new(|| section::<ReadBackChanges>(SectionKind::Changes, 0, &plan.changes)));
    for (index, schema) in plan.schemas.values().enumerate() {
        parts.push(Box::new(move || section::<ProviderSchema>(SectionKind::Schema, index, schema)));
    }
    parts.push(Box::new(|| section::<SourceSnippets>(SectionKind::Sources, 0, &plan.sources)));
    parts.push(Box::new(|| section::<ReadBackOutline>(SectionKind::Outline, 0, &outline)));
    let placement = &plan.manifest.placement;
    if !placement.is_empty() {
        let index = PLACEMENT as usize;
        parts.push(Box::new(move || section::<Placement>(SectionKind::Outline, index, placement)));
    }
    let limits = &plan.manifest.limits;
    if !limits.is_empty() {
        let index = CALL_LIMITS as usize;
        parts.push(Box::new(move || section::<CallLimits>(SectionKind::Outline, index, limits)));
    }
    let bounds = &plan.manifest.placement.bounds;
    if bounds.iter().any(Option::is_some) {
        let index = INSTANCE_BOUNDS as usize;
        parts.push(Box::new(move || section::<Vec<Option<InstanceBound>>>(SectionKind::Outline, index, bounds)));
    }
    for (index, fragment) in plan.graph.fragments.iter().enumerate() {
        parts.push(Box::new(move || section::<ReadBackFragment>(SectionKind::Fragment, index, fragment)));
    }
    let sections = side_by_side(parts)?;
    if sections.len() > MOST_SECTIONS as usize {
        return Err(WriteError::TooManySections(sections.len()));
    }
    Ok(assemble(Magic::Plan, sections))
}

/// A job that creates one section.
type SectionJob<'a> = Box<dyn FnOnce() -> Result<Section, WriteError> + Send + 'a>;

/// The stack size of a thread that creates sections. The same as that of the main thread, since records nest.
const STACK: usize = 8 << 20;

/// Creates all sections concurrently, with at most as many threads as there are processors. Returns the sections in the
/// order of the jobs.
///
/// # Errors
/// If several sections fail, returns the error of the first of them in the order of the jobs.
fn side_by_side(parts: Vec<SectionJob<'_>>) -> Result<Vec<Section>, WriteError> {
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get).min(parts.len());
    let queue = Mutex::new(parts.into_iter().enumerate());
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
    let make = || std::iter::from_fn(next).map(|(place, part)| (place, part())).collect::<Vec<_>>();
    let mut made = std::thread::scope(|scope| {
        let start = |_| std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, make).ok();
        // If no threads can be started, this thread does all the work.
        let others: Vec<_> = (1..threads).filter_map(start).collect();
        let mut made = make();
        for other in others {
            made.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        made
    });
    made.sort_by_key(|(place, _)| *place);
    made.into_iter().map(|(_, section)| section).collect()
}

/// Creates the section of a record. Reads it back as an `R`, which is the record itself or a type of
/// [`super::read_back`].
pub(super) fn section<R: DeserializeOwned>(
    kind: SectionKind,
    index: usize,
    content: &impl Serialize,
) -> Result<Section, WriteError> {
    let content = record::encode(kind, content)?;
    record::decode::<R>(kind, &content).map_err(|damage| WriteError::Unreadable { kind, damage })?;
    Ok(Section { kind, index: u32::try_from(index).unwrap_or(u32::MAX), content })
}
