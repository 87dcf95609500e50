//! Decides which provider instances the state remembers after a plan.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashSet;
use weft_graph_format::address::{ProviderInstance, ProviderSource, ResourceInstance, ResourceMode};
use weft_graph_format::codec::{json, type_json};
use weft_graph_format::schema::ProviderSchema;
use weft_graph_format::value::Value;
use weft_state::Snapshot;

use crate::agenda::Agenda;
use crate::agenda::planned::{MemoryChange, PlannedStep};
use crate::evaluated::Evaluated;
use crate::facts::Facts;
use crate::gaps::Gaps;
use crate::memory::remembered;
use crate::prior::{with_schema_marks, without_provenance};
use crate::providers::Registered;

/// The changes of memories. Empty if the plan neither changes nor moves nor records an object, because a change of a
/// memory alone is no reason for an apply.
pub(crate) fn memory_changes(
    facts: &Facts,
    evaluated: &Evaluated,
    gaps: &mut Gaps,
    configured: &dyn Fn(&ProviderInstance) -> Option<Arc<Registered>>,
    schemas: &BTreeMap<ProviderSource, Arc<ProviderSchema>>,
    agenda: &Agenda,
) -> Vec<MemoryChange> {
    let idle = agenda.work.is_empty() && agenda.records.is_empty() && agenda.moves.is_empty();
    let snapshot = facts.state.snapshot();
    if idle || evaluated.bases.is_empty() && snapshot.provider_memories().next().is_none() {
        return Vec::new();
    }
    let users = users(facts, agenda);
    let mut changes = Vec::new();
    if facts.rules.makes_objects {
        let changed: BTreeSet<&ProviderInstance> = agenda.work.iter().map(|work| &work.provider).collect();
        for (instance, basis) in evaluated.bases.iter().filter(|(instance, _)| users.contains(*instance)) {
            let Some(registered) = configured(instance) else { continue };
            // Without a schema, it is unknown which arguments are secret.
            let Some(schema) = schemas.get(&instance.source) else { continue };
            let marked = with_schema_marks(&registered.config, &schema.provider);
            let by_schema = with_schema_marks(&registered.config.unmark_deep().0, &schema.provider);
            let by_schema = by_schema.as_fields().into_iter().flat_map(|fields| fields.iter());
            let by_schema = by_schema.filter(|(_, part)| part.contains_sensitive()).map(|(name, _)| name.clone());
            let value = remembered(instance, basis, &marked, &by_schema.collect());
            let value = gaps.nulled(&value);
            let settled = value.is_wholly_known() && !value.deep().formula;
            let stays = if settled { is_stored(snapshot, instance, &value) } else { !changed.contains(instance) };
            if !stays && value.excess().is_none() {
                changes.push(MemoryChange { instance: instance.clone(), value: Some(value) });
            }
        }
    }
    let stored = snapshot.provider_memories().filter_map(|(name, _)| name.parse::<ProviderInstance>().ok());
    let unused = stored.filter(|instance| !users.contains(instance));
    changes.extend(unused.map(|instance| MemoryChange { instance, value: None }));
    changes
}

/// The provider instances with managed objects after the plan. Also the provider instances whose last object moves to
/// another provider instance, or is a deposed object that the plan deletes. The next plan no longer counts provider
/// instances of these two kinds.
fn users(facts: &Facts, agenda: &Agenda) -> BTreeSet<ProviderInstance> {
    let leaves = |step: &PlannedStep| match step {
        PlannedStep::Delete(leaving) | PlannedStep::Forget(leaving) => leaving.deposed.is_none(),
        PlannedStep::Change(_) | PlannedStep::Read(_) => false,
    };
    let deleted = agenda.work.iter().filter(|work| leaves(&work.step)).map(|work| &work.address);
    let recorded = agenda.records.iter().filter(|record| record.object.is_none()).map(|record| &record.address);
    let gone: FxHashSet<&ResourceInstance> = deleted.chain(recorded).collect();
    let kept = facts.state.managed().filter(|(address, stored)| {
        // If an instance is deleted, the same plan deletes its deposed objects.
        let record = &stored.instance.record;
        !gone.contains(address) && (record.current.is_some() || !record.deposed.is_empty())
    });
    let mut found: BTreeSet<ProviderInstance> =
        kept.filter_map(|(_, stored)| stored.provider().ok().cloned()).collect();
    let managed = |address: &ResourceInstance| address.resource.mode == ResourceMode::Managed;
    let made = agenda.work.iter().filter(|work| managed(&work.address) && matches!(work.step, PlannedStep::Change(_)));
    found.extend(made.map(|work| work.provider.clone()));
    let noted = agenda.records.iter().filter(|record| managed(&record.address) && record.object.is_some());
    found.extend(noted.map(|record| record.provider.clone()));
    found
}

/// Whether the state has exactly this memory.
fn is_stored(snapshot: &Snapshot, instance: &ProviderInstance, value: &Value) -> bool {
    let Some(stored) = snapshot.outputs.get(&instance.to_string()) else { return false };
    let (value, _) = without_provenance(value).unmark_deep();
    let ty = value.ty();
    let same_type = type_json::encode(&ty) == stored.record.value_type.as_str();
    same_type && json::encode(&value, &ty).is_ok_and(|text| text == stored.record.value.as_str())
}
