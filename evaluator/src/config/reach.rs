//! Finds the parts of a configuration that a plan evaluates, and those that its apply evaluates again.
//!
//! Apply skips the parts that it does not need: unchanged resources without conditions, values that only those
//! resources use, and everything outside the selection.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::{ConfigResource, InstanceKey, Module, ProviderConfig, ResourceMode};
use weft_graph_format::source::SourceRange;

use super::named_instances::{Keys, NamedInstances};
use super::static_graph::{Node, StaticGraph, reversed, targets};
use super::{CompiledModule, ResourceBlock};
use crate::selection::{SelectedAddress, Selection};

/// Parts of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NeededParts {
    /// Resources.
    pub resources: BTreeSet<ConfigResource>,
    /// Local values.
    pub locals: BTreeSet<(Module, SmolStr)>,
    /// Outputs.
    pub outputs: BTreeSet<(Module, SmolStr)>,
    /// Variables.
    pub variables: BTreeSet<(Module, SmolStr)>,
    /// Check blocks whose assertions are evaluated.
    pub checks: BTreeSet<(Module, SmolStr)>,
    /// Check blocks that appear in results, even if they are not evaluated.
    pub listed_checks: BTreeSet<(Module, SmolStr)>,
}

impl NeededParts {
    /// Whether the expression at the source range `place` is evaluated. Also `true` if the range is in no local value,
    /// output, module argument or resource. `settled` are the outputs of the root module whose values the plan knows
    /// wholly. The other outputs of the root module are evaluated.
    pub fn comes_to(&self, root: &Arc<CompiledModule>, place: &SourceRange, settled: &BTreeSet<SmolStr>) -> bool {
        let found = root.all().into_iter().find_map(|module| {
            let key = |name: &SmolStr| (module.path.clone(), name.clone());
            let local = module.locals.values().find(|local| local.range.holds(place));
            let output = module.outputs.values().find(|output| output.value.range().holds(place));
            let argument = module.calls.values().find_map(|call| {
                let name = call.arguments.iter().find(|(_, (value, _))| value.range().holds(place))?.0;
                Some((module.path.child(&call.name), name.clone()))
            });
            let resource = module.resources.values().find(|block| block.body.whole().holds(place));
            let by_resource = |block: &Arc<ResourceBlock>| {
                let config = ConfigResource { module: module.path.clone(), resource: block.resource.clone() };
                self.resources.contains(&config)
            };
            local
                .map(|local| self.locals.contains(&key(&local.name)))
                .or_else(|| {
                    output.map(|output| match module.path.is_root() {
                        true => !settled.contains(&output.name),
                        false => self.outputs.contains(&key(&output.name)),
                    })
                })
                .or_else(|| argument.map(|argument| self.variables.contains(&argument)))
                .or_else(|| resource.map(by_resource))
        });
        found.unwrap_or(true)
    }
}

/// The parts that a plan with a selection evaluates.
pub fn planned(root: &Arc<CompiledModule>, selection: &Selection) -> NeededParts {
    let graph = StaticGraph::new(root);
    let all = vec![true; graph.parts().0.len()];
    graph.reach(root, selection, &all)
}

/// The parts that the apply of a plan with this selection evaluates. `active` are the resources that change or have
/// conditions.
pub fn applied(root: &Arc<CompiledModule>, selection: &Selection, active: &BTreeSet<ConfigResource>) -> NeededParts {
    let graph = StaticGraph::new(root);
    let kept = graph.kept(root, active);
    graph.reach(root, selection, &kept)
}

/// The resources that the apply of a refresh-only plan with this selection evaluates: resources with conditions, and
/// resources that evaluated values refer to.
pub fn refreshed(root: &Arc<CompiledModule>, selection: &Selection) -> BTreeSet<ConfigResource> {
    let mut active = BTreeSet::new();
    for module in root.all() {
        let blocks = module.resources.values();
        let counted = blocks.filter(|block| block.resource.mode == ResourceMode::Managed && block.has_conditions());
        active.extend(
            counted.map(|block| ConfigResource { module: module.path.clone(), resource: block.resource.clone() }),
        );
    }
    applied(root, selection, &active).resources
}

