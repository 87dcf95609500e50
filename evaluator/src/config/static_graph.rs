//! The graph of static references in a whole tree of modules. It contains no values. It answers questions that need no
//! evaluation, for example: which references form a cycle, which dependencies the state stores for a resource, which
//! parts a selection includes, which parts apply evaluates, and which values are unused.

mod cycles;
pub(super) mod dependencies;
mod node;
mod selected;
pub(super) mod unused;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use weft_graph_format::address::{ConfigResource, ProviderConfig};

pub(super) use node::Node;
pub(super) use selected::reversed;

use super::{CompiledModule, PassedProvider, ProviderLink, ProviderReference};
use crate::reference::{Reference, Referent, references_of};
use crate::selection::Selected;

/// The graph of static references.
pub(crate) struct StaticGraph {
    /// The nodes that the import blocks of a resource refer to.
    imports: BTreeMap<ConfigResource, Vec<Node>>,
    nodes: Vec<Node>,
    index: FxHashMap<Node, usize>,
    /// The successors of each node that apply evaluates.
    next: Vec<Vec<usize>>,
    /// The successors of each node. Those of a whole module include its variables and locals, used or not.
    all: Vec<Vec<usize>>,
    /// Variables with validations.
    validated: BTreeSet<Node>,
    /// The total number of steps of all walks through the graph.
    #[cfg(test)]
    steps: std::sync::atomic::AtomicUsize,
}

impl StaticGraph {
    /// Builds the graph of a whole tree of modules.
    pub(crate) fn new(root: &Arc<CompiledModule>) -> StaticGraph {
        let mut imports: BTreeMap<ConfigResource, Vec<Node>> = BTreeMap::new();
        for block in &root.statements.imports {
            let config = ConfigResource { module: block.to.module_config(), resource: block.to.resource.clone() };
            imports.entry(config).or_default().extend(targets(root, &block.references));
        }
        let mut graph = StaticGraph {
            imports,
            nodes: Vec::new(),
            index: FxHashMap::default(),
            next: Vec::new(),
            all: Vec::new(),
            validated: BTreeSet::new(),
            #[cfg(test)]
            steps: std::sync::atomic::AtomicUsize::new(0),
        };
        let modules = root.all();
        for module in &modules {
            graph.add_module(module);
        }
        graph.all = graph.next.clone();
        for module in modules.iter().filter(|module| !module.path.is_root()) {
            let variables = module.variables.keys().map(|name| Node::Variable(module.path.clone(), name.clone()));
            let locals = module.locals.keys().map(|name| Node::Local(module.path.clone(), name.clone()));
            let values: Vec<usize> = variables.chain(locals).filter_map(|node| graph.position(&node)).collect();
            if let Some(close) = graph.position(&Node::Close(module.path.clone())) {
                graph.all[close].extend(values);
            }
        }
        graph
    }

    /// All nodes, and the successors of each by index.
    pub(super) fn parts(&self) -> (&[Node], &[Vec<usize>]) {
        (&self.nodes, &self.next)
    }

    /// Whether a node is evaluated even if nothing refers to it: outputs of the root module, and variables with
    /// validations.
    pub(super) fn counts(&self, node: &Node) -> bool {
        matches!(node, Node::Output(module, _) if module.is_root()) || self.validated.contains(node)
    }

    /// The index of a node.
    pub(super) fn position(&self, node: &Node) -> Option<usize> {
        self.index.get(node).copied()
    }

    fn node(&mut self, node: Node) -> usize {
        if let Some(index) = self.index.get(&node) {
            return *index;
        }
        let index = self.nodes.len();
        self.index.insert(node.clone(), index);
        self.nodes.push(node);
        self.next.push(Vec::new());
        index
    }

    fn edges(&mut self, from: Node, to: impl IntoIterator<Item = Node>) {
        let from = self.node(from);
        for node in to {
            let to = self.node(node);
            self.next[from].push(to);
        }
    }

