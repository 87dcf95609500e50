//! What evaluation says of the configuration as a whole: how often things are there, conditions, outputs.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use weft_evaluator::glue::{Expansion, Protection, RootOutput};
use weft_graph_format::address::{AbsResource, ConfigResource, ModuleInstance, ResourceInstance};
use weft_graph_format::formula::Formula;
use weft_graph_format::plan_file::{CheckResult, CheckedKind};
use weft_graph_format::value::Value;

/// What was said so far; all of it once evaluation has ended.
#[derive(Default)]
pub(crate) struct Told {
    /// How often each resource is there.
    pub(crate) resources: FxHashMap<AbsResource, Expansion>,
    /// How often each module call is there, by the calling instance.
    pub(crate) modules: FxHashMap<(ModuleInstance, SmolStr), Expansion>,
    /// Instances that the configuration wants.
    pub(crate) desired: rustc_hash::FxHashSet<ResourceInstance>,
    /// Protected instances that the configuration does not want, planned with their resource.
    pub(crate) surplus: rustc_hash::FxHashSet<ResourceInstance>,
    /// What came of conditions, by object.
    pub(crate) checks: BTreeMap<(CheckedKind, String), CheckResult>,
    /// Outputs of the root module.
    pub(crate) outputs: BTreeMap<SmolStr, RootOutput>,
    /// Outputs of called modules whose value is not null.
    pub(crate) module_outputs: BTreeSet<(ModuleInstance, SmolStr)>,
    /// Values of the root variables.
    pub(crate) variables: BTreeMap<SmolStr, Value>,
    /// The formulas of what stands for instances that the selection leaves out and that are not there.
    pub(crate) gaps: Vec<Formula>,
    /// What `prevent_destroy` of resources came to.
    protected: BTreeMap<ConfigResource, BTreeMap<ModuleInstance, Protection>>,
}

impl Told {
    /// Takes what `prevent_destroy` of a resource came to.
    pub(crate) fn protect(&mut self, resource: &AbsResource, protection: Protection) {
        self.protected.entry(resource.config()).or_default().insert(resource.module.clone(), protection);
    }

    /// What `prevent_destroy` of the resource of an instance came to. Where its module instance is not there any more,
    /// what it came to in another instance of the module.
    pub(crate) fn protection(&self, address: &ResourceInstance) -> Option<&Protection> {
        let found = self.protected.get(&address.config())?;
        match found.get(&address.module) {
            Some(own) => Some(own),
            None if self.resources.contains_key(&address.all()) => None,
            None => found.values().next(),
        }
    }

    /// Whether a module instance is wanted; `None` when evaluation did not come to it.
    pub(crate) fn has_module(&self, module: &ModuleInstance) -> Option<bool> {
        let (Some(parent), Some(step)) = (module.parent(), module.0.last()) else { return Some(true) };
        let call = (parent, step.name.clone());
        let wanted = self.modules.get(&call).map(|expansion| expansion.has(&step.key));
        match (wanted, self.has_module(&call.0)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        }
    }
}
