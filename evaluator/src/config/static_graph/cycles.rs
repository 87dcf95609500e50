//! Cycles between references of the configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weft_graph_format::address::{Module, ProviderConfig};
use weft_graph_format::diagnostic::Diagnostic;

use super::{Node, StaticGraph};
use crate::components::components;
use crate::config::{CompiledModule, problems};

impl StaticGraph {
    /// One diagnostic for each cycle. The diagnostic names every step of the cycle.
    pub(crate) fn cycles(&self, root: &Arc<CompiledModule>) -> Vec<Diagnostic> {
        let mut found: Vec<Vec<usize>> = components(&self.all)
            .into_iter()
            .filter(|members| members.len() > 1 || self.all[members[0]].contains(&members[0]))
            .collect();
        // Direct self-references are reported only if there is no larger cycle.
        if found.iter().any(|members| members.len() > 1) {
            found.retain(|members| members.len() > 1);
        }
        if found.is_empty() {
            return Vec::new();
        }
        let modules: BTreeMap<Module, Arc<CompiledModule>> =
            root.all().into_iter().map(|module| (module.path.clone(), module)).collect();
        found.into_iter().map(|members| self.cycle(&members, &modules)).collect()
    }

    fn cycle(&self, members: &[usize], modules: &BTreeMap<Module, Arc<CompiledModule>>) -> Diagnostic {
        let own = members.iter().map(|i| &self.nodes[*i]).filter(|node| !is_passed_on(node, modules));
        let steps: BTreeSet<String> = own.map(|node| name(node, modules)).collect();
        let steps: Vec<String> = steps.into_iter().collect();
        if let ([one], Node::Provider(..)) = (steps.as_slice(), &self.nodes[members[0]]) {
            return problems::cycles::provider_refers_to_itself(one);
        }
        problems::cycles::cycle(&steps)
    }
}

/// Whether a node is a provider that a module receives from its caller. Such a node is not a separate step of a cycle.
fn is_passed_on(node: &Node, modules: &BTreeMap<Module, Arc<CompiledModule>>) -> bool {
    let Node::Provider(path, local_name, alias) = node else { return false };
    let block = modules.get(path).and_then(|module| module.providers.get(&(local_name.clone(), alias.clone())));
    !path.is_root() && !block.is_some_and(|block| block.is_configured())
}

/// The name of a node in OpenTofu's graph, where providers have their source address.
fn name(node: &Node, modules: &BTreeMap<Module, Arc<CompiledModule>>) -> String {
    let Node::Provider(path, local_name, alias) = node else { return node.name() };
    let Some(module) = modules.get(path) else { return node.name() };
    ProviderConfig { module: path.clone(), source: module.provider_source(local_name), alias: alias.clone() }
        .to_string()
}