    fn add_module(&mut self, module: &CompiledModule) {
        let here = &module.path;
        let mut common: Vec<Node> = Vec::new();
        if !here.is_root() {
            common.push(Node::Expand(here.clone()));
        }
        for local in module.locals.values() {
            let own = Node::Local(here.clone(), local.name.clone());
            let mut to = targets(module, &local.references);
            // Evaluation reports self-references, because everything else is still evaluated.
            to.retain(|node| *node != own);
            self.edges(own, to);
        }
        for output in module.outputs.values() {
            let mut to = targets(module, &output.references);
            to.extend(targets(module, &output.depends_on));
            to.extend(common.clone());
            self.edges(Node::Output(here.clone(), output.name.clone()), to);
        }
        for resource in module.resources.values() {
            let named = [&resource.references, &resource.depends_on, &resource.trigger_references];
            let mut to: Vec<Node> = named.into_iter().flat_map(|references| targets(module, references)).collect();
            to.extend(resource.provisioners.iter().flat_map(|inner| targets(module, &inner.references)));
            to.extend(resource.connection.iter().flat_map(|inner| targets(module, &inner.references)));
            let own_address = ConfigResource { module: here.clone(), resource: resource.resource.clone() };
            to.extend(self.imports.get(&own_address).into_iter().flatten().cloned());
            // Evaluation reports self-references, because it knows their source range.
            let own = Node::Resource(here.clone(), resource.resource.clone());
            to.retain(|node| *node != own);
            to.extend(common.clone());
            if resource.provider_value.is_none() {
                let local_name = resource.provider_local_name();
                let alias = resource.provider.as_ref().and_then(|p| p.alias.clone());
                to.push(Node::Provider(here.clone(), local_name, alias));
            }
            self.edges(Node::Resource(here.clone(), resource.resource.clone()), to);
        }
        for variable in module.variables.values() {
            let own = Node::Variable(here.clone(), variable.name.clone());
            let mut to = targets(module, &variable.references);
            to.retain(|node| *node != own);
            if !variable.validations.is_empty() {
                self.validated.insert(own.clone());
            }
            self.edges(own, to);
        }
        for provider in module.providers.values() {
            let from = Node::Provider(here.clone(), provider.local_name.clone(), provider.alias.clone());
            self.edges(from, targets(module, &provider.references));
        }
        for call in module.calls.values() {
            self.add_call(module, call, &common);
        }
    }

    /// Adds the parts of a module call. `common` is what everything in the calling module needs.
    fn add_call(&mut self, module: &CompiledModule, call: &super::ModuleCall, common: &[Node]) {
        let Some(child) = module.children.get(&call.name) else { return };
        let mut needs = targets(module, &call.depends_on);
        let mut silent = Vec::new();
        if let Some(expression) = call.repetition.expression() {
            needs.extend(targets(module, &references_of(expression, &mut silent)));
        }
        needs.extend(common.iter().cloned());
        self.edges(Node::Expand(child.path.clone()), needs);
        for name in child.variables.keys() {
            let mut to = vec![Node::Expand(child.path.clone())];
            if let Some((value, _)) = call.arguments.get(name) {
                to.extend(targets(module, &references_of(value, &mut silent)));
            }
            self.edges(Node::Variable(child.path.clone(), name.clone()), to);
        }
        self.passed_providers(module, child, call);
        // Nothing waits for the data source of a check block, but for what it needs.
        let (nested, resources): (Vec<_>, Vec<_>) =
            child.resources.iter().partition(|(_, block)| block.check.is_some());
        let mut inside: Vec<Node> =
            resources.into_iter().map(|(resource, _)| Node::Resource(child.path.clone(), resource.clone())).collect();
        for (_, block) in nested {
            inside.extend(targets(child, &block.references));
            inside.extend(targets(child, &block.depends_on));
        }
        inside.push(Node::Expand(child.path.clone()));
        inside.extend(child.outputs.keys().map(|o| Node::Output(child.path.clone(), o.clone())));
        inside.extend(child.children.values().map(|c| Node::Close(c.path.clone())));
        self.edges(Node::Close(child.path.clone()), inside);
    }

