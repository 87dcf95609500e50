//! Reads a plan file, or only the requested parts of it.
//!
//! Sections are read with `seek` and `read_exact`. Mapping the file into memory would save a copy, but is unsafe: if
//! another process truncated the file, this process would crash.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::container::{
    CALL_LIMITS, ENTRY_BYTES, GENERATED, HEADER_BYTES, Header, INSTANCE_BOUNDS, Magic, PLACEMENT, SectionEntry, seal_of,
};
use super::error::{Damage, PlanFileError};
use super::manifest::Manifest;
use super::package::FragmentPackage;
use super::section::SectionKind;
use super::snippets::SourceSnippets;
use super::{Contents, FORMAT_VERSION, PlanFile, record};
use crate::address::ProviderSource;
use crate::changes::Changes;
use crate::digest::Digest;
use crate::graph::{
    ExecutionGraph, Fragment, OperationId, OutlineRow, Shard, Waits, verify, verify_fragment, verify_outline,
};
use crate::schema::ProviderSchema;

/// The part of a plan that a coordinator needs.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanOutline {
    /// The number of operations of the whole graph, tracked or not.
    pub operations: u32,
    /// The shards. [`OutlineRow::shard`] is an index into this list. A shard and its fragment have the same index.
    pub shards: Vec<Shard>,
    /// The waiters: sets of tracked operations.
    pub waiters: Vec<Waits>,
    /// The tracked operations, in ascending order.
    pub rows: Vec<OutlineRow>,
    /// The operation that produces the final state of each resource instance, by address.
    pub final_states: BTreeMap<String, OperationId>,
}

/// The content of the outline section.
#[derive(Serialize, Deserialize)]
pub(super) struct OutlineRecord<'a> {
    operations: u32,
    waiters: Cow<'a, [Waits]>,
    rows: Cow<'a, [OutlineRow]>,
    final_states: Cow<'a, BTreeMap<String, OperationId>>,
}

impl OutlineRecord<'_> {
    pub(super) fn of(graph: &ExecutionGraph) -> OutlineRecord<'_> {
        OutlineRecord {
            operations: graph.operations,
            waiters: Cow::Borrowed(&graph.waiters),
            rows: Cow::Borrowed(&graph.outline),
            final_states: Cow::Borrowed(&graph.final_states),
        }
    }
}

/// A section, for listings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectionInfo {
    /// The kind of the content.
    pub kind: SectionKind,
    /// The index among sections of this kind.
    pub index: u32,
    /// The offset in the file.
    pub offset: u64,
    /// The size in the file, in bytes.
    pub stored: u64,
    /// The size of the content, in bytes.
    pub content: u64,
}

/// The source of the bytes.
#[derive(Debug)]
enum Store {
    File(Mutex<File>),
    Bytes(Arc<[u8]>),
}

impl Store {
    fn read(&self, offset: u64, bytes: u64) -> io::Result<Vec<u8>> {
        let cut_short = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let length = usize::try_from(bytes).map_err(|_| cut_short())?;
        match self {
            Store::File(file) => {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.seek(SeekFrom::Start(offset))?;
                let mut read = vec![0; length];
                file.read_exact(&mut read)?;
                Ok(read)
            }
            Store::Bytes(all) => {
                let from = usize::try_from(offset).map_err(|_| cut_short())?;
                let end = from.checked_add(length).ok_or_else(cut_short)?;
                all.get(from..end).map(<[u8]>::to_vec).ok_or_else(cut_short)
            }
        }
    }
}

/// An open plan file. Opening it checks the header and the table of sections. Each section is checked when it is read.
#[derive(Debug)]
pub struct PlanReader {
    store: Store,
    bytes: u64,
    entries: Vec<SectionEntry>,
    contents: Contents,
}

impl PlanReader {
    /// Opens a plan file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, if its header, table of sections, seal or contents section is
    /// damaged, or if a section is missing.
    pub fn open(path: impl AsRef<Path>) -> Result<PlanReader, PlanFileError> {
        let file = File::open(path)?;
        let bytes = file.metadata()?.len();
        PlanReader::of(Magic::Plan, Store::File(Mutex::new(file)), bytes)
    }

