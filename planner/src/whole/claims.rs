//! What a plan rests on: the instances that it changes, and of the others those that something of it reads.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weft_evaluator::config::{Beginnings, CompiledModule, needed_resources};
use weft_graph_format::address::{ConfigResource, ResourceInstance};
use weft_graph_format::changes::Changes;
use weft_graph_format::graph::{Action, CheckKind, Claim, ExecutionGraph, Operation};
use weft_state::{Snapshot, Subject};

use crate::facts::Facts;

/// Instances that a plan rests on, and whether it changes them.
#[derive(Debug, Default)]
pub(crate) struct Claims(BTreeMap<ResourceInstance, bool>);

impl Claims {
    /// The plan rests on an instance; `exclusive` when it changes it.
    pub(crate) fn add(&mut self, address: &ResourceInstance, exclusive: bool) {
        match self.0.get_mut(address) {
            Some(known) => *known |= exclusive,
            None => drop(self.0.insert(address.clone(), exclusive)),
        }
    }

    /// The claims of the finished plan. An instance that the plan looked at and leaves alone is claimed only where
    /// something that the plan does refers to it: otherwise another run may change it meanwhile.
    pub(crate) fn settled(self, facts: &Facts, changes: &Changes, graph: &ExecutionGraph) -> Vec<Claim> {
        let original = &facts.original;
        let outputs = changes.outputs.iter().filter(|(_, change)| change.action != Action::NoOp);
        let outputs: BTreeSet<_> = outputs.map(|(name, _)| name.clone()).collect();
        let mut found: Vec<Claim> = Vec::new();
        if self.0.values().all(|exclusive| !exclusive) {
            // Nothing else shows that such a plan was carried out. Beside changes of instances outputs are no claims:
            // other plans may change other parts of them.
            found.extend(outputs.iter().map(|name| Claim {
                address: format!("output.{name}"),
                revision: original.revision(&Subject::Output(name.to_string())).0,
                exclusive: true,
            }));
        }
        let read = match self.0.values().all(|exclusive| *exclusive) {
            true => BTreeSet::new(),
            false => read_resources(&facts.root, &self.changed(), &outputs, facts, graph),
        };
        // Other instances of a resource that is read cannot be told apart by static references.
        let kept = self.0.into_iter().filter(|(address, exclusive)| *exclusive || read.contains(&address.config()));
        found.extend(kept.map(|(address, exclusive)| claim(original, &address, exclusive)));
        found.sort_by(|a, b| a.address.cmp(&b.address));
        found
    }

    /// The resources that the plan changes.
    fn changed(&self) -> BTreeSet<ConfigResource> {
        self.0.iter().filter(|(_, exclusive)| **exclusive).map(|(address, _)| address.config()).collect()
    }
}

fn claim(original: &Snapshot, address: &ResourceInstance, exclusive: bool) -> Claim {
    let address = address.to_string();
    let revision = original.revision(&Subject::Instance(address.clone())).0;
    Claim { address, revision, exclusive }
}

/// The resources that something of the plan reads.
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
        // What is deleted without a block still has a provider, and nothing says which part of it is read.
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
