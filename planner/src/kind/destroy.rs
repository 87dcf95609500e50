//! Destroy plans: read all objects, then plan to delete them.

use async_trait::async_trait;
use smol_str::SmolStr;
use weft_evaluator::glue::{DesiredInstance, Managed, OpenCheck};
use weft_evaluator::purpose::Planning;
use weft_graph_format::changes::Reason;
use weft_graph_format::formula::Formula;
use weft_graph_format::origin::Origin;
use weft_graph_format::value::Value;
use weft_providers::Provider;

use super::refresh::{described, note_read};
use super::{KindOfPlan, open, unseen, warn_of_forgetting};
use crate::instance::decide::{Case, Pressure, decide};
use crate::instance::leaving::Unwanted;
use crate::planner::Planner;
use crate::prior::{Prior, with_schema_marks, without_provenance};
use crate::problems::Problems;
use crate::whole::protection::{protection, verdict};
use crate::whole::selecting::nothing;

/// The destroy kind.
pub(crate) struct Destroy;

#[async_trait]
impl KindOfPlan for Destroy {
    fn planning(&self) -> Planning {
        Planning::Destroy
    }

    async fn plan_managed(&self, planner: &Planner, desired: DesiredInstance) -> Result<Managed, Problems> {
        if !planner.facts.is_selected_to_go(&desired.address) {
            let facts = &planner.facts;
            if facts.options.refresh && !facts.selection().leaves_out(&desired.address) {
                return Box::pin(look(planner, desired)).await.map(unseen);
            }
            let stored =
                planner.facts.stored_value(&desired.address, &desired.schema).map_err(|problem| vec![problem])?;
            return Ok(unseen(stored.unwrap_or_else(|| nothing(&desired.schema))));
        }
        Box::pin(destroy(planner, desired)).await.map(unseen)
    }

    fn opens_check(&self, _: &OpenCheck) -> bool {
        false
    }

    async fn plan_orphan(&self, planner: &Planner, of: Unwanted<'_>) -> Result<(), Problems> {
        if of.deposed.is_some() {
            warn_of_forgetting(planner, &of);
        } else {
            heed_normal_plan(planner, &of)?;
        }
        planner.plan_leaving(Unwanted { reason: Reason::None, ..of }).await.map(drop)
    }
}

/// An error if an unwanted object is protected. As in OpenTofu, a destroy that refreshes begins with the normal plan,
/// which would delete the object, too.
fn heed_normal_plan(planner: &Planner, of: &Unwanted<'_>) -> Result<(), Problems> {
    let facts = &planner.facts;
    // A configured resource that evaluation does not reach depends on an excluded object, so the normal plan does not
    // reach it either.
    let is_reached = || {
        let evaluated = planner.evaluated();
        !facts.is_configured(&of.address.config())
            || evaluated.resources.contains_key(&of.address.all())
            || evaluated.has_module(&of.address.module) == Some(false)
    };
    if !facts.begins_with_found()
        || !is_reached()
        || of.prior.value.is_null()
        || planner.left_alone(of.address, None, Some(of.prior)).is_some()
    {
        return Ok(());
    }
    let protection = protection(&planner.evaluated(), facts, of.address);
    verdict(protection.as_ref(), of.address, "destroyed").allowed()
}

/// Reads an instance that the destroyed objects need, and that stays or does not exist. As in OpenTofu, if the normal
/// plan would change the instance, readers see its planned value, and data sources wait as if the change were made. But
/// the destroy plan does not change the instance.
async fn look(planner: &Planner, desired: DesiredInstance) -> Result<Value, Problems> {
    let in_use = open(planner, &desired).await?;
    let prior = planner.prior_of(&desired, &in_use.provider).await?;
    let planned = usual_plan(planner, &desired, prior.as_ref(), &in_use.provider).await?;
    if planned.is_some() {
        planner.agenda().effects.takes_part(desired.address.all());
    }
    let planned = planned.filter(|_| planner.facts.options.refresh);
    let Some(prior) = prior else { return Ok(created(&desired, planned)) };
    note_read(planner, &desired, &prior);
    if prior.value.is_null() {
        return Ok(created(&desired, planned));
    }
    Ok(with_schema_marks(&changed(planner, &desired, &prior, planned), &desired.schema))
}

/// What readers see of an object that does not exist: the value that the normal plan would create.
fn created(desired: &DesiredInstance, planned: Option<Value>) -> Value {
    match planned {
        Some(planned) => never_there(&with_schema_marks(&planned, &desired.schema)),
        None => never_there(&Value::unknown(desired.schema.block.implied_type())),
    }
}