    /// Opens a plan file in memory.
    ///
    /// # Errors
    /// Returns an error if the header, the table of sections, the seal or the contents section is damaged, or if a
    /// section is missing.
    pub fn from_bytes(bytes: impl Into<Arc<[u8]>>) -> Result<PlanReader, PlanFileError> {
        let bytes = bytes.into();
        let length = bytes.len() as u64;
        PlanReader::of(Magic::Plan, Store::Bytes(bytes), length)
    }

    fn of(magic: Magic, store: Store, bytes: u64) -> Result<PlanReader, PlanFileError> {
        let (entries, seal) = table(magic, &store, bytes)?;
        let mut reader = PlanReader { store, bytes, entries, contents: Contents::default() };
        let sealed = reader.content(SectionKind::Seal, 0)?;
        match sealed.ok_or(PlanFileError::Damaged(Damage::Missing(SectionKind::Seal)))? == seal {
            true => reader.contents = reader.record(SectionKind::Contents, 0)?,
            false => return Err(PlanFileError::Damaged(Damage::Seal)),
        }
        let numbered = |kind, count: usize| {
            let found = reader.entries.iter().filter(|entry| entry.kind == kind);
            let in_turn = found.clone().enumerate().all(|(i, entry)| entry.index as usize == i);
            (in_turn && found.count() == count).then_some(()).ok_or(PlanFileError::Damaged(Damage::Missing(kind)))
        };
        numbered(SectionKind::Fragment, reader.contents.shards.len())?;
        numbered(SectionKind::Schema, reader.contents.schemas.len())?;
        let distinct = |ordered: bool| ordered.then_some(()).ok_or(Damage::Record(SectionKind::Contents));
        distinct(reader.contents.shards.windows(2).all(|pair| pair[0] < pair[1])).map_err(PlanFileError::Damaged)?;
        distinct(reader.contents.schemas.windows(2).all(|pair| pair[0] < pair[1])).map_err(PlanFileError::Damaged)?;
        Ok(reader)
    }

    fn find(&self, kind: SectionKind, index: u32) -> Option<&SectionEntry> {
        let at = self.entries.binary_search_by_key(&(kind as u16, index), |e| (e.kind as u16, e.index)).ok()?;
        self.entries.get(at)
    }

    fn content(&self, kind: SectionKind, index: u32) -> Result<Option<Vec<u8>>, PlanFileError> {
        let Some(entry) = self.find(kind, index) else { return Ok(None) };
        let stored = self.store.read(entry.offset, entry.stored)?;
        entry.unpack(stored).map(Some).map_err(PlanFileError::Damaged)
    }

    fn record<T: DeserializeOwned>(&self, kind: SectionKind, index: u32) -> Result<T, PlanFileError> {
        let content = self.content(kind, index)?.ok_or(PlanFileError::Damaged(Damage::Missing(kind)))?;
        record::decode(kind, &content).map_err(PlanFileError::Damaged)
    }

    fn text(&self, kind: SectionKind) -> Result<Option<String>, PlanFileError> {
        let Some(content) = self.content(kind, 0)? else { return Ok(None) };
        String::from_utf8(content).map(Some).map_err(|_| PlanFileError::Damaged(Damage::Record(kind)))
    }

    /// The sections, in the order of the file.
    pub fn sections(&self) -> Vec<SectionInfo> {
        let info = |e: &SectionEntry| SectionInfo {
            kind: e.kind,
            index: e.index,
            offset: e.offset,
            stored: e.stored,
            content: e.content,
        };
        self.entries.iter().map(info).collect()
    }

    /// The shards. The index of a shard is the index of its fragment.
    pub fn shards(&self) -> &[Shard] {
        &self.contents.shards
    }

