//! The results of evaluation: expansions, conditions, outputs.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use weft_evaluator::glue::{Expansion, Protection, ProviderBasis, RootOutput};
use weft_graph_format::address::{
    AbsResource, ConfigResource, Module, ModuleInstance, ProviderInstance, ResourceInstance,
};
use weft_graph_format::plan_file::{CheckResult, CheckedKind};
use weft_graph_format::value::Value;

use crate::gaps::Gaps;

/// The results so far. They are complete once evaluation has ended.
#[derive(Default)]
pub(crate) struct Evaluated {
    /// The instances of each resource.
    pub(crate) resources: FxHashMap<AbsResource, Expansion>,
    /// The instances of each module call, by the calling instance.
    pub(crate) modules: FxHashMap<(ModuleInstance, SmolStr), Expansion>,
    /// Desired instances.
    pub(crate) desired: rustc_hash::FxHashSet<ResourceInstance>,
    /// Protected instances that are not desired, planned with their resource.
    pub(crate) surplus: rustc_hash::FxHashSet<ResourceInstance>,
    /// Results of conditions, by object.
    pub(crate) checks: BTreeMap<(CheckedKind, String), CheckResult>,
    /// Outputs of the root module.
    pub(crate) outputs: BTreeMap<SmolStr, RootOutput>,
    /// Outputs of the root module that only apply can evaluate.
    pub(crate) late: BTreeMap<SmolStr, RootOutput>,
    /// Outputs of called modules with values other than null.
    pub(crate) module_outputs: BTreeSet<(ModuleInstance, SmolStr)>,
    /// Whether any output of a called module was evaluated.
    pub(crate) has_module_outputs: bool,
    /// Variables of called modules whose arguments could not be evaluated, because something else has failed.
    pub(crate) not_reached: BTreeSet<(Module, SmolStr)>,
    /// Values of the root variables.
    pub(crate) variables: BTreeMap<SmolStr, Value>,
    /// The formulas of placeholders for missing instances outside the selection.
    pub(crate) gaps: Gaps,
    /// The values that configure provider instances which can disappear later.
    pub(crate) bases: BTreeMap<ProviderInstance, ProviderBasis>,
    /// The provider instances that have disappeared and that are used once more to delete objects.
    pub(crate) recalled: BTreeSet<ProviderInstance>,
    /// The `prevent_destroy` values of resources.
    protected: BTreeMap<ConfigResource, BTreeMap<ModuleInstance, Protection>>,
}

impl Evaluated {
    /// Records the `prevent_destroy` value of a resource.
    pub(crate) fn protect(&mut self, resource: &AbsResource, protection: Protection) {
        self.protected.entry(resource.config()).or_default().insert(resource.module.clone(), protection);
    }

    /// The `prevent_destroy` value for an instance. `None` if evaluation did not reach its module instance.
    pub(crate) fn protection(&self, address: &ResourceInstance) -> Option<&Protection> {
        self.protected.get(&address.config())?.get(&address.module)
    }

    /// Whether a module instance is desired. `None` if evaluation did not reach it.
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
