//! The kinds of plans, and how each kind plans an instance. `rules` has the properties of the kinds as plain data.

mod destroy;
mod orphan;
mod recall;
mod refresh;

use async_trait::async_trait;
use weft_evaluator::glue::{DesiredInstance, ExpansionKind, Managed, OpenCheck};
use weft_evaluator::purpose::Planning;
use weft_graph_format::address::{AbsResource, ResourceInstance};
use weft_graph_format::schema::Schema;
use weft_graph_format::value::Value;

use crate::facts::Facts;
use crate::inputs::PlanKind;
use crate::instance::leaving::Unwanted;
use crate::planner::Planner;
use crate::prior::without_provenance;
use crate::problems::{Problems, forgotten};
use crate::providers::InUse;

/// The placeholder for missing instances of a resource.
pub(crate) enum Gap {
    /// A value that stays unknown.
    Unknown(Value),
    /// No value.
    Nothing,
}

/// The behaviour of a kind of plan. The default methods are the behaviour of the normal kind.
#[async_trait]
pub(crate) trait KindOfPlan: Send + Sync {
    /// The kind for evaluation.
    fn planning(&self) -> Planning {
        Planning::Normal
    }

    /// Plans a desired managed instance.
    async fn plan_managed(&self, planner: &Planner, desired: DesiredInstance) -> Result<Managed, Problems> {
        let in_use = open(planner, &desired).await?;
        // Thousands of calls of this method may wait for a provider, so the future of each call must be small. The
        // large future of the planning is made only when a provider is available, and it is boxed.
        Box::pin(planner.plan_managed(&desired, in_use)).await
    }

    /// Whether the value of a resource leaves out an instance, because the plan creates nothing and the instance has no
    /// object.
    fn is_absent(&self, _: &Planner, _: &ResourceInstance) -> bool {
        false
    }

    /// The placeholder for a missing instance.
    fn gap(&self, _: &Facts, _: &AbsResource, _: &Schema, _: ExpansionKind) -> Gap {
        Gap::Nothing
    }

    /// Whether apply evaluates a condition that is unknown now.
    fn opens_check(&self, _: &OpenCheck) -> bool {
        true
    }

    /// The condition of a check and its message, if apply cannot compute more of them than the plan.
    fn settled_check(&self, _: &OpenCheck) -> Option<(Value, Value)> {
        None
    }

    /// Plans an unwanted object after it was read.
    async fn plan_orphan(&self, planner: &Planner, of: Unwanted<'_>) -> Result<(), Problems> {
        warn_of_forgetting(planner, &of);
        planner.plan_leaving(of).await.map(drop)
    }

    /// The value to store for an output, if the value is known now. `planned` is the planned value.
    fn settled_output(&self, value: &Value, _planned: &Value) -> Option<Value> {
        Some(without_provenance(value)).filter(Value::is_wholly_known)
    }
}

/// Warns if an existing object is removed from the state, but not deleted.
fn warn_of_forgetting(planner: &Planner, of: &Unwanted<'_>) {
    if !of.prior.value.is_null() && planner.left_alone(of.address, of.deposed, Some(of.prior)).is_some() {
        planner.report.remark(forgotten(of.address));
    }
}

/// The normal kind.
pub(crate) struct Normal;

impl KindOfPlan for Normal {}

/// The behaviour of a kind of plan.
pub(crate) fn of(kind: PlanKind) -> &'static dyn KindOfPlan {
    match kind {
        PlanKind::Normal => &Normal,
        PlanKind::Destroy => &destroy::Destroy,
        PlanKind::RefreshOnly => &refresh::RefreshOnly { importing: false },
        PlanKind::Import => &refresh::RefreshOnly { importing: true },
    }
}

impl Planner {
    /// The behaviour of the kind of this plan.
    pub(crate) fn kind(&self) -> &'static dyn KindOfPlan {
        of(self.facts.options.kind)
    }
}

/// The provider of an instance, after a check of its `provider_meta` block.
pub(crate) async fn open<'p>(planner: &'p Planner, desired: &DesiredInstance) -> Result<InUse<'p>, Problems> {
    planner.ask.metas.check(&desired.address.module, &desired.provider.source)?;
    planner.ask.open(&desired.provider).await
}

fn unseen(value: Value) -> Managed {
    Managed { value, created: false }
}