/// The parts that a destroy plan and its apply evaluate: variables that configure the needed providers, and the outputs
/// of the root module if everything is destroyed.
pub fn destroyed(root: &Arc<CompiledModule>, providers: &BTreeSet<ProviderConfig>, everything: bool) -> NeededParts {
    let graph = StaticGraph::new(root);
    let (nodes, next) = graph.parts();
    let starts = graph.providers(root, providers);
    let needed = below(starts, next, &vec![true; nodes.len()]);
    let mut reach = NeededParts::default();
    for (index, node) in nodes.iter().enumerate() {
        match node {
            Node::Variable(module, name) if needed[index] => {
                reach.variables.insert((module.clone(), name.clone()));
            }
            Node::Output(module, name) if everything && module.is_root() => {
                reach.outputs.insert((module.clone(), name.clone()));
            }
            _ => {}
        }
    }
    reach
}

/// The provider configurations that depend on wholly excluded resources. Empty if the selection excludes nothing.
pub fn excluded_providers(root: &Arc<CompiledModule>, selection: &Selection) -> BTreeSet<ProviderConfig> {
    match selection {
        Selection::All | Selection::Only(_) => BTreeSet::new(),
        Selection::AllBut(addresses) => StaticGraph::new(root).excluded_providers(root, addresses),
    }
}

/// The resources that provider configurations depend on.
pub fn configuring(root: &Arc<CompiledModule>) -> BTreeSet<ConfigResource> {
    let graph = StaticGraph::new(root);
    let (nodes, next) = graph.parts();
    let blocks = nodes.iter().enumerate().filter(|(_, node)| matches!(node, Node::Provider(..)));
    let found = below(blocks.map(|(index, _)| index).collect(), next, &vec![true; nodes.len()]);
    nodes.iter().zip(found).filter(|(_, found)| *found).filter_map(|(node, _)| node.resource()).collect()
}

/// The prerequisites of each object with conditions, by its configured address. Prerequisites are the resources, and
/// the outputs and variables with conditions, that must succeed first. A resource with postconditions is its own
/// prerequisite. If all references to a resource have constant keys, and apply evaluates the instances with these keys
/// (they are in `evaluated`), only these instances are prerequisites.
pub fn needs(
    root: &Arc<CompiledModule>,
    evaluated: &BTreeSet<(ConfigResource, InstanceKey)>,
) -> BTreeMap<String, Vec<String>> {
    let graph = StaticGraph::new(root);
    let named = NamedInstances::new(&graph, root);
    let nodes = graph.parts().0;
    let checked = checked_nodes(root, &graph);
    let of = |(address, starts): (&String, &Starts)| {
        let mut reached = named.below(starts.nodes.keys().copied().collect());
        for (index, keys) in &starts.nodes {
            match (reached.entry(*index).or_insert_with(|| Some(BTreeSet::new())), keys) {
                (Some(known), Some(keys)) => known.extend(keys.iter().cloned()),
                (known, _) => *known = None,
            }
        }
        let found = reached.into_iter().flat_map(|(index, keys)| {
            let (node, name) = (&nodes[index], nodes[index].name());
            match node {
                Node::Resource(..) if name != *address || starts.own => {
                    let of_key = |key: &InstanceKey| Some((node.resource()?, key.clone()));
                    let is_evaluated = |key: &InstanceKey| of_key(key).is_some_and(|one| evaluated.contains(&one));
                    match keys.filter(|keys| keys.iter().all(is_evaluated)) {
                        Some(keys) => keys.iter().map(|key| format!("{name}{key}")).collect(),
                        None => vec![name],
                    }
                }
                Node::Output(..) | Node::Variable(..) if name != *address && checked.contains_key(&name) => vec![name],
                _ => Vec::new(),
            }
        });
        (address.clone(), found.collect())
    };
    checked.iter().map(of).collect()
}

