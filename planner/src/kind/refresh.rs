//! Plans that only read real objects and update the state.

use async_trait::async_trait;
use weft_evaluator::glue::{DesiredInstance, ExpansionKind, Managed, OpenCheck};
use weft_evaluator::purpose::Planning;
use weft_graph_format::address::{AbsResource, ProviderInstance, ResourceInstance, ResourceMode};
use weft_graph_format::graph::{PriorObject, StateRecord};
use weft_graph_format::schema::Schema;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use super::{Gap, KindOfPlan, open, unseen};
use crate::facts::Facts;
use crate::inputs::PlanKind;
use crate::instance::leaving::Unwanted;
use crate::planner::Planner;
use crate::prior::{Prior, with_schema_marks, without_provenance};
use crate::problems::Problems;

/// The refresh-only kind.
pub(crate) struct RefreshOnly {
    /// Whether this is the import kind, which imports the objects of `import` blocks, and keeps all other objects as
    /// they are in the state.
    pub(crate) importing: bool,
}

#[async_trait]
impl KindOfPlan for RefreshOnly {
    fn planning(&self) -> Planning {
        if self.importing { Planning::Import } else { Planning::RefreshOnly }
    }

    async fn plan_managed(&self, planner: &Planner, desired: DesiredInstance) -> Result<Managed, Problems> {
        if desired.import.is_none() && planner.facts.holds_nothing(&desired.address) {
            Box::pin(planner.plan_deposed(&desired, None)).await?;
            return Ok(unseen(Value::unknown(desired.schema.block.implied_type())));
        }
        Box::pin(refresh(planner, desired)).await.map(unseen)
    }

    fn is_absent(&self, planner: &Planner, address: &ResourceInstance) -> bool {
        match address.resource.mode {
            ResourceMode::Managed => planner.is_missing(address),
            ResourceMode::Data => planner.is_gone(address),
            ResourceMode::Ephemeral => false,
        }
    }

    fn gap(&self, facts: &Facts, resource: &AbsResource, schema: &Schema, kind: ExpansionKind) -> Gap {
        match kind {
            _ if self.importing => Gap::Nothing,
            // As in OpenTofu, the type stays unknown too if apply does not evaluate the resource.
            ExpansionKind::Single if !facts.refreshed.contains(&resource.config()) => {
                Gap::Unknown(Value::unknown(Type::Dynamic))
            }
            _ => Gap::Unknown(Value::unknown(schema.block.implied_type())),
        }
    }

    /// Returns `false` for unknown conditions: without creates, they stay unknown.
    fn opens_check(&self, check: &OpenCheck) -> bool {
        check.condition.is_known()
    }

    /// The known condition and its message. Apply creates no objects, so it cannot compute an unknown part of the
    /// message. Such a message is replaced by an empty one. `None` if a value is ephemeral, because a plan must not
    /// contain it.
    fn settled_check(&self, check: &OpenCheck) -> Option<(Value, Value)> {
        if check.condition.deep().ephemeral || check.message.deep().ephemeral {
            return None;
        }
        let message = match check.message.is_wholly_known() {
            true => without_provenance(&check.message),
            false => Value::string(""),
        };
        Some((without_provenance(&check.condition), message))
    }

    async fn plan_orphan(&self, planner: &Planner, of: Unwanted<'_>) -> Result<(), Problems> {
        match of.deposed {
            None => note_refreshed(planner, of.address, of.instance, of.prior, &of.prior.record),
            Some(_) if of.prior.value.is_null() => planner.note_vanished(of),
            Some(_) => {}
        }
        Ok(())
    }

    /// Unknown values are stored as null: without creates, they stay unknown.
    fn settled_output(&self, _: &Value, planned: &Value) -> Option<Value> {
        Some(planned.unknown_as_null())
    }
}

/// Reads an instance, and its deposed objects. Readers see its value. The value of a missing instance is unknown.
async fn refresh(planner: &Planner, desired: DesiredInstance) -> Result<Value, Problems> {
    let unknown = || Value::unknown(desired.schema.block.implied_type());
    let in_use = open(planner, &desired).await?;
    let Some(prior) = planner.prior_of(&desired, &in_use.provider).await? else { return Ok(unknown()) };
    // The permit for calls is released, because the reads of deposed objects need it.
    drop(in_use);
    planner.plan_deposed(&desired, Some(&prior)).await?;
    note_read(planner, &desired, &prior);
    Ok(if prior.value.is_null() { unknown() } else { with_schema_marks(&prior.value, &desired.schema) })
}

/// Records the update of the state for an instance that was read. If the instance was in the state before, its record
/// gets the options of the block, and after a refresh also the dependencies of the block, in addition to its own. The
/// record of an imported object does not change yet.
pub(super) fn note_read(planner: &Planner, desired: &DesiredInstance, prior: &Prior) {
    let address = &desired.address;
    let record = match planner.facts.state.current(address) {
        Some(_) => described(planner, desired, prior),
        None => prior.record.clone(),
    };
    note_refreshed(planner, address, &desired.provider, prior, &record);
    if let Some(found) = planner.found().refreshed.get_mut(address) {
        found.record = record;
    }
}

/// The record of a stored object that was read, with the options of its block, and after a refresh also with the
/// dependencies of the block.
pub(super) fn described(planner: &Planner, desired: &DesiredInstance, prior: &Prior) -> StateRecord {
    let mut record = StateRecord {
        create_before_destroy: desired.create_first || desired.block.create_first,
        skip_destroy: desired.block.destroy == Some(false),
        ..prior.record.clone()
    };
    if planner.ask.refresh {
        record.dependencies.extend(desired.dependencies.iter().cloned());
        record.dependencies.sort();
        record.dependencies.dedup();
    }
    record
}

/// Records the update of the state for an object that was read. `record` is the new record of the object. An import
/// keeps the objects of the state as they are.
fn note_refreshed(
    planner: &Planner,
    address: &ResourceInstance,
    provider: &ProviderInstance,
    prior: &Prior,
    record: &StateRecord,
) {
    planner.agenda().claims.add(address, false);
    let is_kept = prior.is_stored_as(record) && planner.facts.previous(address).is_none();
    if is_kept || planner.facts.options.kind == PlanKind::Import {
        return;
    }
    let object = (!prior.value.is_null()).then(|| {
        let object = planner.facts.object(address, prior);
        PriorObject { record: record.clone(), ..object }
    });
    planner.note_record(address, object, provider);
}
