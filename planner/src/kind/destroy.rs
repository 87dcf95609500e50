//! Plans to destroy: everything is read, then goes.

use async_trait::async_trait;
use weft_evaluator::glue::{Brief, DesiredInstance, Managed, OpenCheck, Purpose};
use weft_graph_format::address::ResourceInstance;
use weft_graph_format::changes::Reason;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::origin::Origin;
use weft_graph_format::value::Value;

use super::{Kind, open, refuse_replacements, unseen};
use crate::facts::Facts;
use crate::instance::Problems;
use crate::instance::leaving::Unwanted;
use crate::instance::prior::with_schema_marks;
use crate::planner::Planner;
use crate::told::Told;
use crate::whole::outputs::{Outputs, RootOutputs};
use crate::whole::selecting::nothing;

/// Objects are destroyed.
pub(crate) struct Destroy;

#[async_trait]
impl Kind for Destroy {
    fn brief(&self) -> Brief {
        Brief { imports: false, lenient: true, ..Brief::new(Purpose::Plan) }
    }

    fn refuses_replacements(&self) -> Option<Diagnostic> {
        refuse_replacements()
    }

    fn needs_state(&self) -> bool {
        true
    }

    async fn plan_managed(&self, planner: &Planner, desired: DesiredInstance) -> Result<Managed, Problems> {
        if !planner.facts.is_selected_to_go(&desired.address) {
            let stored = planner.facts.stored_value(&desired.address, &desired.schema);
            return Ok(unseen(stored.unwrap_or_else(|| nothing(&desired.schema))));
        }
        Box::pin(destroy(planner, desired)).await.map(unseen)
    }

    fn keeps_left_out(&self, facts: &Facts, address: &ResourceInstance) -> bool {
        !facts.is_selected_to_go(address)
    }

    /// Nothing but configurations of providers is computed when the plan is carried out.
    fn computes_named_values(&self) -> bool {
        false
    }

    fn opens_check(&self, _: &OpenCheck) -> bool {
        false
    }

    fn reads_at_apply(&self) -> bool {
        false
    }

    fn forgets_data(&self) -> bool {
        true
    }

    /// Everything is read before anything goes: only what would have to be made is waited for.
    fn waits_for_others(&self, planner: &Planner, desired: &DesiredInstance) -> bool {
        planner.agenda().effects.is_any_in_plan(&desired.direct)
    }

    fn expects_surplus(&self) -> bool {
        false
    }

    /// Evaluation only reads everything once more: what there is to say about the configuration was not asked for.
    fn reports_warnings(&self) -> bool {
        false
    }

    /// A plan to destroy begins with reading everything, and only then decides.
    fn plans_orphans_after_failure(&self) -> bool {
        false
    }

    fn takes_orphan(&self, facts: &Facts, _: &Told, address: &ResourceInstance) -> bool {
        facts.is_selected_to_go(address)
    }

    async fn plan_orphan(&self, planner: &Planner, of: Unwanted<'_>) -> Result<(), Problems> {
        planner.plan_leaving(Unwanted { reason: Reason::None, ..of }).await.map(drop)
    }

    fn reads_then_destroys(&self, refresh: bool) -> bool {
        refresh
    }

    /// Where everything is read first, the plan begins with the objects where they are by then.
    fn shown_previous(&self, facts: &Facts, address: &ResourceInstance) -> Option<ResourceInstance> {
        facts.previous(address).filter(|_| !facts.options.refresh).cloned()
    }

    fn shows_drift(&self) -> bool {
        false
    }

    fn needs_success(&self) -> bool {
        true
    }

    fn keeps_outputs(&self) -> bool {
        false
    }

    /// All outputs go; what they would be now is what they are destroyed from.
    fn outputs(&self, evaluated: RootOutputs, refresh: bool) -> Outputs {
        Outputs { wanted: RootOutputs::new(), last: if refresh { evaluated } else { RootOutputs::new() } }
    }
}

/// A desired instance is deleted, and others see what it was.
async fn destroy(planner: &Planner, desired: DesiredInstance) -> Result<Value, Problems> {
    let unknown = || Value::unknown(desired.schema.block.implied_type());
    let in_use = open(planner, &desired).await?;
    let prior = planner.prior_of(&desired, &in_use.provider).await?;
    // Reading what is left of earlier replacements takes a place among the calls of its own.
    drop(in_use);
    planner.plan_deposed(&desired, prior.as_ref()).await?;
    if prior.as_ref().is_none_or(|prior| prior.tainted || prior.value.is_null()) {
        // Were it not to go it would be made, and what reads of it would wait for that.
        planner.agenda().effects.takes_part(desired.address.all());
    }
    let Some(prior) = prior else { return Ok(unknown()) };
    let in_use = planner.ask.open(&desired.provider).await?;
    let operation = planner
        .plan_leaving(Unwanted {
            address: &desired.address,
            deposed: None,
            instance: &desired.provider,
            provider: &in_use.provider,
            schema: &desired.schema,
            prior: &prior,
            reason: Reason::None,
        })
        .await?;
    if prior.value.is_null() {
        // It was taken away by hand. Configurations of providers may still speak of it; nothing else is carried out.
        return Ok(unknown());
    }
    let seen = with_schema_marks(&prior.value, &desired.schema);
    Ok(match operation {
        Some(operation) => seen.add_origin(Some(&Origin::before_delete(operation))),
        None => seen,
    })
}
