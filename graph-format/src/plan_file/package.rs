//! The part of a plan for one worker.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::container::{Magic, SectionKind, assemble};
use super::error::{PlanFileError, WriteError};
use super::manifest::Manifest;
use super::snippets::SourceSnippets;
use super::{FORMAT_VERSION, PlanFile, PlanReader, read_back, reader, record, writer};
use crate::address::ProviderSource;
use crate::graph::{Fragment, Operation, Shard, verify_fragment};
use crate::schema::ProviderSchema;

/// One fragment, with everything that a worker needs to carry it out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FragmentPackage {
    /// As [`Manifest::for_worker`].
    pub manifest: Manifest,
    /// Schemas of the providers that the fragment names.
    pub schemas: BTreeMap<ProviderSource, ProviderSchema>,
    /// Source lines that the fragment's formulas name.
    pub sources: SourceSnippets,
    /// The fragment.
    pub fragment: Fragment,
}

impl FragmentPackage {
    /// The providers that a fragment names: those that it opens and those whose objects it writes.
    pub fn providers(fragment: &Fragment) -> BTreeSet<ProviderSource> {
        let mut sources = BTreeSet::new();
        if let Shard::Provider(instance) = &fragment.shard {
            sources.insert(instance.source.clone());
        }
        for row in &fragment.rows {
            match &row.operation {
                Operation::OpenProvider { instance, .. } => sources.insert(instance.source.clone()),
                Operation::Record { provider, .. } => sources.insert(provider.source.clone()),
                _ => false,
            };
        }
        sources
    }

    /// The package as bytes: a container with one section.
    ///
    /// # Errors
    /// As [`super::write()`].
    pub fn encode(&self) -> Result<Vec<u8>, WriteError> {
        let section = writer::section::<read_back::Package>(SectionKind::Package, 0, self)?;
        Ok(assemble(Magic::Package, vec![section]))
    }

    /// Reads a package, with the checks of [`PlanReader::fragment`].
    ///
    /// # Errors
    /// The package is damaged.
    pub fn decode(bytes: &[u8]) -> Result<FragmentPackage, PlanFileError> {
        let content = reader::only_section(Magic::Package, SectionKind::Package, bytes)?;
        let package: FragmentPackage =
            record::decode(SectionKind::Package, &content).map_err(PlanFileError::Damaged)?;
        if package.manifest.format_version != FORMAT_VERSION {
            return Err(PlanFileError::Version { found: package.manifest.format_version, supported: FORMAT_VERSION });
        }
        let flaws = verify_fragment(&package.fragment);
        if flaws.is_empty() { Ok(package) } else { Err(PlanFileError::Unsound(flaws)) }
    }
}

impl PlanFile {
    /// The part of the plan that the worker of one shard gets; `None` when there is no such fragment.
    pub fn package(&self, index: usize) -> Option<FragmentPackage> {
        self.graph.fragments.get(index).map(|fragment| self.package_of(fragment.clone()))
    }

    /// The packages of all shards, in their order. This takes the fragments out of the plan.
    pub fn take_packages(&mut self) -> impl Iterator<Item = FragmentPackage> {
        let fragments = std::mem::take(&mut self.graph.fragments);
        fragments.into_iter().map(|fragment| self.package_of(fragment))
    }

    fn package_of(&self, fragment: Fragment) -> FragmentPackage {
        let schemas = FragmentPackage::providers(&fragment)
            .into_iter()
            .filter_map(|source| Some((source.clone(), self.schemas.get(&source)?.clone())))
            .collect();
        let sources = self.sources.for_fragment(&fragment);
        FragmentPackage { manifest: self.manifest.for_worker(), schemas, sources, fragment }
    }
}

impl PlanReader {
    /// The encoded package of one shard, which a coordinator forwards.
    ///
    /// # Errors
    /// A needed section is damaged. A package that was read can be encoded.
    pub fn fragment_bytes(&self, index: usize) -> Result<Vec<u8>, PlanFileError> {
        self.package(index)?.encode().map_err(|error| match error {
            WriteError::Io(error) => PlanFileError::Io(error),
            WriteError::Unreadable { damage, .. } => PlanFileError::Damaged(damage),
            WriteError::Unwritable(kind) => PlanFileError::Damaged(super::error::Damage::Record(kind)),
            WriteError::TooManySections(count) => {
                PlanFileError::Damaged(super::error::Damage::SectionCount(count as u32))
            }
        })
    }
}