/// The nodes that an object with conditions begins at.
struct Starts {
    /// The object itself, or what a check block refers to, with the keys of these references.
    nodes: BTreeMap<usize, Keys>,
    /// Whether the object is its own prerequisite.
    own: bool,
}

/// The objects with conditions, by their configured addresses.
fn checked_nodes(root: &Arc<CompiledModule>, graph: &StaticGraph) -> BTreeMap<String, Starts> {
    let mut checked: BTreeMap<String, Starts> = BTreeMap::new();
    for module in &root.all() {
        let mut add = |node: Node, own: bool| {
            if let Some(index) = graph.position(&node) {
                checked.insert(node.name(), Starts { nodes: BTreeMap::from([(index, None)]), own });
            }
        };
        let path = || module.path.clone();
        for (resource, block) in module.resources.iter().filter(|(_, block)| block.has_conditions()) {
            add(Node::Resource(path(), resource.clone()), !block.lifecycle.postconditions.is_empty());
        }
        for output in module.outputs.values().filter(|output| !output.preconditions.is_empty()) {
            add(Node::Output(path(), output.name.clone()), false);
        }
        for variable in module.variables.values().filter(|variable| !variable.validations.is_empty()) {
            add(Node::Variable(path(), variable.name.clone()), false);
        }
        for block in module.checks.values() {
            let data = block.data.iter().map(|resource| Node::Resource(path(), resource.clone()));
            let prefix = if module.path.is_root() { String::new() } else { format!("{}.", module.path) };
            let mut nodes: BTreeMap<usize, Keys> =
                data.filter_map(|node| Some((graph.position(&node)?, None))).collect();
            for reference in &block.references {
                for index in targets(module, std::slice::from_ref(reference)).iter().filter_map(|to| graph.position(to))
                {
                    match (&reference.key, nodes.entry(index).or_insert_with(|| Some(BTreeSet::new()))) {
                        (Some(key), Some(keys)) => drop(keys.insert(key.clone())),
                        (_, keys) => *keys = None,
                    }
                }
            }
            checked.insert(format!("{prefix}check.{}", block.name), Starts { nodes, own: false });
        }
    }
    checked
}

/// The nodes that are reachable from `starts` through nodes in `kept`. The nodes in `starts` are included.
fn below(starts: Vec<usize>, next: &[Vec<usize>], kept: &[bool]) -> Vec<bool> {
    let mut found = vec![false; next.len()];
    let mut pending = starts;
    while let Some(index) = pending.pop() {
        if kept[index] && !std::mem::replace(&mut found[index], true) {
            pending.extend(next[index].iter().copied());
        }
    }
    found
}

impl StaticGraph {
    /// The part of the graph that an apply keeps.
    ///
    /// Apply keeps the `active` resources, the outputs of the root module, variables with validations, everything that
    /// check blocks refer to, and everything that a kept node refers to. There are two exceptions. An output of the
    /// root module keeps neither resources nor the repetitions of modules. A reference to a whole module keeps the
    /// outputs of the module, but neither its resources nor its repetitions.
    pub(super) fn kept(&self, root: &Arc<CompiledModule>, active: &BTreeSet<ConfigResource>) -> Vec<bool> {
        let (nodes, next) = self.parts();
        let modules = root.all();
        let mut kept = vec![false; nodes.len()];
        let mut pending: Vec<usize> = Vec::new();
        for (index, node) in nodes.iter().enumerate() {
            let begins = match node {
                Node::Resource(..) => node.resource().is_some_and(|config| active.contains(&config)),
                node => self.counts(node),
            };
            if begins {
                pending.push(index);
            }
        }
        for module in &modules {
            let named = module.checks.values().flat_map(|check| targets(module, &check.references));
            pending.extend(named.filter_map(|node| self.position(&node)));
        }
        while let Some(index) = pending.pop() {
            if std::mem::replace(&mut kept[index], true) {
                continue;
            }
            let weak = matches!(&nodes[index], Node::Output(module, _) if module.is_root());
            // A reference to a whole module refers to all its outputs.
            let whole = matches!(nodes[index], Node::Close(_));
            pending.extend(next[index].iter().copied().filter(|to| match &nodes[*to] {
                Node::Resource(..) | Node::Expand(_) => !weak && !whole,
                Node::Close(_) => !whole,
                _ => true,
            }));
        }
        kept
    }

