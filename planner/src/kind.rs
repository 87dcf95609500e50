//! The kinds of plans: what each does otherwise than the others.

mod destroy;
mod refresh;

use async_trait::async_trait;
use weft_evaluator::glue::{Brief, DesiredInstance, ExpansionKind, Managed, OpenCheck, Purpose};
use weft_graph_format::address::ResourceInstance;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::schema::Schema;
use weft_graph_format::value::Value;

use crate::facts::Facts;
use crate::inputs::PlanKind;
use crate::instance::Problems;
use crate::instance::leaving::Unwanted;
use crate::planner::Planner;
use crate::told::Told;
use crate::whole::orphans;
use crate::whole::outputs::{Outputs, RootOutputs};

/// What stands in the place of an instance that is not there where others of its resource are.
pub(crate) enum Gap {
    /// A value of which nothing will be known.
    Unknown(Value),
    /// Nothing.
    Nothing,
}

/// What depends on the kind of a plan. What is written here is the normal one's.
#[async_trait]
pub(crate) trait Kind: Send + Sync {
    /// What evaluation is to do; selection and wanted providers are for all kinds the same.
    fn brief(&self) -> Brief {
        Brief::new(Purpose::Plan)
    }

    /// Why options that only normal plans have cannot be used; `None` where they can.
    fn refuses_replacements(&self) -> Option<Diagnostic> {
        None
    }

    /// The configuration is validated first.
    fn validates(&self) -> bool {
        true
    }

    /// Without objects and outputs in state there is nothing to do, whatever the configuration says.
    fn needs_state(&self) -> bool {
        false
    }

    /// Plans a desired managed instance.
    async fn plan_managed(&self, planner: &Planner, desired: DesiredInstance) -> Result<Managed, Problems> {
        let in_use = open(planner, &desired).await?;
        // What planning needs is put on the heap when there is a provider for it: thousands may wait for one, each with
        // little.
        Box::pin(planner.plan_managed(&desired, in_use)).await
    }

    /// An instance that the selection leaves out stays.
    fn keeps_left_out(&self, _: &Facts, _: &ResourceInstance) -> bool {
        true
    }

    /// Nothing stands for an instance that is not there: the rest of its resource is all that there is.
    fn is_absent(&self, _: &Planner, _: &ResourceInstance) -> bool {
        false
    }

    /// What stands for an instance that is not there.
    fn gap(&self, _: &Schema, _: ExpansionKind) -> Gap {
        Gap::Nothing
    }

    /// Parts of named values whose computing can fail become operations of their own.
    fn computes_named_values(&self) -> bool {
        true
    }

    /// Apply looks at a condition that is not known.
    fn opens_check(&self, _: &OpenCheck) -> bool {
        true
    }

    /// Apply may read data sources.
    fn reads_at_apply(&self) -> bool {
        true
    }

    /// Data sources are taken out of state.
    fn forgets_data(&self) -> bool {
        false
    }

    /// A data source or an ephemeral object waits for what its block names.
    fn waits_for_others(&self, planner: &Planner, desired: &DesiredInstance) -> bool {
        planner.is_pending(desired)
    }

    /// Instances that are not wanted any more change their resource while evaluation goes on.
    fn expects_surplus(&self) -> bool {
        true
    }

    /// Warnings of evaluation are reported.
    fn reports_warnings(&self) -> bool {
        true
    }

    /// Objects that are not wanted are planned although evaluation failed.
    fn plans_orphans_after_failure(&self) -> bool {
        true
    }

    /// Objects that are not wanted are planned at all.
    fn plans_orphans(&self) -> bool {
        true
    }

    /// The plan is about an object of state that is not wanted.
    fn takes_orphan(&self, facts: &Facts, told: &Told, address: &ResourceInstance) -> bool {
        orphans::is_selected(facts, told, address)
    }

    /// Plans an object that is not wanted, which was read.
    async fn plan_orphan(&self, planner: &Planner, of: Unwanted<'_>) -> Result<(), Problems> {
        let current = of.deposed.is_none() && !of.prior.value.is_null();
        if current && planner.left_alone(of.address, Some(of.prior)).is_some() {
            let address = of.address;
            planner.report.remark(Diagnostic::warning(
                "Resource will be removed from the state",
                format!("{address} is taken out of state and stays in the world: nobody looks after it any more."),
            ));
        }
        planner.plan_leaving(of).await.map(drop)
    }

    /// Objects are read, and destroyed as they were found.
    fn reads_then_destroys(&self, _refresh: bool) -> bool {
        false
    }

    /// The address that the plan says an object had before.
    fn shown_previous(&self, facts: &Facts, address: &ResourceInstance) -> Option<ResourceInstance> {
        facts.previous(address).cloned()
    }

    /// Objects that are other than state has them are shown.
    fn shows_drift(&self) -> bool {
        true
    }

    /// With errors there is no plan at all, not even to be shown.
    fn needs_success(&self) -> bool {
        false
    }

    /// Outputs are as evaluation gives them; otherwise all of them go.
    fn keeps_outputs(&self) -> bool {
        true
    }

    /// The outputs of the plan.
    fn outputs(&self, evaluated: RootOutputs, _refresh: bool) -> Outputs {
        Outputs { wanted: evaluated, last: RootOutputs::new() }
    }

    /// What state keeps of an output whose planned value is this, where that is known now.
    fn settled_output(&self, value: &Value, _planned: &Value) -> Option<Value> {
        Some(crate::instance::prior::without_provenance(value)).filter(Value::is_wholly_known)
    }

    /// Conditions are looked at again by apply, whatever the plan knows of them.
    fn looks_again(&self) -> bool {
        false
    }

    /// Applying says again what was said of conditions that were not known.
    fn repeats_open_checks(&self) -> bool {
        false
    }

    /// Attributes that the plan rests on are listed.
    fn rests_on_attributes(&self) -> bool {
        true
    }
}

/// Objects become what the configuration says.
pub(crate) struct Normal;

impl Kind for Normal {}

/// The rules of a kind.
pub(crate) fn rules(kind: PlanKind) -> Box<dyn Kind> {
    match kind {
        PlanKind::Normal => Box::new(Normal),
        PlanKind::Destroy => Box::new(destroy::Destroy),
        PlanKind::RefreshOnly => Box::new(refresh::RefreshOnly { importing: false }),
        PlanKind::Import => Box::new(refresh::RefreshOnly { importing: true }),
    }
}

/// The provider of an instance, where its module does not tell it what it does not take.
pub(crate) async fn open<'p>(
    planner: &'p Planner,
    desired: &DesiredInstance,
) -> Result<crate::providers::InUse<'p>, Problems> {
    planner.ask.metas.check(&desired.address.module, &desired.provider.source)?;
    planner.ask.open(&desired.provider).await
}

fn refuse_replacements() -> Option<Diagnostic> {
    let detail = "-replace=ADDRESS works in the normal planning mode only. Leave it out, or -destroy or -refresh-only.";
    Some(Diagnostic::error("Unsupported plan mode", detail))
}

fn unseen(value: Value) -> Managed {
    Managed { value, created: false }
}