    /// The manifest, including the parts that have their own sections.
    ///
    /// # Errors
    /// Returns an error if a section is damaged.
    pub fn manifest(&self) -> Result<Manifest, PlanFileError> {
        let mut manifest = self.manifest_alone()?;
        manifest.prior_state = self.text(SectionKind::PriorState)?;
        manifest.configuration = self.text(SectionKind::Configuration)?;
        if let Some(content) = self.content(SectionKind::Configuration, GENERATED)? {
            let generated = record::decode(SectionKind::Configuration, &content);
            manifest.generated = generated.map_err(PlanFileError::Damaged)?;
        }
        if let Some(content) = self.content(SectionKind::Outline, PLACEMENT)? {
            let placement = record::decode(SectionKind::Outline, &content);
            manifest.placement = placement.map_err(PlanFileError::Damaged)?;
        }
        if let Some(content) = self.content(SectionKind::Outline, CALL_LIMITS)? {
            let limits = record::decode(SectionKind::Outline, &content);
            manifest.limits = limits.map_err(PlanFileError::Damaged)?;
        }
        if let Some(content) = self.content(SectionKind::Outline, INSTANCE_BOUNDS)? {
            let bounds = record::decode(SectionKind::Outline, &content);
            manifest.placement.bounds = bounds.map_err(PlanFileError::Damaged)?;
        }
        Ok(manifest)
    }

    /// The manifest without [`Manifest::prior_state`], [`Manifest::configuration`], [`Manifest::generated`],
    /// [`Manifest::placement`] and [`Manifest::limits`].
    ///
    /// # Errors
    /// Returns an error if the section is damaged.
    pub fn manifest_alone(&self) -> Result<Manifest, PlanFileError> {
        let manifest: Manifest = self.record(SectionKind::Manifest, 0)?;
        if manifest.format_version != FORMAT_VERSION {
            return Err(PlanFileError::Damaged(Damage::Record(SectionKind::Manifest)));
        }
        Ok(manifest)
    }

    /// The changes for the reviewer.
    ///
    /// # Errors
    /// Returns an error if the section is damaged.
    pub fn changes(&self) -> Result<Changes, PlanFileError> {
        self.record(SectionKind::Changes, 0)
    }

    /// All schemas.
    ///
    /// # Errors
    /// Returns an error if a section is damaged.
    pub fn schemas(&self) -> Result<BTreeMap<ProviderSource, ProviderSchema>, PlanFileError> {
        self.contents
            .schemas
            .iter()
            .zip(0..)
            .map(|(source, index)| Ok((source.clone(), self.record(SectionKind::Schema, index)?)))
            .collect()
    }

