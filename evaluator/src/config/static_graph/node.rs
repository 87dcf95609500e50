//! The nodes of the graph of static references.

use smol_str::SmolStr;
use weft_graph_format::address::{ConfigResource, Module, Resource};

/// A node: a declaration, or a part of a module call, that may depend on other nodes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::config) enum Node {
    Variable(Module, SmolStr),
    Local(Module, SmolStr),
    Output(Module, SmolStr),
    Resource(Module, Resource),
    Provider(Module, SmolStr, Option<SmolStr>),
    /// The repetition of a call, and the dependencies of the call as a whole.
    Expand(Module),
    /// All content of a module, as a target of references to the whole module.
    Close(Module),
}

impl Node {
    /// The resource of the node. `None` for other kinds of nodes.
    pub(in crate::config) fn resource(&self) -> Option<ConfigResource> {
        match self {
            Node::Resource(module, resource) => {
                Some(ConfigResource { module: module.clone(), resource: resource.clone() })
            }
            _ => None,
        }
    }

    /// Whether the node lies outside the content of a module.
    pub(in crate::config) fn is_outside(&self, module: &Module) -> bool {
        match self {
            Node::Variable(own, _)
            | Node::Local(own, _)
            | Node::Output(own, _)
            | Node::Resource(own, _)
            | Node::Provider(own, ..) => own != module,
            Node::Expand(_) | Node::Close(_) => true,
        }
    }

    /// The configured address. For providers, it contains the local name.
    pub(in crate::config) fn name(&self) -> String {
        let within = |module: &Module, rest: String| {
            if module.is_root() { rest } else { format!("{module}.{rest}") }
        };
        match self {
            Node::Variable(m, n) => within(m, format!("var.{n}")),
            Node::Local(m, n) => within(m, format!("local.{n}")),
            Node::Output(m, n) => within(m, format!("output.{n}")),
            Node::Resource(m, r) => within(m, r.to_string()),
            Node::Provider(m, n, alias) => {
                let alias = alias.as_ref().map(|a| format!(".{a}")).unwrap_or_default();
                within(m, format!("provider.{n}{alias}"))
            }
            Node::Expand(m) | Node::Close(m) => m.to_string(),
        }
    }
}
