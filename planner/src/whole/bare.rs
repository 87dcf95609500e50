//! Resources without instances in the state of an import.

use std::collections::BTreeSet;
use std::sync::Arc;

use weft_graph_format::bare::BareResource;
use weft_state::{Revision, Snapshot, StoredOutput};

use crate::evaluated::Evaluated;
use crate::facts::Facts;
use crate::inputs::PlanKind;

/// The state of the plan. A plan to import adds each evaluated resource that has no instances, as in OpenTofu. It also
/// removes each entry without instances whose resource now has desired instances.
pub(crate) fn with_bare(facts: &Facts, evaluated: &Evaluated, found: &BTreeSet<BareResource>) -> Arc<Snapshot> {
    let snapshot = facts.state.snapshot();
    if facts.options.kind != PlanKind::Import {
        return snapshot.clone();
    }
    let mut changed = Snapshot::clone(snapshot);
    let is_kept = |bare: BareResource| !evaluated.resources.contains_key(&bare.resource);
    changed.outputs.retain(|name, _| BareResource::of_name(name).is_none_or(is_kept));
    for bare in found {
        let stored = StoredOutput { record: BareResource::record(), revision: Revision::NEVER };
        changed.outputs.insert(bare.to_string(), stored);
    }
    Arc::new(changed)
}
