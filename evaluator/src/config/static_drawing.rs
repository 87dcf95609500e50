//! Draws the graph of a configuration as OpenTofu does: with vertices for the start and end of modules, and for the
//! closing of providers.

use std::collections::BTreeMap;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::{ConfigResource, Module};

use super::static_graph::Node;
use super::{CompiledModule, StaticGraph};
use crate::drawing::{Drawing, VertexKind};
use crate::reference::{Reference, Referent};

/// Draws a configuration. Cycles remain in the drawing.
pub fn draw(root: &Arc<CompiledModule>) -> Drawing {
    let graph = StaticGraph::new(root);
    let modules: BTreeMap<Module, Arc<CompiledModule>> =
        root.all().into_iter().map(|module| (module.path.clone(), module)).collect();
    let mut pen = Pen { graph: &graph, modules: &modules, drawing: Drawing::default(), places: Vec::new() };
    pen.vertices();
    pen.edges();
    for module in modules.values() {
        pen.module(module);
    }
    let mut drawing = pen.drawing;
    drawing.add_root();
    drawing
}

struct Pen<'a> {
    graph: &'a StaticGraph,
    modules: &'a BTreeMap<Module, Arc<CompiledModule>>,
    drawing: Drawing,
    /// The vertex of each node of the graph; `None` for nodes that are not drawn.
    places: Vec<Option<usize>>,
}

fn within(module: &Module, name: &str) -> String {
    if module.is_root() { name.to_owned() } else { format!("{module}.{name}") }
}

