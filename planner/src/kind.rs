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

/// What stands in the place of an instance that is not there where others of its resource are.
pub(crate) enum Gap {
    /// A value of which nothing will be known.
    Unknown(Value),
    /// Nothing.
    Nothing,
}

/// What a kind of plan does, where yes or no says it all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// The configuration is validated first.
    pub(crate) validates: bool,
    /// Options may name objects to replace.
    pub(crate) replaces: bool,
    /// Without objects and outputs in state there is nothing to do, whatever the configuration says.
    pub(crate) needs_state: bool,
    /// Apply makes objects, so that what is unknown becomes known: it computes named values and reads data sources.
    pub(crate) makes_objects: bool,
    /// Data sources and outputs are taken out of state.
    pub(crate) empties_state: bool,
    /// With errors there is no plan at all, not even to be shown.
    pub(crate) needs_success: bool,
    /// Warnings of evaluation are reported.
    pub(crate) reports_warnings: bool,
    /// Objects that are not wanted are planned.
    pub(crate) plans_orphans: bool,
    /// They are planned although evaluation failed.
    pub(crate) plans_orphans_after_failure: bool,
    /// Objects that are other than state has them are shown.
    pub(crate) shows_drift: bool,
    /// Conditions are looked at again by apply, whatever the plan knows of them, and what was said of those that are not
    /// known is said again.
    pub(crate) looks_again: bool,
    /// Attributes that the plan rests on are listed.
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

/// What depends on the kind of a plan. What is written here is the normal one's.
#[async_trait]
pub(crate) trait Kind: Send + Sync {
    /// What yes or no says.
    fn rules(&self) -> Rules {
        NORMAL
    }

    /// What evaluation is to do; selection and wanted providers are for all kinds the same.
    fn brief(&self) -> Brief {
        Brief::new(Purpose::Plan)
    }

    /// Plans a desired managed instance.
    async fn plan_managed(&self, planner: &Planner, desired: DesiredInstance) -> Result<Managed, Problems> {
        let in_use = open(planner, &desired).await?;
        // What planning needs is put on the heap when there is a provider for it: thousands may wait for one, each with
        // little.
        Box::pin(planner.plan_managed(&desired, in_use)).await
    }

    /// Whether an instance that the selection leaves out stays.
    fn keeps_left_out(&self, _: &Facts, _: &ResourceInstance) -> bool {
        true
    }

    /// Whether nothing stands for an instance that is not there: the rest of its resource is all that there is.
    fn is_absent(&self, _: &Planner, _: &ResourceInstance) -> bool {
        false
    }

    /// What stands for an instance that is not there.
    fn gap(&self, _: &Schema, _: ExpansionKind) -> Gap {
        Gap::Nothing
    }

    /// Whether apply looks at a condition that is not known.
    fn opens_check(&self, _: &OpenCheck) -> bool {
        true
    }

    /// Whether a data source or an ephemeral object waits for what its block names.
    fn waits_for_others(&self, planner: &Planner, desired: &DesiredInstance) -> bool {
        planner.is_pending(desired)
    }

    /// Whether the plan is about an object of state that is not wanted.
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
                format!("{address} is removed from the state and not destroyed. Weft no longer manages it."),
            ));
        }
        planner.plan_leaving(of).await.map(drop)
    }

    /// Whether objects are destroyed as they were found, where `refresh` reads them first: the plan begins with what
    /// reading found.
    fn begins_with_found(&self, _refresh: bool) -> bool {
        false
    }

    /// What state keeps of an output whose planned value is this, where that is known now.
    fn settled_output(&self, value: &Value, _planned: &Value) -> Option<Value> {
        Some(crate::instance::prior::without_provenance(value)).filter(Value::is_wholly_known)
    }
}

/// Objects become what the configuration says.
pub(crate) struct Normal;

impl Kind for Normal {}

/// What a kind of plan does.
pub(crate) fn of(kind: PlanKind) -> Box<dyn Kind> {
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

fn unseen(value: Value) -> Managed {
    Managed { value, created: false }
}
