//! What is known about a run before it begins.

use std::collections::{BTreeMap, BTreeSet};

use weft_coordinator::placement::labels_text;
use weft_graph_format::address::{ObjectName, ResourceInstance};
use weft_graph_format::changes::ChangeAction;
use weft_graph_format::graph::{Action, ExecutionGraph, Operation, ProvisionWhen, Shard};
use weft_graph_format::plan_file::PlanFile;
use weft_graph_format::source::SourceRange;
use weft_protocol::ShownName;

use super::shown_event::ShownEvent;

/// A provisioner of the plan.
#[derive(Clone, Debug)]
pub struct Provisioner {
    pub(super) address: ResourceInstance,
    pub(super) kind: String,
    pub(super) when: ProvisionWhen,
}

/// The provisioners of a plan by their operations.
fn provisioners(graph: &ExecutionGraph) -> BTreeMap<u32, Provisioner> {
    let rows = graph.fragments.iter().flat_map(|fragment| &fragment.rows);
    rows.filter_map(|row| match &row.operation {
        Operation::Provision { address, provisioner, when, .. } => {
            let found = Provisioner { address: address.clone(), kind: provisioner.to_string(), when: *when };
            Some((row.id.0, found))
        }
        _ => None,
    })
    .collect()
}

/// Facts that events do not contain, from the plan and the prior state.
#[derive(Default)]
pub struct Foreknown {
    /// The ids of objects before the run, for updates and deletes. Keys are addresses, or names of deposed objects.
    pub ids: BTreeMap<String, Option<ShownName>>,
    /// The positions of resource blocks, by address without keys.
    pub places: BTreeMap<String, SourceRange>,
    /// Instances whose planned updates only change sensitivity. Such updates call no provider, but they are reported.
    pub relabelled: BTreeSet<String>,
    /// The provisioners that will run.
    pub provisioners: BTreeMap<u32, Provisioner>,
    /// The labels that placement rules require of workers, as text, by provider instance.
    pub labels: BTreeMap<String, String>,
}

impl Foreknown {
    /// The id of an object before the run. For an object that this run deposes, `ids` contains the id under the address
    /// of its instance.
    pub(super) fn id_before(&self, happening: &ShownEvent) -> Option<ShownName> {
        let known = self.ids.get(&happening.subject()).or_else(|| self.ids.get(&happening.address));
        known.cloned().flatten()
    }

    /// The labels that a worker for a provider instance needs; empty if any worker will do.
    pub(super) fn wanted_by(&self, provider_instance: &str) -> &str {
        self.labels.get(provider_instance).map_or("", String::as_str)
    }

    /// The facts that a plan contains.
    pub fn of(plan: &PlanFile) -> Foreknown {
        Foreknown {
            ids: ids(plan),
            places: plan.manifest.places.clone(),
            relabelled: relabelled(plan),
            provisioners: provisioners(&plan.graph),
            labels: labels(plan),
        }
    }
}

/// The labels that placement rules require, by provider instance. The labels of home operations are not included,
/// because these operations have no provider instance.
fn labels(plan: &PlanFile) -> BTreeMap<String, String> {
    let demanded = plan.graph.fragments.iter().enumerate().filter_map(|(index, fragment)| {
        let Shard::Provider(instance) = &fragment.shard else { return None };
        let demands = plan.manifest.placement.shard(index).filter(|demands| !demands.labels.is_empty())?;
        Some((instance.to_string(), labels_text(&demands.labels)))
    });
    demanded.collect()
}

/// The ids that progress lines show for changed objects. The keys are the names of the objects.
fn ids(plan: &PlanFile) -> BTreeMap<String, Option<ShownName>> {
    let named = plan.changes.resources.iter().map(|change| {
        let object = ObjectName { address: &change.address, deposed: change.deposed.as_ref() };
        (object.to_string(), ShownName::of(&change.before))
    });
    named.collect()
}

/// The addresses of updates that only change sensitivity.
fn relabelled(plan: &PlanFile) -> BTreeSet<String> {
    let updates = plan.changes.resources.iter().filter(|change| change.action == ChangeAction::Only(Action::Update));
    let found = updates.filter(|change| change.before.same_unmarked(&change.after));
    found.map(|change| change.address.to_string()).collect()
}
