//! The parts of the graph that a selection includes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weft_graph_format::address::{ConfigResource, Module, ProviderConfig};

use super::{Node, StaticGraph};
use crate::config::CompiledModule;
use crate::selection::{Selected, SelectedAddress, Selection};

/// The nodes that lead to each node directly, if `next` contains the nodes to which each node leads.
pub(in crate::config) fn reversed(next: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut back: Vec<Vec<usize>> = vec![Vec::new(); next.len()];
    for (node, next) in next.iter().enumerate() {
        next.iter().for_each(|to| back[*to].push(node));
    }
    back
}

impl StaticGraph {
    /// The selected parts. `None` if everything is selected.
    ///
    /// Targets include all their dependencies, and exclusions exclude all their dependents. If only some instances of a
    /// resource are excluded, all other resources that depend on this resource are excluded too. An output of the root
    /// module is planned only if it depends on at least one resource and all resources that it depends on are planned,
    /// at least in part. A selection by targets also includes the dependencies of the provider configurations in
    /// `wanted`: objects in the state that have no block in the configuration need these provider configurations.
    pub(crate) fn selected(
        &self,
        root: &Arc<CompiledModule>,
        selection: &Selection,
        wanted: &[ProviderConfig],
    ) -> Option<Selected> {
        let back = reversed(&self.all);
        let resources: BTreeSet<usize> = match selection {
            Selection::All => return None,
            Selection::Only(addresses) => {
                let starts = self.touching(addresses, false).into_iter().chain(self.providers(root, wanted));
                self.reached(starts.collect(), &self.all)
            }
            Selection::AllBut(addresses) => {
                let away = self.excluded(addresses, &back);
                (0..self.nodes.len()).filter(|i| !away.contains(i)).collect()
            }
        };
        let is_resource = |index: &usize| matches!(self.nodes[*index], Node::Resource(..));
        let (planned, left): (Vec<usize>, Vec<usize>) =
            (0..self.nodes.len()).filter(is_resource).partition(|index| resources.contains(index));
        let (some, not_all) = (self.reached(planned, &back), self.reached(left, &back));
        let outputs = self.nodes.iter().enumerate().filter_map(|(index, node)| match node {
            Node::Output(module, name) if module.is_root() => {
                (some.contains(&index) && !not_all.contains(&index)).then(|| name.clone())
            }
            _ => None,
        });
        let chosen = self.chosen(selection, &vec![true; self.nodes.len()]);
        let (mut variables, mut module_outputs) = (BTreeSet::new(), BTreeSet::new());
        for (node, _) in self.nodes.iter().zip(chosen).filter(|(_, chosen)| *chosen) {
            match node {
                Node::Variable(module, name) => drop(variables.insert((module.clone(), name.clone()))),
                Node::Output(module, name) if !module.is_root() => {
                    module_outputs.insert((module.clone(), name.clone()));
                }
                _ => {}
            }
        }
        Some(Selected {
            variables,
            module_outputs,
            outputs: outputs.collect(),
            resources: resources.iter().filter_map(|i| self.nodes[*i].resource()).collect(),
            providers: wanted.iter().map(|provider| provider.module.clone()).collect(),
            protected: BTreeSet::new(),
        })
    }

    /// The resources that one of the addresses touches, in ascending order. With `whole`, only addresses of whole
    /// resources and modules count.
    pub(in crate::config) fn touching(&self, addresses: &[SelectedAddress], whole: bool) -> Vec<usize> {
        let wanted = |config: &ConfigResource| addresses.iter().any(|a| a.touches(config) && (a.is_whole() || !whole));
        (0..self.nodes.len()).filter(|i| self.nodes[*i].resource().as_ref().is_some_and(wanted)).collect()
    }

    /// The nodes that an exclusion leaves out. `back` contains the direct dependents of each node.
    fn excluded(&self, addresses: &[SelectedAddress], back: &[Vec<usize>]) -> BTreeSet<usize> {
        let whole = self.touching(addresses, true);
        let partly = self.touching(addresses, false).into_iter().filter(|index| whole.binary_search(index).is_err());
        // A resource that depends on a partly excluded resource is wholly excluded, even if both are in the same
        // module.
        let dependents: Vec<usize> = partly.flat_map(|index| back[index].iter().copied()).collect();
        let mut away = self.reached(whole, back);
        away.extend(self.reached(dependents, back));
        away
    }

    /// The provider configurations that an exclusion leaves out: those that depend on wholly excluded resources.
    pub(in crate::config) fn excluded_providers(
        &self,
        root: &Arc<CompiledModule>,
        addresses: &[SelectedAddress],
    ) -> BTreeSet<ProviderConfig> {
        let modules: BTreeMap<Module, Arc<CompiledModule>> =
            root.all().into_iter().map(|module| (module.path.clone(), module)).collect();
        let away = self.reached(self.touching(addresses, true), &reversed(&self.all));
        let found = away.into_iter().filter_map(|index| match &self.nodes[index] {
            Node::Provider(path, name, alias) => {
                let module = modules.get(path)?;
                let source = module.provider_source(name);
                Some(ProviderConfig { module: path.clone(), source, alias: alias.clone() })
            }
            _ => None,
        });
        found.collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::super::tests::{graph, loaded};
    use super::*;

    #[test]
    fn steps_of_a_selection_grow_with_the_number_of_blocks() {
        let steps = |count, address: &str, excludes: bool| {
            let (root, graph) = graph(count);
            let addresses = vec![SelectedAddress::parse(address).expect("an address")];
            let selection = if excludes { Selection::AllBut(addresses) } else { Selection::Only(addresses) };
            let selected = graph.selected(&root, &selection, &[]).expect("a selection");
            (graph.steps.load(Ordering::Relaxed), selected.outputs.len())
        };
        for (address, excludes, outputs) in
            [("module.m", false, 100), ("module.m.a.r1", false, 0), ("module.m.a.r1", true, 0)]
        {
            let (few, many) = (steps(10, address, excludes), steps(100, address, excludes));
            assert!(many.0 <= 12 * few.0, "{address}: {} steps for 10 blocks, {} for 100", few.0, many.0);
            assert_eq!(many.1, outputs, "{address} {excludes}");
        }
    }

    #[test]
    fn providers_of_wholly_excluded_resources_are_excluded() {
        let root = "module \"m\" {\n  source = \"./m\"\n}\n\
                    resource \"a\" \"x\" {\n  count = 2\n}\n\
                    locals {\n  x = a.x[0].id\n}\n\
                    provider \"p\" {\n  arg = local.x\n}\n\
                    provider \"p\" {\n  alias = \"m\"\n  arg   = module.m.o\n}\n\
                    provider \"p\" {\n  alias = \"own\"\n}\n\
                    resource \"p_r\" \"r\" {}\n\
                    resource \"p_r\" \"m\" {\n  provider = p.m\n}\n";
        let (root, graph) = loaded(root, "resource \"a\" \"y\" {}\noutput \"o\" {\n  value = a.y.id\n}\n");
        for (address, want) in [
            ("a.x", vec![None]),
            ("a.x[1]", vec![]),
            ("module.m", vec![Some("m")]),
            ("module.m.a.y", vec![Some("m")]),
            ("p_r.r", vec![]),
        ] {
            let found = graph.excluded_providers(&root, &[SelectedAddress::parse(address).expect("an address")]);
            let aliases: Vec<_> = found.iter().map(|provider| provider.alias.as_deref()).collect();
            assert_eq!(aliases, want, "{address}");
        }
    }
}
