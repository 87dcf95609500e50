//! References to single instances. Apply orders single instances, while a plan orders whole resources.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use weft_graph_format::address::{ConfigResource, InstanceKey, ModuleInstance, ResourceInstance};

use super::CompiledModule;
use super::static_graph::{Node, StaticGraph, targets};
use crate::reference::{Reference, references_of};
use crate::selection::SelectedAddress;

/// The keys of the instances that references name. `None` if a reference names the whole resource.
pub(crate) type Keys = Option<BTreeSet<InstanceKey>>;

/// The keys in references to resources, by the two ends of the edge in the graph.
pub(crate) struct NamedInstances<'a> {
    graph: &'a StaticGraph,
    edges: FxHashMap<(usize, usize), Keys>,
}

impl<'a> NamedInstances<'a> {
    /// Collects the keys of all references in a tree of modules.
    pub(crate) fn new(graph: &'a StaticGraph, root: &Arc<CompiledModule>) -> NamedInstances<'a> {
        let mut found = NamedInstances { graph, edges: FxHashMap::default() };
        for module in root.all() {
            found.add_module(&module);
        }
        found
    }

    fn add_module(&mut self, module: &CompiledModule) {
        let here = &module.path;
        for local in module.locals.values() {
            self.add(&Node::Local(here.clone(), local.name.clone()), module, &local.references);
        }
        for output in module.outputs.values() {
            let from = Node::Output(here.clone(), output.name.clone());
            self.add(&from, module, &output.references);
            self.add_whole(&from, module, &output.depends_on);
        }
        for (resource, block) in &module.resources {
            let from = Node::Resource(here.clone(), resource.clone());
            self.add(&from, module, &block.references);
            self.add(&from, module, &block.trigger_references);
            self.add_whole(&from, module, &block.depends_on);
            for inner in &block.provisioners {
                self.add(&from, module, &inner.references);
            }
            if let Some(inner) = &block.connection {
                self.add(&from, module, &inner.references);
            }
        }
        for call in module.calls.values() {
            let Some(child) = module.children.get(&call.name) else { continue };
            for (name, (value, _)) in &call.arguments {
                let from = Node::Variable(child.path.clone(), name.clone());
                self.add(&from, module, &references_of(value, &mut Vec::new()));
            }
        }
    }

    fn add(&mut self, from: &Node, module: &CompiledModule, references: &[Reference]) {
        for reference in references {
            self.add_one(from, module, reference, reference.key.clone());
        }
    }

    fn add_whole(&mut self, from: &Node, module: &CompiledModule, references: &[Reference]) {
        for reference in references {
            self.add_one(from, module, reference, None);
        }
    }

    fn add_one(&mut self, from: &Node, module: &CompiledModule, reference: &Reference, key: Option<InstanceKey>) {
        let Some(from) = self.graph.position(from) else { return };
        for to in targets(module, std::slice::from_ref(reference)) {
            let Some(to) = self.graph.position(&to) else { continue };
            let known = self.edges.entry((from, to)).or_insert_with(|| Some(BTreeSet::new()));
            match (&key, known) {
                (Some(key), Some(keys)) => drop(keys.insert(key.clone())),
                (_, known) => *known = None,
            }
        }
    }

    /// The resources that are reachable from a resource, each with the keys of the instances that are referred to.
    pub(crate) fn reached(&self, from: &ConfigResource) -> BTreeMap<ConfigResource, Keys> {
        let nodes = self.graph.parts().0;
        let start = Node::Resource(from.module.clone(), from.resource.clone());
        let found = self.below(self.graph.position(&start).into_iter().collect());
        found.into_iter().filter_map(|(index, keys)| Some((nodes[index].resource()?, keys))).collect()
    }

    /// The nodes that are reachable from the nodes in `starts`, each with the keys of its instances that references
    /// name. A node in `starts` is included only if a reference leads to it.
    pub(super) fn below(&self, starts: Vec<usize>) -> BTreeMap<usize, Keys> {
        let (nodes, next) = self.graph.parts();
        let mut pending = starts;
        let mut seen = vec![false; nodes.len()];
        let mut found: BTreeMap<usize, Keys> = BTreeMap::new();
        while let Some(index) = pending.pop() {
            if std::mem::replace(&mut seen[index], true) {
                continue;
            }
            for to in &next[index] {
                pending.push(*to);
                let known = found.entry(*to).or_insert_with(|| Some(BTreeSet::new()));
                match (self.edges.get(&(index, *to)), known) {
                    (Some(Some(keys)), Some(known)) => known.extend(keys.iter().cloned()),
                    (_, known) => *known = None,
                }
            }
        }
        found
    }
}

/// The part of a plan with targets that an apply executes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppliedPart {
    /// The instances.
    pub instances: BTreeSet<ResourceInstance>,
    /// The outputs of the root module that depend on instances outside this part. These outputs keep their values.
    pub outputs_left: BTreeSet<SmolStr>,
}

/// Changed instances, by resource and module instance.
type ChangedInstances<'m> = BTreeMap<ConfigResource, BTreeMap<&'m ModuleInstance, Vec<&'m ResourceInstance>>>;