    /// The parts that a selection includes, among the `kept` nodes of the graph.
    fn reach(&self, root: &Arc<CompiledModule>, selection: &Selection, kept: &[bool]) -> NeededParts {
        let nodes = self.parts().0;
        let everything = *selection == Selection::All;
        let reached = match everything {
            true => kept.to_vec(),
            false => self.chosen(selection, kept),
        };
        let mut reach = NeededParts::default();
        for (index, node) in nodes.iter().enumerate().filter(|(index, _)| reached[*index]) {
            match node {
                Node::Variable(module, name) => {
                    reach.variables.insert((module.clone(), name.clone()));
                }
                Node::Output(module, name) => {
                    reach.outputs.insert((module.clone(), name.clone()));
                }
                Node::Resource(..) => reach.resources.extend(nodes[index].resource()),
                Node::Local(module, name) => {
                    reach.locals.insert((module.clone(), name.clone()));
                }
                Node::Provider(..) | Node::Expand(_) | Node::Close(_) => {}
            }
        }
        for module in root.all() {
            for block in module.checks.values() {
                let data = block.data.as_ref().map(|resource| Node::Resource(module.path.clone(), resource.clone()));
                let read = data.and_then(|node| self.position(&node)).is_some_and(|index| reached[index]);
                if everything || read {
                    reach.listed_checks.insert((module.path.clone(), block.name.clone()));
                }
                if everything {
                    reach.checks.insert((module.path.clone(), block.name.clone()));
                }
            }
        }
        reach
    }

    /// The selected nodes with their dependencies. An output of the root module, or a variable with validations, is
    /// also selected if it depends on resources and all of them are selected.
    pub(super) fn chosen(&self, selection: &Selection, kept: &[bool]) -> Vec<bool> {
        let (nodes, next) = self.parts();
        let touching = |addresses: &[SelectedAddress], whole: bool| -> Vec<usize> {
            self.touching(addresses, whole).into_iter().filter(|i| kept[*i]).collect()
        };
        let back = reversed(next);
        let starts: Vec<usize> = match selection {
            Selection::All => (0..nodes.len()).collect(),
            Selection::Only(addresses) => touching(addresses, false),
            Selection::AllBut(addresses) => {
                let whole = touching(addresses, true);
                let partly = touching(addresses, false).into_iter().filter(|i| whole.binary_search(i).is_err());
                let dependents = partly.flat_map(|i| back[i].iter().copied()).collect();
                let away = below(whole, &back, kept);
                let dependents = below(dependents, &back, kept);
                let stays = |i: &usize| !away[*i] && !dependents[*i];
                let resources = (0..nodes.len()).filter(|i| kept[*i] && matches!(nodes[*i], Node::Resource(..)));
                resources.filter(stays).collect()
            }
        };
        let mut chosen = below(starts, next, kept);
        let is_resource = |index: &usize| kept[*index] && matches!(nodes[*index], Node::Resource(..));
        let (taken, left): (Vec<usize>, Vec<usize>) =
            (0..nodes.len()).filter(is_resource).partition(|index| chosen[*index]);
        // The nodes that depend on a chosen resource, and the nodes that depend on a resource that is not chosen.
        let (some, not_all) = (below(taken, &back, kept), below(left, &back, kept));
        let counts = |index: &usize| self.counts(&nodes[*index]) && some[*index] && !not_all[*index];
        let more: Vec<usize> = (0..nodes.len()).filter(counts).collect();
        for (index, added) in below(more, next, kept).into_iter().enumerate() {
            chosen[index] |= added;
        }
        chosen
    }
}