/// What readers see of an existing object: the value to which the normal plan would change it.
fn changed(planner: &Planner, desired: &DesiredInstance, prior: &Prior, planned: Option<Value>) -> Value {
    let Some(planned) = planned else { return prior.value.clone() };
    let configures = planner.facts.configuring.contains(&desired.address.config());
    as_planned(&prior.value, &planned, configures)
}

/// Deletes a desired instance. Readers see its prior value.
async fn destroy(planner: &Planner, desired: DesiredInstance) -> Result<Value, Problems> {
    let in_use = open(planner, &desired).await?;
    let mut prior = planner.prior_of(&desired, &in_use.provider).await?;
    if planner.ask.refresh
        && !planner.facts.holds_nothing(&desired.address)
        && let Some(prior) = &mut prior
    {
        describe(planner, &desired, prior);
    }
    let planned = match planner.facts.options.refresh {
        true => usual_plan(planner, &desired, prior.as_ref(), &in_use.provider).await?,
        false => None,
    };
    // The permit for calls is released, because the reads of deposed objects need it.
    drop(in_use);
    planner.plan_deposed(&desired, prior.as_ref()).await?;
    if prior.as_ref().is_none_or(|prior| prior.tainted || prior.value.is_null()) {
        // The normal plan would create or replace the object, so its readers wait as if that change were made.
        planner.agenda().effects.takes_part(desired.address.all());
    }
    let Some(prior) = prior else { return Ok(created(&desired, planned)) };
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
        // The object was deleted outside of Weft.
        return Ok(created(&desired, planned));
    }
    if planned.is_some() {
        // Readers wait as if the change of the normal plan were made.
        planner.agenda().effects.takes_part(desired.address.all());
    }
    let seen = with_schema_marks(&changed(planner, &desired, &prior, planned), &desired.schema);
    Ok(match operation {
        Some(operation) => seen.add_origin(Some(&Origin::before_delete(operation))),
        None => seen,
    })
}

/// Describes a stored object as its block does: a destroy that refreshes begins with the objects that a refresh stores.
fn describe(planner: &Planner, desired: &DesiredInstance, prior: &mut Prior) {
    prior.record = described(planner, desired, prior);
    if let Some(found) = planner.found().refreshed.get_mut(&desired.address) {
        found.record = prior.record.clone();
    }
}

/// The planned value of an instance in the normal plan, or `None` if that plan does not change the instance. As in
/// OpenTofu, a destroy that refreshes begins with the normal plan, and fails if the normal plan fails.
async fn usual_plan(
    planner: &Planner,
    desired: &DesiredInstance,
    prior: Option<&Prior>,
    provider: &Provider,
) -> Result<Option<Value>, Problems> {
    let accepted = planner.ask.accepted(desired, provider).await?;
    let case = Case { desired, prior, accepted: &accepted };
    let mut proposal = planner.ask.propose(provider, desired, case.proposal_input()).await?;
    let pressure = Pressure { tainted: case.is_tainted(), ..Pressure::default() };
    let left_alone = planner.left_alone(&desired.address, None, prior).is_some();
    let decision = decide(case, &proposal, pressure, left_alone);
    if decision.action.is_replace() {
        let protection = protection(&planner.evaluated(), &planner.facts, &desired.address);
        verdict(protection.as_ref(), &desired.address, "replaced").allowed()?;
    }
    if decision.asks_again {
        proposal = planner.ask.propose(provider, desired, case.create_input()).await?;
    }
    Ok((!decision.action.is_no_op()).then(|| without_provenance(&proposal.planned)))
}

/// The value of an object that does not exist, and that a destroy does not create. The object will not exist at apply,
/// so a provider that is configured from it gets unknown values.
fn never_there(value: &Value) -> Value {
    let open = |part: &Value| part.with_formula(Some(Formula::constant(Value::unknown(part.ty()))));
    match value.as_fields() {
        Some(fields) => Value::object(fields.iter().map(|(name, part)| (name.clone(), open(part)))),
        None => open(value),
    }
}

/// The object as the normal plan would change it. At apply, the parts that are unknown in the plan have the values of
/// the existing object. If configurations of providers depend on the object (`configures`), so do the known parts: the
/// providers need these values to find the objects that they delete.
fn as_planned(prior: &Value, planned: &Value, configures: bool) -> Value {
    let (Some(was), Some(is)) = (prior.as_fields(), planned.as_fields()) else { return prior.clone() };
    let part = |(name, was): (&SmolStr, &Value)| {
        let open = || Value::unknown(was.ty()).with_formula(Some(Formula::constant(was.clone())));
        let seen = match is.get(name) {
            Some(is) if !is.is_wholly_known() => open(),
            Some(is) if configures => is.with_formula(Some(Formula::constant(was.clone()))),
            Some(is) => is.clone(),
            None => was.clone(),
        };
        (name.clone(), seen)
    };
    Value::object(was.iter().map(part))
}
