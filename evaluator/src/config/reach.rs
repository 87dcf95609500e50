//! Which of the parts that may have conditions a plan looks at, and which of them its apply looks at again.
//!
//! An apply leaves out what it needs no value of: a resource that nothing happens to and that has no conditions, the
//! values that only such resources need, and what a selection keeps away.

use std::collections::BTreeSet;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::{ConfigResource, Module, ProviderConfig};

use super::CompiledModule;
use super::static_graph::{Node, StaticGraph, targets};
use crate::selection::{SelectedAddress, Selection};

/// Parts of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Resources.
    pub resources: BTreeSet<ConfigResource>,
    /// Outputs.
    pub outputs: BTreeSet<(Module, SmolStr)>,
    /// Variables.
    pub variables: BTreeSet<(Module, SmolStr)>,
    /// Check blocks whose assertions are looked at.
    pub checks: BTreeSet<(Module, SmolStr)>,
    /// Check blocks that count as there, looked at or not.
    pub told_checks: BTreeSet<(Module, SmolStr)>,
}

/// What a plan of a selection looks at.
pub fn planned(root: &Arc<CompiledModule>, selection: &Selection) -> Reach {
    let graph = StaticGraph::new(root);
    let all = vec![true; graph.parts().0.len()];
    graph.reach(root, selection, &all)
}

/// What the apply of a plan of a selection looks at. `active` are the resources that something happens to, or that have
/// conditions.
pub fn applied(root: &Arc<CompiledModule>, selection: &Selection, active: &BTreeSet<ConfigResource>) -> Reach {
    let graph = StaticGraph::new(root);
    let kept = graph.kept(root, active);
    graph.reach(root, selection, &kept)
}

