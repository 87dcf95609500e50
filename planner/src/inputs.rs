//! The inputs of planning, and its outcome.

use std::collections::BTreeMap;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_evaluator::Environment;
use weft_evaluator::config::CompiledModule;
use weft_evaluator::given_variables::GivenVariables;
use weft_evaluator::selection::Selection;
use weft_graph_format::address::{ProviderInstance, ProviderSource, ResourceInstance};
use weft_graph_format::changes::Changes;
use weft_graph_format::diagnostic::{Diagnostic, has_errors};
use weft_graph_format::graph::{Claim, ExecutionGraph};
use weft_graph_format::plan_file::CheckResult;
use weft_graph_format::schema::ProviderSchema;
use weft_graph_format::value::Value;
use weft_state::Snapshot;

use crate::providers::ProviderSet;
use crate::watch::Watch;

/// The kind of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlanKind {
    /// Changes objects to match the configuration.
    #[default]
    Normal,
    /// Destroys objects.
    Destroy,
    /// Updates the state to match the real objects, and changes nothing else.
    RefreshOnly,
    /// Like [`PlanKind::RefreshOnly`], but only for objects named by `import` blocks. All others stay as they are in
    /// state.
    Import,
}

/// Options of a plan.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// The kind of the plan.
    pub kind: PlanKind,
    /// Whether real objects are read first.
    pub refresh: bool,
    /// The selected part of the configuration.
    pub selection: Selection,
    /// Instances to replace even without a difference. Set by `-replace`.
    pub replace: Vec<ResourceInstance>,
    /// The time of the plan, RFC 3339.
    pub timestamp: String,
}

/// All inputs of planning.
pub struct PlanInputs {
    /// The configuration.
    pub root: Arc<CompiledModule>,
    /// Paths and the workspace of the configuration.
    pub environment: Environment,
    /// The given values of root variables.
    pub given: GivenVariables,
    /// The state.
    pub snapshot: Arc<Snapshot>,
    /// The providers.
    pub providers: Arc<ProviderSet>,
    /// The options.
    pub options: PlanOptions,
    /// The receiver of progress reports.
    pub watch: Watch,
}

/// A plan.
#[derive(Debug)]
pub struct Planned {
    /// The changes for the reviewer.
    pub changes: Changes,
    /// The execution graph.
    pub graph: ExecutionGraph,
    /// Instances that the plan changes or reads, with their revisions.
    pub claims: Vec<Claim>,
    /// Schemas of the providers that the plan uses.
    pub schemas: BTreeMap<ProviderSource, Arc<ProviderSchema>>,
    /// Values of `provider_meta` blocks, by module and provider (`Manifest::meta_key`).
    pub provider_metas: BTreeMap<String, Value>,
    /// Values of the root variables, after conversion.
    pub variables: BTreeMap<SmolStr, Value>,
    /// Objects as they were read: value and record. `show` calls them the prior state.
    pub refreshed: BTreeMap<ResourceInstance, crate::instance::prior::Prior>,
    /// The state of the plan, with objects under their addresses after `moved` blocks.
    pub snapshot: Arc<Snapshot>,
    /// Data sources that were read, with their providers.
    pub read: BTreeMap<ResourceInstance, ProviderInstance>,
    /// Imported objects, with their providers.
    pub imported: BTreeMap<ResourceInstance, ProviderInstance>,
    /// Warnings that apply repeats.
    pub warnings: Vec<Diagnostic>,
    /// Results of conditions, ordered by object.
    pub checks: Vec<CheckResult>,
    /// The operations that must succeed before apply evaluates conditions, by the configured address of the checked
    /// object.
    pub check_needs: BTreeMap<String, Vec<String>>,
    /// Whether there is anything to apply.
    pub applyable: bool,
}

/// The outcome of planning: the plan, as far as it could be made, and all diagnostics.
#[derive(Debug, Default)]
pub struct PlanOutcome {
    /// The plan; `None` when not even a partial one could be made.
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
