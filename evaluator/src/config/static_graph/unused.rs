//! Values and provider blocks without users.

use std::collections::BTreeSet;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::Module;

use super::{Node, StaticGraph, targets};
use crate::config::CompiledModule;

/// Values that nothing needs, by module and name.
#[derive(Debug, Default)]
pub(crate) struct Unused {
    /// Variables of called modules.
    pub(crate) variables: BTreeSet<(Module, SmolStr)>,
    pub(crate) locals: BTreeSet<(Module, SmolStr)>,
    /// Outputs of called modules.
    pub(crate) outputs: BTreeSet<(Module, SmolStr)>,
    /// Provider blocks, by local name and alias.
    pub(crate) providers: BTreeSet<(Module, SmolStr, Option<SmolStr>)>,
}

impl StaticGraph {
    /// Finds unused local values, and unused variables and outputs of called modules. A value is used if one of these
    /// needs it: an output of the root module, or a resource, provider, check, validation or module call of any module.
    /// A module call needs the values in its repetition and `depends_on`. Also finds provider blocks that nothing uses.
    pub(crate) fn unused(&self, root: &Arc<CompiledModule>) -> Unused {
        let is_needed = |node: &Node| match node {
            Node::Resource(..) | Node::Provider(..) | Node::Expand(_) => true,
            Node::Variable(..) | Node::Output(..) | Node::Local(..) | Node::Close(_) => false,
        };
        let having = |test: &dyn Fn(&Node) -> bool| -> Vec<usize> {
            (0..self.nodes.len()).filter(|index| test(&self.nodes[*index])).collect()
        };
        let mut pending = having(&|node| is_needed(node) || self.counts(node));
        for module in root.all() {
            let named = module.checks.values().flat_map(|check| targets(&module, &check.references));
            pending.extend(named.filter_map(|node| self.index.get(&node).copied()));
        }
        let needed = self.reached(pending, &self.next);
        let used = self.reached(having(&|node| !matches!(node, Node::Provider(..))), &self.next);
        let mut unused = Unused::default();
        for (index, node) in self.nodes.iter().enumerate() {
            match node {
                Node::Variable(module, name) if !module.is_root() && !needed.contains(&index) => {
                    unused.variables.insert((module.clone(), name.clone()));
                }
                Node::Output(module, name) if !needed.contains(&index) => {
                    unused.outputs.insert((module.clone(), name.clone()));
                }
                Node::Local(module, name) if !needed.contains(&index) => {
                    unused.locals.insert((module.clone(), name.clone()));
                }
                Node::Provider(module, name, alias) if !used.contains(&index) => {
                    unused.providers.insert((module.clone(), name.clone(), alias.clone()));
                }
                _ => {}
            }
        }
        unused
    }
}