/// What a plan to destroy looks at, and its apply: variables that configure the providers which destroy something, and
/// where everything goes, outputs of the root module.
pub fn destroyed(root: &Arc<CompiledModule>, providers: &BTreeSet<ProviderConfig>, everything: bool) -> Reach {
    let graph = StaticGraph::new(root);
    let (nodes, next) = graph.parts();
    let starts = nodes.iter().enumerate().filter(|(_, node)| match node {
        Node::Provider(module, name, alias) => providers.iter().any(|provider| {
            let configured = root.all().into_iter().find(|found| found.path == *module);
            provider.module == *module
                && provider.alias == *alias
                && configured.is_some_and(|found| found.provider_source(name) == provider.source)
        }),
        _ => false,
    });
    let needed = below(starts.map(|(index, _)| index).collect(), next, &vec![true; nodes.len()]);
    let mut reach = Reach::default();
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

/// The nodes that these lead to over nodes that are kept, themselves included.
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

fn config_of(node: &Node) -> Option<ConfigResource> {
    match node {
        Node::Resource(module, resource) => Some(ConfigResource { module: module.clone(), resource: resource.clone() }),
        _ => None,
    }
}

impl StaticGraph {
    /// What an apply keeps of the graph.
    ///
    /// Values stay where something that stays names them. Resources and repetitions of modules stay where something
    /// happens to them, or something other than an output of the root module names them.
    fn kept(&self, root: &Arc<CompiledModule>, active: &BTreeSet<ConfigResource>) -> Vec<bool> {
        let (nodes, next) = self.parts();
        let modules = root.all();
        let validated: BTreeSet<(&Module, &SmolStr)> = modules
            .iter()
            .flat_map(|module| module.variables.values().map(move |variable| (&module.path, variable)))
            .filter(|(_, variable)| !variable.validations.is_empty())
            .map(|(path, variable)| (path, &variable.name))
            .collect();
        let mut kept = vec![false; nodes.len()];
        let mut pending: Vec<usize> = Vec::new();
        for (index, node) in nodes.iter().enumerate() {
            let begins = match node {
                Node::Output(module, _) => module.is_root(),
                Node::Variable(module, name) => validated.contains(&(module, name)),
                Node::Resource(..) => config_of(node).is_some_and(|config| active.contains(&config)),
                _ => false,
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
            // Who names a module as a whole names all its outputs.
            let whole = matches!(nodes[index], Node::Close(_));
            pending.extend(next[index].iter().copied().filter(|to| match &nodes[*to] {
                Node::Resource(..) | Node::Expand(_) => !weak && !whole,
                Node::Close(_) => !whole,
                _ => true,
            }));
        }
        kept
    }

    /// What a selection comes to in the part of the graph that is kept.
    fn reach(&self, root: &Arc<CompiledModule>, selection: &Selection, kept: &[bool]) -> Reach {
        let nodes = self.parts().0;
        let everything = *selection == Selection::All;
        let reached = match everything {
            true => kept.to_vec(),
            false => self.chosen(selection, kept),
        };
        let mut reach = Reach::default();
        for (index, node) in nodes.iter().enumerate().filter(|(index, _)| reached[*index]) {
            match node {
                Node::Variable(module, name) => {
                    reach.variables.insert((module.clone(), name.clone()));
                }
                Node::Output(module, name) => {
                    reach.outputs.insert((module.clone(), name.clone()));
                }
                Node::Resource(..) => reach.resources.extend(config_of(&nodes[index])),
                Node::Local(..) | Node::Provider(..) | Node::Expand(_) | Node::Close(_) => {}
            }
        }
        for module in root.all() {
            for block in module.checks.values() {
                let data = block.data.as_ref().map(|resource| Node::Resource(module.path.clone(), resource.clone()));
                let read = data.and_then(|node| self.position(&node)).is_some_and(|index| reached[index]);
                if everything || read {
                    reach.told_checks.insert((module.path.clone(), block.name.clone()));
                }
                if everything {
                    reach.checks.insert((module.path.clone(), block.name.clone()));
                }
            }
        }
        reach
    }

    /// What is selected and all that it depends on, and the outputs of the root module that depend on selected resources
    /// only, with what they depend on.
    fn chosen(&self, selection: &Selection, kept: &[bool]) -> Vec<bool> {
        let (nodes, next) = self.parts();
        let touching = |addresses: &[SelectedAddress], whole: bool| -> Vec<usize> {
            let wanted =
                |config: &ConfigResource| addresses.iter().any(|a| a.touches(config) && (a.is_whole() || !whole));
            (0..nodes.len()).filter(|i| kept[*i] && config_of(&nodes[*i]).as_ref().is_some_and(wanted)).collect()
        };
        let starts: Vec<usize> = match selection {
            Selection::All => (0..nodes.len()).collect(),
            Selection::Only(addresses) => touching(addresses, false),
            Selection::AllBut(addresses) => {
                let mut back: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
                for (node, next) in next.iter().enumerate() {
                    next.iter().for_each(|to| back[*to].push(node));
                }
                let whole: BTreeSet<usize> = touching(addresses, true).into_iter().collect();
                let partly: BTreeSet<usize> =
                    touching(addresses, false).into_iter().filter(|i| !whole.contains(i)).collect();
                let away = below(whole.into_iter().collect(), &back, kept);
                let dependents = below(partly.iter().copied().collect(), &back, kept);
                let stays = |i: &usize| !away[*i] && (!dependents[*i] || partly.contains(i));
                let resources = (0..nodes.len()).filter(|i| kept[*i] && matches!(nodes[*i], Node::Resource(..)));
                resources.filter(stays).collect()
            }
        };
        let mut chosen = below(starts, next, kept);
        let mut more = Vec::new();
        for (index, node) in nodes.iter().enumerate() {
            if !matches!(node, Node::Output(module, _) if module.is_root()) {
                continue;
            }
            let needed = below(vec![index], next, kept);
            let mut resources = (0..nodes.len()).filter(|i| needed[*i] && matches!(nodes[*i], Node::Resource(..)));
            let first = resources.next();
            if first.is_some_and(|first| chosen[first]) && resources.all(|i| chosen[i]) {
                more.push(index);
            }
        }
        for (index, added) in below(more, next, kept).into_iter().enumerate() {
            chosen[index] |= added;
        }
        chosen
    }
}
