//! The outcome of planning.

use std::collections::BTreeMap;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_graph_format::address::{DeposedKey, ProviderInstance, ProviderSource, ResourceInstance, ResourceMode};
use weft_graph_format::changes::{Changes, OutputChange};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::graph::{Claim, ExecutionGraph};
use weft_graph_format::plan_file::CheckResult;
use weft_graph_format::schema::ProviderSchema;
use weft_graph_format::value::Value;
use weft_state::{InstanceObject, Snapshot};

use crate::prior::Prior;

/// A plan.
#[derive(Debug)]
pub struct Planned {
    /// The changes for the reviewer.
    pub changes: Changes,
    /// The deletes of all outputs in a destroy plan that refreshes. The values before the deletes are computed from the
    /// objects that the plan read. A partial destroy plan also has these deletes, although it keeps the outputs.
    pub last_outputs: BTreeMap<SmolStr, OutputChange>,
    /// The execution graph.
    pub graph: ExecutionGraph,
    /// The instances that the plan changes or reads, with their revisions.
    pub claims: Vec<Claim>,
    /// Schemas of the providers that the plan uses.
    pub schemas: BTreeMap<ProviderSource, Arc<ProviderSchema>>,
    /// Values of `provider_meta` blocks, by module and provider (`Manifest::meta_key`).
    pub provider_metas: BTreeMap<String, Value>,
    /// Values of the root variables, after conversion.
    pub variables: BTreeMap<SmolStr, Value>,
    /// Objects as they were read: value and record. `show` calls them the prior state.
    pub refreshed: BTreeMap<ResourceInstance, Prior>,
    /// The state of the plan, with objects under their addresses after `moved` blocks.
    pub snapshot: Arc<Snapshot>,
    /// Deposed objects as they were read.
    pub deposed: BTreeMap<(ResourceInstance, DeposedKey), Prior>,
    /// Data sources that were read and imported objects, with their providers.
    pub found: BTreeMap<ResourceInstance, ProviderInstance>,
    /// Warnings that apply repeats.
    pub warnings: Vec<Diagnostic>,
    /// Results of conditions, ordered by object.
    pub checks: Vec<CheckResult>,
    /// The prerequisites of objects with conditions: see [`weft_graph_format::plan_file::Manifest::check_needs`].
    pub check_needs: BTreeMap<String, Vec<String>>,
    /// Whether there is anything to apply.
    pub applyable: bool,
}

impl Planned {
    /// Whether the refresh found differences that are not drift: other dependencies of a stored object, other options
    /// of its block, another identity, or a deposed object that differs from the state.
    pub fn differs_without_drift(&self) -> bool {
        let deposed = self.deposed.values().any(|prior| !prior.stored.same_content(&prior.value));
        deposed
            || self.refreshed.iter().any(|(address, prior)| {
                let stored = self.snapshot.instances.get(address).and_then(|stored| stored.record.current.as_ref());
                let differs = |stored: &InstanceObject| {
                    !stored.dependencies.iter().eq(&prior.record.dependencies)
                        || stored.create_before_destroy != prior.record.create_before_destroy
                        || stored.skip_destroy != prior.record.skip_destroy
                        || !prior.has_identity
                };
                let managed = address.resource.mode == ResourceMode::Managed;
                managed && !prior.value.is_null() && stored.is_some_and(differs)
            })
    }
}

/// The outcome of planning: the plan, as far as it could be made, and all diagnostics.
#[derive(Debug, Default)]
pub struct PlanOutcome {
    /// The plan. `None` if not even a partial plan could be made.
    pub planned: Option<Planned>,
    /// All diagnostics, ordered by source range.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether any output of a called module was evaluated. If so, a failed plan is shown even without other results.
    pub has_module_outputs: bool,
}

impl PlanOutcome {
    /// Whether the plan cannot be applied.
    pub fn has_errors(&self) -> bool {
        has_errors(&self.diagnostics)
    }
}
