//! What planning works on, and what comes of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use smol_str::SmolStr;
use weft_evaluator::Environment;
use weft_evaluator::config::CompiledModule;
use weft_evaluator::glue::GivenVariables;
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
    /// Objects become what the configuration says.
    #[default]
    Normal,
    /// Objects are destroyed.
    Destroy,
    /// State takes over what the real objects are; nothing is changed.
    RefreshOnly,
    /// As for [`PlanKind::RefreshOnly`] with the objects that `import` blocks name; all others stay as state has them.
    Import,
}

/// What planning is to do.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// The kind of the plan.
    pub kind: PlanKind,
    /// Real objects are read first.
    pub refresh: bool,
    /// Which part of the configuration.
    pub selection: Selection,
    /// Instances to replace, whatever they are like.
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
    pub refreshed: BTreeMap<ResourceInstance, crate::instance::prior::Prior>,
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