    /// Adds edges from provider names in a child to the caller's provider configurations. A name stands for the
    /// provider configuration that the call passes, or for the caller's default configuration of the same provider.
    fn passed_providers(&mut self, module: &CompiledModule, child: &CompiledModule, call: &super::ModuleCall) {
        let mut names = provider_names(child);
        // A provider function, or a reference to a provider as a value, may use any configuration.
        names.extend(call.providers.iter().map(|passed| (passed.child_name.clone(), passed.child_alias.clone())));
        if child.settings.experiments.provider_values {
            names.extend(child.settings.required_providers.keys().map(|name| (name.clone(), None)));
        }
        for (name, alias) in names {
            let to = match child.provider_link(Some((module, call)), &name, alias.as_ref()) {
                ProviderLink::Own | ProviderLink::Missing => continue,
                ProviderLink::Passed(PassedProvider { value: Some(value), .. }) => {
                    let references = references_of(value, &mut Vec::new());
                    self.edges(Node::Provider(child.path.clone(), name, alias), targets(module, &references));
                    continue;
                }
                ProviderLink::Passed(passed) => {
                    let ProviderReference { local_name, alias, .. } = &passed.parent;
                    Node::Provider(module.path.clone(), local_name.clone(), alias.clone())
                }
                ProviderLink::Inherited(parent_name) => Node::Provider(module.path.clone(), parent_name, None),
            };
            self.edges(Node::Provider(child.path.clone(), name, alias), [to]);
        }
    }

    /// The nodes that a walk reaches, including the nodes where it starts.
    fn reached(&self, starts: Vec<usize>, next: &[Vec<usize>]) -> BTreeSet<usize> {
        let mut seen: BTreeSet<usize> = BTreeSet::new();
        let mut pending = starts;
        while let Some(node) = pending.pop() {
            #[cfg(test)]
            self.steps.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if seen.insert(node) {
                pending.extend(next[node].iter().copied());
            }
        }
        seen
    }

    /// The parts that the provider configurations in `wanted` need.
    pub(crate) fn needed_by_providers(&self, root: &Arc<CompiledModule>, wanted: &[ProviderConfig]) -> Selected {
        let mut found = Selected {
            providers: wanted.iter().map(|provider| provider.module.clone()).collect(),
            ..Selected::default()
        };
        for index in self.reached(self.providers(root, wanted), &self.next) {
            let node = &self.nodes[index];
            found.resources.extend(node.resource());
            if let Node::Variable(module, name) = node {
                found.variables.insert((module.clone(), name.clone()));
            }
        }
        found
    }

    /// The nodes of the blocks of these provider configurations.
    pub(super) fn providers<'a>(
        &'a self,
        root: &'a Arc<CompiledModule>,
        wanted: impl IntoIterator<Item = &'a ProviderConfig>,
    ) -> Vec<usize> {
        let modules = root.all();
        let blocks = wanted.into_iter().flat_map(|provider| {
            let module = modules.iter().find(|module| module.path == provider.module);
            let blocks = module.into_iter().flat_map(|module| {
                let names = module.providers.keys().filter(|(_, alias)| *alias == provider.alias);
                names.filter(|(name, _)| module.provider_source(name) == provider.source)
            });
            blocks.map(|(name, alias)| Node::Provider(provider.module.clone(), name.clone(), alias.clone()))
        });
        blocks.filter_map(|node| self.position(&node)).collect()
    }
}

/// The provider names that a module may use, or that descendants may use because they inherit the configurations.
fn provider_names(module: &CompiledModule) -> BTreeSet<(SmolStr, Option<SmolStr>)> {
    let mut names: BTreeSet<(SmolStr, Option<SmolStr>)> = BTreeSet::new();
    let mut pending = vec![module];
    while let Some(here) = pending.pop() {
        let outermost = std::ptr::eq(here, module);
        let used = here
            .resources
            .values()
            .map(|resource| (resource.provider_local_name(), resource.provider.as_ref().and_then(|p| p.alias.clone())));
        // Only default configurations are inherited implicitly.
        names.extend(used.filter(|(_, alias)| outermost || alias.is_none()));
        let passed = here.calls.values().flat_map(|nested| &nested.providers).filter(|p| p.value.is_none());
        let passed = passed.map(|p| (p.parent.local_name.clone(), p.parent.alias.clone()));
        names.extend(passed.filter(|(_, alias)| outermost || alias.is_none()));
        pending.extend(here.children.values().map(|child| &**child));
    }
    names
}