impl Pen<'_> {
    fn vertices(&mut self) {
        let (nodes, next) = self.graph.parts();
        let mut used = vec![false; nodes.len()];
        for (index, node) in nodes.iter().enumerate() {
            if matches!(node, Node::Resource(..)) {
                next[index].iter().for_each(|to| used[self.owner(*to)] = true);
            }
        }
        for (index, node) in nodes.iter().enumerate() {
            let place = match node {
                // An unused provider is never started, so it is not drawn.
                Node::Provider(..) if !used[index] => None,
                node => Some(self.vertex(node)),
            };
            self.places.push(place);
        }
    }

    /// The node of the provider configuration that a provider node inherits from callers. For other nodes, the node
    /// itself.
    fn owner(&self, index: usize) -> usize {
        let (nodes, next) = self.graph.parts();
        let mut here = index;
        for _ in 0..nodes.len() {
            let Some(Node::Provider(module, ..)) = nodes.get(here) else { break };
            let handed = next[here].iter().find(|to| match &nodes[**to] {
                Node::Provider(outer, ..) => outer != module,
                _ => false,
            });
            match handed {
                Some(outer) => here = *outer,
                None => break,
            }
        }
        here
    }

    fn vertex(&mut self, node: &Node) -> usize {
        let mut expanded =
            |name: String, shape: VertexKind| self.drawing.vertex(&format!("{name} (expand)"), &name, shape);
        match node {
            Node::Variable(module, name) => {
                let given = self.given(module, name);
                let name = within(module, &format!("var.{name}"));
                let read = self.drawing.vertex(&format!("{name} (expand, reference)"), &name, VertexKind::Plain);
                self.drawing.edge(read, given);
                read
            }
            Node::Local(module, name) => expanded(within(module, &format!("local.{name}")), VertexKind::Plain),
            Node::Output(module, name) => expanded(within(module, &format!("output.{name}")), VertexKind::Plain),
            Node::Resource(module, resource) => {
                let config = ConfigResource { module: module.clone(), resource: resource.clone() };
                expanded(config.to_string(), VertexKind::Box)
            }
            Node::Expand(module) => expanded(module.to_string(), VertexKind::Plain),
            Node::Close(module) => {
                self.drawing.vertex(&format!("{module} (close)"), &module.to_string(), VertexKind::Plain)
            }
            Node::Provider(module, local_name, alias) => {
                let name = self.provider(module, local_name, alias.as_ref());
                self.drawing.vertex(&name, &name, VertexKind::Diamond)
            }
        }
    }

    /// The vertex for the given value of a variable. Readers of the variable wait for another vertex, which stands for
    /// the value after validation.
    fn given(&mut self, module: &Module, name: &SmolStr) -> usize {
        let name = within(module, &format!("var.{name}"));
        match module.is_root() {
            true => self.drawing.vertex(&name, &name, VertexKind::Note),
            false => self.drawing.vertex(&format!("{name} (expand, input)"), &name, VertexKind::Plain),
        }
    }

    fn provider(&self, module: &Module, local_name: &SmolStr, alias: Option<&SmolStr>) -> String {
        let source = match self.modules.get(module) {
            Some(found) => found.provider_source(local_name).to_string(),
            None => local_name.to_string(),
        };
        let alias = alias.map(|alias| format!(".{alias}")).unwrap_or_default();
        within(module, &format!("provider[\"{source}\"]{alias}"))
    }

    fn edges(&mut self) {
        let (nodes, next) = self.graph.parts();
        for (index, node) in nodes.iter().enumerate() {
            let Some(place) = self.places[index] else { continue };
            for to in &next[index] {
                let owner = self.owner(*to);
                let Some(to) = self.places[owner] else { continue };
                let from = match node {
                    // The argument of a call is evaluated in the caller, but the validation is evaluated in the called
                    // module.
                    Node::Variable(module, name) if nodes[owner].is_outside(module) => self.given(module, name),
                    _ => place,
                };
                self.drawing.edge(from, to);
                if let (Node::Resource(..), Node::Provider(..)) = (node, &nodes[owner]) {
                    let name = self.drawing.vertices()[to].name.clone();
                    let close = self.drawing.vertex(&format!("{name} (close)"), &name, VertexKind::Plain);
                    self.drawing.edge(close, to);
                    self.drawing.edge(close, from);
                }
            }
        }
    }

    /// Adds the vertices of a module's checks. Each check comes after everything that it refers to. A called module
    /// also has a vertex for its start and a vertex for its end. Its variables, locals, outputs, resources and calls
    /// are connected to both, so that they come after the start and before the end.
    fn module(&mut self, module: &Arc<CompiledModule>) {
        for check in module.checks.values() {
            let name = within(&module.path, &format!("check.{}", check.name));
            let expand = self.drawing.vertex(&format!("{name} (expand)"), &name, VertexKind::Plain);
            let report = self.drawing.vertex(&format!("{name} (report)"), &name, VertexKind::Plain);
            self.drawing.edge(expand, report);
            let named = self.named(module, &check.references);
            let data = check
                .data
                .iter()
                .filter_map(|resource| self.place(&Node::Resource(module.path.clone(), resource.clone())));
            for to in named.into_iter().chain(data).collect::<Vec<_>>() {
                self.drawing.edge(expand, to);
            }
        }
        if module.path.is_root() {
            return;
        }
        let (Some(begin), Some(end)) =
            (self.place(&Node::Expand(module.path.clone())), self.place(&Node::Close(module.path.clone())))
        else {
            return;
        };
        self.drawing.edge(end, begin);
        let path = &module.path;
        let variables = module.variables.keys().map(|name| Node::Variable(path.clone(), name.clone()));
        let locals = module.locals.keys().map(|name| Node::Local(path.clone(), name.clone()));
        let outputs = module.outputs.keys().map(|name| Node::Output(path.clone(), name.clone()));
        let resources = module.resources.keys().map(|name| Node::Resource(path.clone(), name.clone()));
        let calls = module.children.values().map(|child| Node::Expand(child.path.clone()));
        let inside: Vec<Node> = variables.chain(locals).chain(outputs).chain(resources).chain(calls).collect();
        for inner in inside.iter().filter_map(|node| self.place(node)).collect::<Vec<_>>() {
            self.drawing.edge(inner, begin);
            self.drawing.edge(end, inner);
        }
    }

    /// The vertices that references lead to.
    fn named(&mut self, module: &Arc<CompiledModule>, references: &[Reference]) -> Vec<usize> {
        let path = &module.path;
        let nodes = references.iter().filter_map(|reference| match &reference.subject {
            Referent::Variable(name) => Some(Node::Variable(path.clone(), name.clone())),
            Referent::Local(name) => Some(Node::Local(path.clone(), name.clone())),
            Referent::Resource(resource) => Some(Node::Resource(path.clone(), resource.clone())),
            Referent::Module(name, output) => {
                let child = module.children.get(name)?;
                Some(match output {
                    Some(output) => Node::Output(child.path.clone(), output.clone()),
                    None => Node::Close(child.path.clone()),
                })
            }
            _ => None,
        });
        nodes.filter_map(|node| self.place(&node)).collect()
    }

    /// The vertex of a node, if the graph has the node.
    fn place(&self, node: &Node) -> Option<usize> {
        self.places.get(self.graph.position(node)?).copied().flatten()
    }
}