/// The part of a plan with targets that an apply executes: the instances in `changed` that are targets or that a target
/// needs.
///
/// A target needs what its block refers to. If all references of a block to a resource have constant keys, such as
/// `a.b[0]`, and all instances with these keys are in `changed`, the block needs only these instances. Otherwise, it
/// needs all instances of the resource. A target that apply skips needs nothing.
///
/// - `active`: the resources that change or have conditions.
/// - `deleted`: the instances in `changed` whose objects are deleted before their dependents change. A target that
///   changes also needs all of these instances of the resources that it depends on, whatever their keys.
pub fn applied_part(
    root: &Arc<CompiledModule>,
    addresses: &[SelectedAddress],
    changed: &BTreeSet<ResourceInstance>,
    deleted: &BTreeSet<ResourceInstance>,
    active: &BTreeSet<ConfigResource>,
) -> AppliedPart {
    let graph = StaticGraph::new(root);
    let kept = graph.kept(root, active);
    let named = NamedInstances::new(&graph, root);
    let mut by_config: ChangedInstances<'_> = BTreeMap::new();
    for address in changed {
        by_config.entry(address.config()).or_default().entry(&address.module).or_default().push(address);
    }
    let nodes = graph.parts().0;
    let chosen =
        |node: &Node| node.resource().is_some_and(|config| addresses.iter().any(|address| address.touches(&config)));
    let covered = |address: &&ResourceInstance| addresses.iter().any(|target| target.covers(address));
    let starts = (0..nodes.len()).filter(|index| kept[*index] && chosen(&nodes[*index])).flat_map(|index| {
        let all = nodes[index].resource().and_then(|config| by_config.get(&config));
        let chosen = all.into_iter().flatten().filter(|(_, changed)| changed.iter().any(covered));
        let modules: Vec<_> = chosen.map(|(module, _)| (index, Some(*module))).collect();
        if modules.is_empty() { vec![(index, None)] } else { modules }
    });
    let mut instances = named.needed(starts.collect(), &by_config);
    instances.extend(changed.iter().filter(covered).cloned());
    instances.extend(named.deletes_before(changed.iter().filter(covered), deleted));
    let outputs = root.outputs.keys().filter(|name| {
        let node = Node::Output(root.path.clone(), (*name).clone());
        let start = graph.position(&node).into_iter().map(|index| (index, None)).collect();
        !named.needed(start, &by_config).is_subset(&instances)
    });
    AppliedPart { outputs_left: outputs.cloned().collect(), instances }
}

impl NamedInstances<'_> {
    /// The instances in `deleted` whose deletes come before the changes of the instances in `targets`. A target waits
    /// for no deletes in other instances of its own module.
    fn deletes_before<'m>(
        &self,
        targets: impl Iterator<Item = &'m ResourceInstance>,
        deleted: &'m BTreeSet<ResourceInstance>,
    ) -> BTreeSet<ResourceInstance> {
        let mut by_config: BTreeMap<ConfigResource, Vec<&ResourceInstance>> = BTreeMap::new();
        for address in deleted {
            by_config.entry(address.config()).or_default().push(address);
        }
        let mut readers: BTreeMap<ConfigResource, BTreeSet<&ModuleInstance>> = BTreeMap::new();
        for target in targets.filter(|target| !by_config.is_empty() && !deleted.contains(*target)) {
            readers.entry(target.config()).or_default().insert(&target.module);
        }
        let mut found = BTreeSet::new();
        for (reader, modules) in readers {
            for config in self.reached(&reader).into_keys() {
                let same_module = config.module == reader.module;
                let all = by_config.get(&config).into_iter().flatten();
                let waits = |address: &&&ResourceInstance| !same_module || modules.contains(&address.module);
                found.extend(all.filter(waits).map(|address| (**address).clone()));
            }
        }
        found
    }

    /// The changed instances that the nodes in `starts` refer to, directly or indirectly. A resource that refers to
    /// another resource of the same module needs only instances in its own module instance.
    fn needed<'m>(
        &self,
        starts: Vec<(usize, Option<&'m ModuleInstance>)>,
        changed: &ChangedInstances<'m>,
    ) -> BTreeSet<ResourceInstance> {
        let (nodes, next) = self.graph.parts();
        let (mut pending, mut seen) = (starts, FxHashSet::default());
        let mut found = BTreeSet::new();
        while let Some((index, own)) = pending.pop() {
            if seen.contains(&(index, None)) || !seen.insert((index, own)) {
                continue;
            }
            let module = nodes[index].resource().map(|config| config.module);
            for to in &next[index] {
                let config = nodes[*to].resource();
                let within = own.filter(|_| config.as_ref().map(|config| &config.module) == module.as_ref());
                pending.push((*to, within));
                let Some(all) = config.and_then(|config| changed.get(&config)) else { continue };
                let all: Vec<&ResourceInstance> = match within {
                    Some(own) => all.get(own).cloned().unwrap_or_default(),
                    None => all.values().flatten().copied().collect(),
                };
                let named = match self.edges.get(&(index, *to)) {
                    Some(Some(keys)) if keys.iter().all(|key| all.iter().any(|address| address.key == *key)) => {
                        Some(keys)
                    }
                    _ => None,
                };
                let taken = all.iter().filter(|address| named.is_none_or(|keys| keys.contains(&address.key)));
                found.extend(taken.map(|address| (**address).clone()));
            }
        }
        found
    }
}