    /// The schema of one provider; `None` if the plan has none.
    ///
    /// # Errors
    /// Returns an error if the section is damaged.
    pub fn schema(&self, source: &ProviderSource) -> Result<Option<ProviderSchema>, PlanFileError> {
        match self.contents.schemas.binary_search(source) {
            Ok(index) => self.record(SectionKind::Schema, index as u32).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// Source lines for diagnostics; empty if the file has no such section.
    ///
    /// # Errors
    /// Returns an error if the section is damaged.
    pub fn sources(&self) -> Result<SourceSnippets, PlanFileError> {
        match self.find(SectionKind::Sources, 0) {
            Some(_) => self.record(SectionKind::Sources, 0),
            None => Ok(SourceSnippets::default()),
        }
    }

    /// The part of the plan that a coordinator needs. The outline is checked without the operations. Only
    /// [`PlanReader::whole`] compares the outline with the operations.
    ///
    /// # Errors
    /// Returns an error if the section is damaged.
    pub fn outline(&self) -> Result<PlanOutline, PlanFileError> {
        let record: OutlineRecord<'static> = self.record(SectionKind::Outline, 0)?;
        let outline = PlanOutline {
            operations: record.operations,
            shards: self.contents.shards.clone(),
            waiters: record.waiters.into_owned(),
            rows: record.rows.into_owned(),
            final_states: record.final_states.into_owned(),
        };
        let flaws = verify_outline(outline.operations, outline.shards.len(), &outline.waiters, &outline.rows);
        if flaws.is_empty() { Ok(outline) } else { Err(PlanFileError::Unsound(flaws)) }
    }

    /// The operations of one shard. They are checked without the rest of the graph.
    ///
    /// # Errors
    /// Returns an error if there is no shard with this index, if the section is damaged, or if the fragment has flaws.
    pub fn fragment(&self, index: usize) -> Result<Fragment, PlanFileError> {
        let fragment = self.fragment_unverified(index)?;
        let flaws = verify_fragment(&fragment);
        if flaws.is_empty() { Ok(fragment) } else { Err(PlanFileError::Unsound(flaws)) }
    }

    fn fragment_unverified(&self, index: usize) -> Result<Fragment, PlanFileError> {
        let count = self.contents.shards.len();
        let Some(shard) = self.contents.shards.get(index) else {
            return Err(PlanFileError::NoSuchFragment { index, count });
        };
        let fragment: Fragment = self.record(SectionKind::Fragment, index as u32)?;
        if fragment.shard != *shard {
            return Err(PlanFileError::Damaged(Damage::Record(SectionKind::Fragment)));
        }
        Ok(fragment)
    }

    /// The part of the plan that the worker of one shard gets.
    ///
    /// # Errors
    /// Returns an error if [`PlanReader::fragment`] fails, or if another section that the package needs is damaged.
    pub fn package(&self, index: usize) -> Result<FragmentPackage, PlanFileError> {
        let fragment = self.fragment(index)?;
        let mut schemas = BTreeMap::new();
        for source in FragmentPackage::providers(&fragment) {
            if let Some(schema) = self.schema(&source)? {
                schemas.insert(source, schema);
            }
        }
        let sources = self.sources()?.for_fragment(&fragment);
        Ok(FragmentPackage { manifest: self.manifest_alone()?.for_worker(), schemas, sources, fragment })
    }

    /// The whole plan. Its graph is verified.
    ///
    /// # Errors
    /// Returns an error if a section is damaged, or if the graph has flaws.
    pub fn whole(&self) -> Result<PlanFile, PlanFileError> {
        let PlanOutline { operations, waiters, rows, final_states, .. } = self.outline()?;
        let fragments =
            (0..self.contents.shards.len()).map(|i| self.fragment_unverified(i)).collect::<Result<Vec<_>, _>>()?;
        let graph = ExecutionGraph { operations, fragments, waiters, outline: rows, final_states };
        let flaws = verify(&graph);
        if !flaws.is_empty() {
            return Err(PlanFileError::Unsound(flaws));
        }
        Ok(PlanFile {
            manifest: self.manifest()?,
            changes: self.changes()?,
            schemas: self.schemas()?,
            sources: self.sources()?,
            graph,
        })
    }

    /// The blake3 digest of the whole file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn digest(&self) -> Result<Digest, PlanFileError> {
        /// The number of bytes that are read at a time.
        const PART: u64 = 1 << 20;
        let mut hasher = blake3::Hasher::new();
        let mut offset = 0;
        while offset < self.bytes {
            let part = PART.min(self.bytes - offset);
            hasher.update(&self.store.read(offset, part)?);
            offset += part;
        }
        Ok(Digest(*hasher.finalize().as_bytes()))
    }
}

/// The content of the only section of a container in memory.
pub(super) fn only_section(magic: Magic, kind: SectionKind, bytes: &[u8]) -> Result<Vec<u8>, PlanFileError> {
    let store = Store::Bytes(Arc::from(bytes));
    let (entries, _) = table(magic, &store, bytes.len() as u64)?;
    let entry = entries.iter().find(|e| e.kind == kind).ok_or(PlanFileError::Damaged(Damage::Missing(kind)))?;
    let stored = store.read(entry.offset, entry.stored)?;
    entry.unpack(stored).map_err(PlanFileError::Damaged)
}

/// The entries of the table, and the seal that they require.
fn table(magic: Magic, store: &Store, bytes: u64) -> Result<(Vec<SectionEntry>, [u8; 32]), PlanFileError> {
    let front = store.read(0, bytes.min(HEADER_BYTES as u64))?;
    let header = Header::parse(magic, &front, bytes)?;
    let table = store.read(HEADER_BYTES as u64, u64::from(header.sections) * ENTRY_BYTES as u64)?;
    Ok((header.table(&table, bytes)?, seal_of(&table)))
}
