//! The inputs of planning.

use std::sync::Arc;

use weft_evaluator::Environment;
use weft_evaluator::config::CompiledModule;
use weft_evaluator::given_variables::GivenVariables;
use weft_evaluator::selection::Selection;
use weft_graph_format::address::ResourceInstance;
use weft_state::Snapshot;

use crate::progress::ProgressSender;
use crate::providers::ProviderSet;

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
    /// Reads and imports only the objects named by `import` blocks. All others stay as they are in the state.
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
    pub progress: ProgressSender,
}
