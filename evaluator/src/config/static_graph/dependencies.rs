//! The dependencies of resources, and the objects that data sources and ephemeral objects wait for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use weft_graph_format::address::{ConfigResource, ResourceMode};

use super::{Node, StaticGraph, targets};
use crate::config::CompiledModule;
use crate::config::names_below::{Gathering, Names};

/// Configured resources by their dependents. Addresses are sorted by text, and equal sets are shared.
#[derive(Debug, Default)]
pub(crate) struct Dependencies {
    /// For each resource, all resources that it depends on, directly or indirectly.
    pub(crate) all: BTreeMap<ConfigResource, Arc<[SmolStr]>>,
    /// The resources that must be complete before each data source or ephemeral object is read, besides the resources
    /// that its own `depends_on` names:
    ///
    /// - the resources that the modules and values in its own `depends_on` need,
    /// - the resources in the `depends_on` of the call of its module, or of a call around it, and everything that they
    ///   need.
    pub(crate) awaited: BTreeMap<ConfigResource, Arc<[SmolStr]>>,
}

/// The lists of sets of names. A set that many nodes share has one list.
#[derive(Default)]
struct Lists {
    made: FxHashMap<*const BTreeSet<SmolStr>, Arc<[SmolStr]>>,
}

impl Lists {
    fn of(&mut self, set: &Names) -> Arc<[SmolStr]> {
        self.made.entry(Arc::as_ptr(set)).or_insert_with(|| set.iter().cloned().collect()).clone()
    }
}

impl StaticGraph {
    /// The dependencies of all resources. Requires a graph without cycles.
    pub(crate) fn dependencies(&self, root: &Arc<CompiledModule>) -> Dependencies {
        let sets = self.needs_of_all();
        let mut lists = Lists::default();
        let all = self.nodes.iter().zip(&sets).filter_map(|(node, set)| {
            let config = node.resource()?;
            Some((config, set.as_ref().map(|set| lists.of(set)).unwrap_or_default()))
        });
        let mut found = Dependencies { all: all.collect(), awaited: BTreeMap::new() };
        self.add_awaited(root, &Gathering::default(), &sets, &mut found.awaited);
        found
    }

    /// Adds the entries of [`Dependencies::awaited`] for a module and its descendants. `calls` contains the resources
    /// that all data sources and ephemeral objects of the module wait for, because the call of the module, or of a
    /// module around it, has a `depends_on`.
    fn add_awaited(
        &self,
        module: &CompiledModule,
        calls: &Gathering,
        sets: &[Option<Names>],
        awaited: &mut BTreeMap<ConfigResource, Arc<[SmolStr]>>,
    ) {
        let listed = |gathering: Gathering| -> Arc<[SmolStr]> { gathering.names().iter().cloned().collect() };
        // Blocks whose `depends_on` names only resources, or nothing, share this list.
        let of_calls = listed(calls.clone());
        for block in module.resources.values().filter(|block| block.resource.mode != ResourceMode::Managed) {
            let named = targets(module, &block.depends_on);
            let values: Vec<&Node> = named.iter().filter(|node| node.resource().is_none()).collect();
            let names = if values.is_empty() {
                of_calls.clone()
            } else {
                let mut gathering = calls.clone();
                self.gather(values.into_iter(), sets, &mut gathering);
                listed(gathering)
            };
            if !names.is_empty() {
                let config = ConfigResource { module: module.path.clone(), resource: block.resource.clone() };
                awaited.insert(config, names);
            }
        }
        for call in module.calls.values() {
            let Some(child) = module.children.get(&call.name) else { continue };
            let mut gathering = calls.clone();
            self.gather(targets(module, &call.depends_on).iter(), sets, &mut gathering);
            self.add_awaited(child, &gathering, sets, awaited);
        }
    }

    /// Adds nodes and everything that they need.
    fn gather<'a>(&self, nodes: impl Iterator<Item = &'a Node>, sets: &[Option<Names>], gathering: &mut Gathering) {
        for node in nodes {
            let below = self.position(node).and_then(|index| sets[index].as_ref());
            if let Some(below) = below {
                gathering.take(below, own_name(node));
            }
        }
    }

    /// The names of all resources that each node needs. Nodes with the same successors share a set.
    fn needs_of_all(&self) -> Vec<Option<Names>> {
        let mut sets: Vec<Option<Names>> = vec![None; self.nodes.len()];
        let mut made: FxHashMap<&[usize], Names> = FxHashMap::default();
        for start in 0..self.nodes.len() {
            let mut pending = vec![(start, false)];
            while let Some((node, entered)) = pending.pop() {
                if sets[node].is_some() {
                    continue;
                }
                if !entered {
                    pending.push((node, true));
                    pending.extend(self.all[node].iter().filter(|n| sets[**n].is_none()).map(|n| (*n, false)));
                    continue;
                }
                let next = self.all[node].as_slice();
                let names = made.entry(next).or_insert_with(|| {
                    let mut gathering = Gathering::default();
                    self.gather(next.iter().map(|index| &self.nodes[*index]), &sets, &mut gathering);
                    gathering.names()
                });
                sets[node] = Some(names.clone());
            }
        }
        sets
    }
}

fn own_name(node: &Node) -> Option<SmolStr> {
    node.resource().map(|config| SmolStr::from(config.to_string()))
}
