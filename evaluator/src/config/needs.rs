//! The resources that parts of a configuration refer to, directly or indirectly.

use std::collections::BTreeSet;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::ConfigResource;

use super::static_graph::{Node, targets};
use super::{CompiledModule, StaticGraph};

/// The parts of a configuration whose references are followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Beginnings {
    /// Resources.
    pub resources: BTreeSet<ConfigResource>,
    /// Outputs of the root module.
    pub outputs: BTreeSet<SmolStr>,
    /// All `check` blocks.
    pub checks: bool,
    /// The configurations of all providers.
    pub providers: bool,
}

/// The resources that the parts in `of` refer to, directly or through locals, variables, outputs and provider
/// configurations. A part itself is included only if another part refers to it. Linear in the size of the
/// configuration.
pub fn needed_resources(root: &Arc<CompiledModule>, of: &Beginnings) -> BTreeSet<ConfigResource> {
    let graph = StaticGraph::new(root);
    let (nodes, next) = graph.parts();
    let begins = |node: &Node| match node {
        Node::Resource(module, resource) => {
            of.resources.contains(&ConfigResource { module: module.clone(), resource: resource.clone() })
        }
        Node::Output(module, name) => module.is_root() && of.outputs.contains(name),
        Node::Provider(..) => of.providers,
        _ => false,
    };
    let mut pending: Vec<usize> =
        (0..nodes.len()).filter(|at| begins(&nodes[*at])).flat_map(|at| next[at].iter().copied()).collect();
    if of.checks {
        for module in root.all() {
            let named = module.checks.values().flat_map(|check| targets(&module, &check.references));
            pending.extend(named.filter_map(|node| graph.position(&node)));
        }
    }
    let mut reached = vec![false; nodes.len()];
    let mut found = BTreeSet::new();
    while let Some(at) = pending.pop() {
        if std::mem::replace(&mut reached[at], true) {
            continue;
        }
        if let Node::Resource(module, resource) = &nodes[at] {
            found.insert(ConfigResource { module: module.clone(), resource: resource.clone() });
        }
        pending.extend(next[at].iter().copied());
    }
    found
}
