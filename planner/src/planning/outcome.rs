//! What planning works on, and what comes of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use smol_str::SmolStr;
use weft_evaluator::Environment;
use weft_evaluator::config::CompiledModule;
use weft_evaluator::glue::GivenVariables;
use weft_evaluator::relevant::{Changed, relevant_attributes};
use weft_evaluator::selection::Selection;
use weft_graph_format::address::{ModuleInstance, ProviderInstance, ProviderSource, ResourceInstance};
use weft_graph_format::changes::{Changes, RelevantAttribute};
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::graph::{Action, Claim, ExecutionGraph};
use weft_graph_format::plan_file::CheckResult;
use weft_graph_format::schema::ProviderSchema;
use weft_graph_format::value::Value;
use weft_state::Snapshot;

use super::Planning;
use crate::providers::ProviderSet;
use crate::watch::Watch;

impl Planning {
    /// What the plan rests on, by the configuration. A plan that only looks at objects rests on nothing.
    pub(crate) fn relevant_attributes(
        &self,
        changes: &Changes,
        schemas: &BTreeMap<ProviderSource, Arc<ProviderSchema>>,
    ) -> Vec<RelevantAttribute> {
        if self.options.refresh_only {
            return Vec::new();
        }
        let resources = changes.resources.iter().filter(|change| !change.action.is_no_op());
        let root = changes.outputs.iter().filter(|(_, change)| change.action != Action::NoOp);
        let mut outputs = match self.options.destroy {
            true => BTreeSet::new(),
            false => std::mem::take(&mut *self.module_outputs.lock()),
        };
        outputs.extend(root.map(|(name, _)| (ModuleInstance::root(), name.clone())));
        let changed = Changed { resources: resources.map(|change| change.address.all()).collect(), outputs };
        let found = relevant_attributes(&self.root, schemas, &changed);
        found.into_iter().map(|(resource, path)| RelevantAttribute { resource, path }).collect()
    }
}

/// What planning is to do.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// Plan to destroy everything.
    pub destroy: bool,
    /// Look at real objects first.
    pub refresh: bool,
    /// Only look at real objects and take into state what they are.
    pub refresh_only: bool,
    /// Besides, take over objects as `import` blocks say, and leave all others as state has them.
    pub importing: bool,
    /// Which part of the configuration.
    pub selection: Selection,
    /// Replace these, whatever they are like.
    pub replace: Vec<ResourceInstance>,
    /// Time of the plan, RFC 3339.
    pub timestamp: String,
}

/// Everything that planning works on.
pub struct PlanInputs {
    /// The configuration.
    pub root: Arc<CompiledModule>,
    /// Its place.
    pub environment: Environment,
    /// Root variables as given.
    pub given: GivenVariables,
    /// State.
    pub snapshot: Arc<Snapshot>,
    /// Providers.
    pub providers: Arc<ProviderSet>,
    /// What to do.
    pub options: PlanOptions,
    /// Who is told what is being looked at.
    pub watch: Watch,
}

/// What was planned.
#[derive(Debug)]
pub struct Planned {
    /// What changes.
    pub changes: Changes,
    /// How it is carried out.
    pub graph: ExecutionGraph,
    /// Instances changed or read, with their revisions.
    pub claims: Vec<Claim>,
    /// Schemas of the providers that take part.
    pub schemas: BTreeMap<ProviderSource, Arc<ProviderSchema>>,
    /// What modules tell their providers of themselves, by module and provider (`Manifest::meta_key`).
    pub provider_metas: BTreeMap<String, Value>,
    /// Values of the root variables, converted.
    pub variables: BTreeMap<SmolStr, Value>,
    /// Objects as they were found, for what `show` calls the prior state: value and what is kept beside it.
    pub refreshed: BTreeMap<ResourceInstance, crate::prior::Prior>,
    /// State as it was planned from: with objects under the addresses that they go by now.
    pub snapshot: Arc<Snapshot>,
    /// Data sources that were read, with the provider that did.
    pub read: BTreeMap<ResourceInstance, ProviderInstance>,
    /// Objects that are taken over, with the provider that found them.
    pub imported: BTreeMap<ResourceInstance, ProviderInstance>,
    /// What there is to say again when the plan is carried out.
    pub warnings: Vec<Diagnostic>,
    /// What came of conditions, ordered by what they belong to.
    pub checks: Vec<CheckResult>,
    /// What must have gone well before apply looks at conditions, by the address as configured of what they belong to.
    pub check_needs: BTreeMap<String, Vec<String>>,
    /// Whether applying would do something.
    pub applyable: bool,
}

/// A plan, as far as one could be made, and everything that there is to say about it.
#[derive(Debug, Default)]
pub struct PlanOutcome {
    /// The plan; none when not even a partial one could be made.
    pub planned: Option<Planned>,
    /// Ordered by place.
    pub diagnostics: Vec<Diagnostic>,
}

impl PlanOutcome {
    /// Whether the plan cannot be applied.
    pub fn has_errors(&self) -> bool {
        has_errors(&self.diagnostics)
    }
}
