//! The declarations that planning needs, as plain data, and the evaluation of destroy-time provisioners.
//!
//! Planning uses the declarations for objects that evaluation never reaches, because their instance or block no longer
//! exists.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use weft_graph_format::address::{ConfigResource, Module, ResourceInstance};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::diagnostic::has_errors;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use crate::config::{CompiledModule, Provisioner, RemovedBlock, Repetition, ResourceBlock};
use crate::evaluation::{Counters, Environment, Leaving, name_of_instances, without_module};
use crate::glue::{ExpansionKind, Protection, Provision};
use crate::reference::references_of;

/// All resources, module calls and `removed` blocks of a configuration.
pub struct Declared {
    resources: FxHashMap<ConfigResource, DeclaredResource>,
    modules: FxHashMap<Module, ExpansionKind>,
    removals: Vec<Removal>,
    /// The positions of the first and the last `removed` block of a resource.
    removed_resources: FxHashMap<ConfigResource, (usize, usize)>,
    /// The positions of the first and the last `removed` block of a module.
    removed_modules: FxHashMap<Module, (usize, usize)>,
}

/// The settings of a resource block.
pub struct DeclaredResource {
    /// Its repetition.
    pub repeats: ExpansionKind,
    /// The `destroy` argument of the `lifecycle` block.
    pub destroy: Option<bool>,
    /// Whether the resource has preconditions or postconditions.
    pub has_conditions: bool,
    farewell: Farewell,
}

/// The settings of a `removed` block.
pub struct Removal {
    /// Whether objects are destroyed. `None` if the block does not set this, which means that objects are forgotten.
    pub destroy: Option<bool>,
    farewell: Farewell,
}

/// Destroy-time provisioners.
enum Farewell {
    OfBlock(Arc<ResourceBlock>, String),
    OfRemoval(Vec<Provisioner>, String),
}

impl Declared {
    /// The declarations of a tree of modules.
    pub fn of(root: &Arc<CompiledModule>) -> Declared {
        let mut found = Declared {
            resources: FxHashMap::default(),
            modules: FxHashMap::default(),
            removals: Vec::new(),
            removed_resources: FxHashMap::default(),
            removed_modules: FxHashMap::default(),
        };
        for module in root.all() {
            for (resource, block) in &module.resources {
                let config = ConfigResource { module: module.path.clone(), resource: resource.clone() };
                found.resources.insert(config, declared(block, &module.dir));
            }
            for (name, call) in &module.calls {
                found.modules.insert(module.path.child(name), kind_of(&call.repetition));
            }
            module.statements.removed.iter().for_each(|block| found.take_removal(block));
        }
        found
    }

    fn take_removal(&mut self, block: &RemovedBlock) {
        let index = self.removals.len();
        self.removals.push(Removal {
            destroy: block.destroy,
            farewell: Farewell::OfRemoval(block.provisioners.clone(), block.dir.clone()),
        });
        match &block.resource {
            Some(resource) => {
                let config = ConfigResource { module: block.module.clone(), resource: resource.clone() };
                self.removed_resources.entry(config).or_insert((index, index)).1 = index;
            }
            None => self.removed_modules.entry(block.module.clone()).or_insert((index, index)).1 = index,
        }
    }

    /// The settings of a resource block. `None` if the resource has no block.
    pub fn resource(&self, config: &ConfigResource) -> Option<&DeclaredResource> {
        self.resources.get(config)
    }

    /// Whether a resource has a block.
    pub fn has(&self, config: &ConfigResource) -> bool {
        self.resources.contains_key(config)
    }

    /// The repetition of a module call. `None` if nothing calls the module.
    pub fn module(&self, module: &Module) -> Option<ExpansionKind> {
        self.modules.get(module).copied()
    }

    /// The last `removed` block that applies to a resource without a resource block. As in OpenTofu, this block decides
    /// what happens to the objects.
    pub fn removal(&self, config: &ConfigResource) -> Option<&Removal> {
        self.removals.get(self.removals_of(config)?.1)
    }

    /// The positions of the first and the last `removed` block that applies to a resource without a resource block.
    fn removals_of(&self, config: &ConfigResource) -> Option<(usize, usize)> {
        if self.has(config) {
            return None;
        }
        let mut found = self.removed_resources.get(config).copied();
        let mut module = Some(config.module.clone());
        while let Some(here) = module {
            let both = found.into_iter().chain(self.removed_modules.get(&here).copied());
            found = both.reduce(|(first, last), (a, b)| (first.min(a), last.max(b)));
            module = here.parent();
        }
        found
    }

    /// The `prevent_destroy` value for an object whose module instance no longer exists. As in OpenTofu, names of the
    /// module are unknown. `None` if the resource has no such argument or no block.
    pub fn protection_without_module(
        &self,
        resource: &ConfigResource,
        environment: &Environment,
        counters: &Counters,
    ) -> Option<Protection> {
        match &self.resources.get(resource)?.farewell {
            Farewell::OfBlock(block, dir) => protection(block, dir, environment, counters),
            Farewell::OfRemoval(..) => None,
        }
    }

    /// Evaluates the destroy-time provisioners of an object. Returns them in order.
    ///
    /// # Errors
    /// Returns an error for each provisioner of a `removed` block that would need a plugin.
    pub fn provisions_before_destroy(
        &self,
        address: &ResourceInstance,
        object: &Value,
        environment: &Environment,
        counters: &Counters,
    ) -> Result<Vec<Provision>, Vec<Diagnostic>> {
        let config = address.config();
        let farewell = match self.resources.get(&config) {
            Some(block) => &block.farewell,
            // The first block has the provisioners.
            None => match self.removals_of(&config).and_then(|(first, _)| self.removals.get(first)) {
                Some(removal) => &removal.farewell,
                None => return Ok(Vec::new()),
            },
        };
        let (provisioners, connection, module_dir) = match farewell {
            Farewell::OfBlock(block, dir) => (&block.provisioners, block.connection.as_ref(), dir),
            Farewell::OfRemoval(provisioners, dir) => (provisioners, None, dir),
        };
        if !provisioners.iter().any(|provisioner| provisioner.on_destroy) {
            return Ok(Vec::new());
        }
        Leaving { environment, module_dir, key: &address.key, object: object.clone(), counters, others: None }
            .provisions(provisioners, connection.map(|connection| &connection.body))
    }
}

/// The `prevent_destroy` value of a block in `dir`, without its module.
fn protection(block: &ResourceBlock, dir: &str, environment: &Environment, counters: &Counters) -> Option<Protection> {
    let expression = block.lifecycle.prevent_destroy.as_ref()?;
    let (value, problems) = without_module(expression, dir, environment, counters);
    let value = if has_errors(&problems) { Value::unknown(Type::Bool) } else { value };
    let of_instances = name_of_instances(&references_of(expression, &mut Vec::new()));
    Some(Protection { value, at: expression.range(), range: block.range.clone(), of_instances, wrong: Vec::new() })
}

fn declared(block: &Arc<ResourceBlock>, dir: &str) -> DeclaredResource {
    DeclaredResource {
        repeats: kind_of(&block.repetition),
        destroy: block.lifecycle.destroy,
        has_conditions: block.has_conditions(),
        farewell: Farewell::OfBlock(block.clone(), dir.to_owned()),
    }
}

fn kind_of(repetition: &Repetition) -> ExpansionKind {
    match repetition {
        Repetition::Single => ExpansionKind::Single,
        Repetition::Count(_) => ExpansionKind::Count,
        Repetition::ForEach(_) => ExpansionKind::ForEach,
        Repetition::Enabled(_) => ExpansionKind::Enabled,
    }
}
