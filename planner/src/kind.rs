//! The kinds of plans, and how they differ.

mod destroy;
mod refresh;

use async_trait::async_trait;
use weft_evaluator::glue::{DesiredInstance, ExpansionKind, Managed, OpenCheck};
use weft_evaluator::purpose::Planning;
use weft_graph_format::address::ResourceInstance;
use weft_graph_format::schema::Schema;
use weft_graph_format::value::Value;

use crate::evaluated::Evaluated;
use crate::facts::Facts;
use crate::inputs::PlanKind;
use crate::instance::Problems;
use crate::instance::leaving::Unwanted;
use crate::planner::Planner;
use crate::problems::forgotten;
use crate::whole::orphans;

/// The placeholder for missing instances of a resource.
pub(crate) enum Gap {
    /// A value that stays unknown.
    Unknown(Value),
    /// No value.
    Nothing,
}

/// The properties of a kind of plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Validates the configuration first.
    pub(crate) validates: bool,
    /// Accepts `-replace`.
    pub(crate) replaces: bool,
    /// Has nothing to do if state has no objects and no outputs.
    pub(crate) needs_state: bool,
    /// Apply creates objects, so unknown values become known: it computes named values and reads data sources.
    pub(crate) makes_objects: bool,
    /// Removes data sources and outputs from state.
    pub(crate) empties_state: bool,
    /// Makes no plan after errors, not even one to show.
    pub(crate) needs_success: bool,
    /// Warnings of evaluation are reported.
    pub(crate) reports_warnings: bool,
    /// Plans unwanted objects.
    pub(crate) plans_orphans: bool,
    /// Plans unwanted objects even after evaluation failed.
    pub(crate) plans_orphans_after_failure: bool,
    /// Shows drift.
    pub(crate) shows_drift: bool,
    /// Apply evaluates conditions again even if their results are known, and repeats the messages of unknown ones.
    pub(crate) looks_again: bool,
    /// Lists the attributes that the plan depends on.
    pub(crate) rests_on_attributes: bool,
}

/// The rules of the normal plan.
const NORMAL: Rules = Rules {
    validates: true,
    replaces: true,
    needs_state: false,
    makes_objects: true,
    empties_state: false,
    needs_success: false,
    reports_warnings: true,
    plans_orphans: true,
    plans_orphans_after_failure: true,
    shows_drift: true,
    looks_again: false,
    rests_on_attributes: true,
};

/// The behaviour of a kind of plan. The defaults are those of the normal plan.
#[async_trait]
pub(crate) trait Kind: Send + Sync {
    /// The properties of this kind.
    fn rules(&self) -> Rules {
        NORMAL
    }

    /// The kind for evaluation.
    fn planning(&self) -> Planning {
        Planning::Normal
    }

    /// Plans a desired managed instance.
    async fn plan_managed(&self, planner: &Planner, desired: DesiredInstance) -> Result<Managed, Problems> {
        let in_use = open(planner, &desired).await?;
        // The future is boxed once a provider is available: thousands of them may wait for one, so each must be small.
        Box::pin(planner.plan_managed(&desired, in_use)).await
    }

    /// Whether an instance outside the selection keeps its object.
    fn keeps_left_out(&self, _: &Facts, _: &ResourceInstance) -> bool {
        true
    }

    /// Whether missing instances have no placeholder. Then a resource consists of its other instances.
    fn is_absent(&self, _: &Planner, _: &ResourceInstance) -> bool {
        false
    }

    /// The placeholder for a missing instance.
    fn gap(&self, _: &Schema, _: ExpansionKind) -> Gap {
        Gap::Nothing
    }

    /// Whether apply evaluates a condition that is unknown now.
    fn opens_check(&self, _: &OpenCheck) -> bool {
        true
    }

    /// Whether a data source or an ephemeral object waits for the resources that its block names.
    fn waits_for_others(&self, planner: &Planner, desired: &DesiredInstance) -> bool {
        planner.is_pending(desired)
    }

    /// Whether the plan covers an unwanted object.
    fn takes_orphan(&self, facts: &Facts, evaluated: &Evaluated, address: &ResourceInstance) -> bool {
        orphans::is_selected(facts, evaluated, address)
    }

    /// Plans an unwanted object after it was read.
    async fn plan_orphan(&self, planner: &Planner, of: Unwanted<'_>) -> Result<(), Problems> {
        let current = of.deposed.is_none() && !of.prior.value.is_null();
        if current && planner.left_alone(of.address, Some(of.prior)).is_some() {
            let address = of.address;
            planner.report.remark(forgotten(address));
        }
        planner.plan_leaving(of).await.map(drop)
    }

    /// Whether objects are destroyed as they were read. With `refresh` the plan then starts from what was read.
    fn begins_with_found(&self, _refresh: bool) -> bool {
        false
    }

    /// The stored value of an output with this planned value, if it is known now.
    fn settled_output(&self, value: &Value, _planned: &Value) -> Option<Value> {
        Some(crate::instance::prior::without_provenance(value)).filter(Value::is_wholly_known)
    }
}

/// The normal kind.
pub(crate) struct Normal;

impl Kind for Normal {}

/// The behaviour of a kind of plan.
pub(crate) fn of(kind: PlanKind) -> Box<dyn Kind> {
    match kind {
        PlanKind::Normal => Box::new(Normal),
        PlanKind::Destroy => Box::new(destroy::Destroy),
        PlanKind::RefreshOnly => Box::new(refresh::RefreshOnly { importing: false }),
        PlanKind::Import => Box::new(refresh::RefreshOnly { importing: true }),
    }
}

/// The provider of an instance, after a check of its `provider_meta` block.
pub(crate) async fn open<'p>(
    planner: &'p Planner,
    desired: &DesiredInstance,
) -> Result<crate::providers::InUse<'p>, Problems> {
    planner.ask.metas.check(&desired.address.module, &desired.provider.source)?;
    planner.ask.open(&desired.provider).await
}

fn unseen(value: Value) -> Managed {
    Managed { value, created: false }
}
