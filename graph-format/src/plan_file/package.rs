//! The part of a plan for one worker.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use super::PlanFile;
use super::manifest::Manifest;
use super::snippets::SourceSnippets;
use crate::address::ProviderSource;
use crate::graph::{Fragment, Operation, Shard};
use crate::schema::ProviderSchema;
use crate::value::formula::FormulaOp;

/// One fragment, with everything that a worker needs to execute it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FragmentPackage {
    /// The manifest as [`Manifest::for_worker`] returns it.
    pub manifest: Manifest,
    /// Schemas of the providers that the fragment refers to.
    pub schemas: BTreeMap<ProviderSource, ProviderSchema>,
    /// Source lines that the formulas of the fragment refer to.
    pub sources: SourceSnippets,
    /// The fragment.
    pub fragment: Fragment,
}

impl FragmentPackage {
    /// The providers that a fragment refers to: those that it opens, and those whose objects it writes.
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

    /// The inputs that the formulas of the fragment read.
    pub fn inputs(&self) -> BTreeSet<SmolStr> {
        let rows = self.fragment.formulas.rows.iter();
        rows.filter_map(|row| match &row.op {
            FormulaOp::Input(name) => Some(name.clone()),
            _ => None,
        })
        .collect()
    }
}

impl PlanFile {
    /// The part of the plan that the worker of one shard gets; `None` if there is no such fragment.
    pub fn package(&self, index: usize) -> Option<FragmentPackage> {
        self.graph.fragments.get(index).map(|fragment| self.package_of(fragment.clone()))
    }

    /// The packages of all shards, in order. Moves the fragments out of the plan.
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
