//! The claims of a plan: the instances that it changes or reads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weft_evaluator::config::{Beginnings, CompiledModule, needed_resources};
use weft_graph_format::address::{ConfigResource, ResourceInstance};
use weft_graph_format::changes::Changes;
use weft_graph_format::graph::{Action, CheckKind, Claim, ClaimedSubject, ExecutionGraph, Operation};
use weft_state::{Snapshot, Subject};

use crate::facts::Facts;

/// Instances that a plan depends on, and whether it changes them.
#[derive(Debug, Default)]
pub(crate) struct Claims(BTreeMap<ResourceInstance, bool>);

impl Claims {
    /// Adds an instance. `exclusive` says whether the plan changes the instance.
    pub(crate) fn add(&mut self, address: &ResourceInstance, exclusive: bool) {
        match self.0.get_mut(address) {
            Some(known) => *known |= exclusive,
            None => drop(self.0.insert(address.clone(), exclusive)),
        }
    }

    /// The claims of the finished plan. An unchanged instance is claimed only if a change refers to it. If no change
    /// refers to it, another run is allowed to change it at the same time.
    pub(crate) fn settled(self, facts: &Facts, changes: &Changes, graph: &ExecutionGraph) -> Vec<Claim> {
        let original = &facts.original;
        let outputs = changes.outputs.iter().filter(|(_, change)| change.action != Action::NoOp);
        let outputs: BTreeSet<_> = outputs.map(|(name, _)| name.clone()).collect();
        let mut found: Vec<Claim> = Vec::new();
        if self.0.values().all(|exclusive| !exclusive) {
            // If a plan changes only outputs, the outputs are the only sign that the plan was applied, so they are
            // claimed. If the plan also changes instances, the outputs are not claimed, because other plans may change
            // other parts of the same outputs.
            found.extend(outputs.iter().map(|name| Claim {
                subject: ClaimedSubject::Output(name.clone()),
                revision: original.revision(&Subject::Output(name.to_string())).0,
                exclusive: true,
            }));
        }
        let read = match self.0.values().all(|exclusive| *exclusive) {
            true => BTreeSet::new(),
            false => read_resources(&facts.root, &self.changed(), &outputs, facts, graph),
        };
        // Static references do not distinguish the instances of a resource.
        let kept = self.0.into_iter().filter(|(address, exclusive)| *exclusive || read.contains(&address.config()));
        found.extend(kept.map(|(address, exclusive)| claim(original, address, exclusive)));
        found.sort_by_cached_key(|claim| claim.subject.to_string());
        found
    }

    /// The resources that the plan changes.
    fn changed(&self) -> BTreeSet<ConfigResource> {
        self.0.iter().filter(|(_, exclusive)| **exclusive).map(|(address, _)| address.config()).collect()
    }
}

fn claim(original: &Snapshot, address: ResourceInstance, exclusive: bool) -> Claim {
    let revision = original.instance_revision(&address).0;
    Claim { subject: ClaimedSubject::Instance(address), revision, exclusive }
}

/// The resources that the plan's changes read.
fn read_resources(
    root: &Arc<CompiledModule>,
    changed: &BTreeSet<ConfigResource>,
    outputs: &BTreeSet<smol_str::SmolStr>,
    facts: &Facts,
    graph: &ExecutionGraph,
) -> BTreeSet<ConfigResource> {
    let mut operations = graph.fragments.iter().flat_map(|fragment| &fragment.rows).map(|row| &row.operation);
    let is_assertion =
        |operation: &Operation<_>| matches!(operation, Operation::Check { kind: CheckKind::Assertion, .. });
    let beginnings = Beginnings {
        outputs: outputs.clone(),
        checks: operations.any(is_assertion),
        // A deleted object whose resource has no block still needs its provider. Only the block would connect the
        // resource to a provider block, so the configurations of all providers are included.
        providers: changed.iter().any(|config| !facts.is_configured(config)),
        resources: changed.clone(),
    };
    needed_resources(root, &beginnings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_that_is_changed_once_is_claimed_as_changed() {
        let mut claims = Claims::default();
        let address: ResourceInstance = "a.b[0]".parse().unwrap();
        for (exclusive, want) in [(false, false), (true, true), (false, true)] {
            claims.add(&address, exclusive);
            assert_eq!(claims.0.get(&address), Some(&want));
        }
        assert_eq!(claims.changed(), BTreeSet::from([address.config()]));
    }
}