/// The nodes that the references of a module lead to.
pub(super) fn targets(module: &CompiledModule, references: &[Reference]) -> Vec<Node> {
    let here = &module.path;
    references
        .iter()
        .filter_map(|reference| match &reference.subject {
            Referent::Resource(_) if module.provider_named(reference).is_some() => {
                let (name, alias) = module.provider_named(reference)?;
                Some(Node::Provider(here.clone(), name, alias))
            }
            Referent::Variable(name) if module.variables.contains_key(name) => {
                Some(Node::Variable(here.clone(), name.clone()))
            }
            Referent::Local(name) if module.locals.contains_key(name) => Some(Node::Local(here.clone(), name.clone())),
            Referent::Resource(resource) if module.resources.contains_key(resource) => {
                Some(Node::Resource(here.clone(), resource.clone()))
            }
            Referent::ProviderFunction(name, None) if module.providers.contains_key(&(name.clone(), None)) => {
                Some(Node::Provider(here.clone(), name.clone(), None))
            }
            // Without an alias, a function runs in an unconfigured provider.
            Referent::ProviderFunction(name, alias @ Some(_))
                if !module.has_provider_keys(name, alias.as_ref())
                    && (module.providers.contains_key(&(name.clone(), alias.clone()))
                        || module.promises(name, alias.as_ref())) =>
            {
                Some(Node::Provider(here.clone(), name.clone(), alias.clone()))
            }
            // An output that does not exist needs nothing.
            Referent::Module(name, output) if module.has_output(name, output.as_ref()) => {
                let path = module.children[name].path.clone();
                Some(match output {
                    Some(output) => Node::Output(path, output.clone()),
                    None => Node::Close(path),
                })
            }
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    /// A graph for tests. The called module has `count` resources. The root module has `count` outputs that refer to
    /// the whole called module, and `count` resources that depend on it.
    pub(super) fn graph(count: usize) -> (Arc<CompiledModule>, StaticGraph) {
        let (mut root, mut child) = (String::from("module \"m\" {\n  source = \"./m\"\n}\n"), String::new());
        for index in 0..count {
            let _ = writeln!(root, "output \"o{index}\" {{\n  value = module.m\n}}");
            let _ = writeln!(root, "resource \"b\" \"r{index}\" {{\n  depends_on = [module.m]\n}}");
            let _ =
                writeln!(child, "resource \"a\" \"r{index}\" {{}}\noutput \"o{index}\" {{\n  value = a.r{index}\n}}");
        }
        loaded(&root, &child)
    }

    /// The graph of a root module and of a called module in the directory `m`.
    pub(super) fn loaded(root: &str, child: &str) -> (Arc<CompiledModule>, StaticGraph) {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(dir.path().join("m")).expect("made");
        std::fs::write(dir.path().join("main.tf"), root).expect("written");
        std::fs::write(dir.path().join("m/main.tf"), child).expect("written");
        let (root, _, problems) = crate::config::load_tree(dir.path(), &BTreeMap::new());
        assert_eq!(problems, Vec::new());
        let graph = StaticGraph::new(&root);
        (root, graph)
    }

    #[test]
    fn edges_grow_with_the_number_of_blocks_of_a_module() {
        let edges = |count| graph(count).1.next.iter().map(Vec::len).sum::<usize>();
        let (few, many) = (edges(10), edges(100));
        assert!(many <= 10 * few, "{few} edges for 10 blocks, {many} for 100");
    }

    #[test]
    fn blocks_that_depend_on_a_module_share_its_resources() {
        let (root, graph) = graph(20);
        let all = graph.dependencies(&root).all;
        let of_readers: Vec<_> = all.iter().filter(|(config, _)| config.resource.type_name == "b").collect();
        assert_eq!((of_readers.len(), of_readers[0].1.len()), (20, 20));
        assert!(of_readers.iter().all(|(_, names)| Arc::ptr_eq(names, of_readers[0].1)));
    }
}
