//! What a plan rests on: the instances that it changes, and of the others those that something of it reads.

use std::collections::{BTreeMap, BTreeSet};

use weft_evaluator::config::{Beginnings, needed_resources};
use weft_graph_format::address::{ConfigResource, ResourceInstance};
use weft_graph_format::changes::Changes;
use weft_graph_format::graph::{Action, CheckKind, Claim, ExecutionGraph, Operation};

use super::Planning;

impl Planning {
    /// Notes that the plan rests on an instance.
    pub(crate) fn claim(&self, address: String, exclusive: bool) {
        let revision = self.original.revision(&weft_state::Subject::Instance(address.clone())).0;
        let mut claims = self.claims.lock();
        let claim = claims.entry(address.clone()).or_insert(Claim { address, revision, exclusive });
        claim.exclusive |= exclusive;
    }

    /// The claims of the finished plan. An instance that the plan looked at and leaves alone is claimed only where
    /// something that the plan does refers to it: otherwise another run may change it meanwhile.
    pub(crate) fn final_claims(&self, changes: &Changes, graph: &ExecutionGraph) -> Vec<Claim> {
        let mut all: BTreeMap<String, Claim> = std::mem::take(&mut *self.claims.lock());
        if all.values().all(|claim| !claim.exclusive) {
            // Nothing else shows that such a plan was carried out. Beside changes of instances outputs are no claims:
            // other plans may change other parts of them.
            let pending = changes.outputs.iter().filter(|(_, change)| change.action != Action::NoOp);
            all.extend(pending.map(|(name, _)| {
                let revision = self.original.revision(&weft_state::Subject::Output(name.to_string())).0;
                let address = format!("output.{name}");
                (address.clone(), Claim { address, revision, exclusive: true })
            }));
        }
        if all.values().all(|claim| claim.exclusive) {
            return all.into_values().collect();
        }
        let config = |claim: &Claim| claim.address.parse::<ResourceInstance>().ok().map(|address| address.config());
        let changed: BTreeSet<ConfigResource> =
            all.values().filter(|claim| claim.exclusive).filter_map(config).collect();
        let operations = || graph.fragments.iter().flat_map(|fragment| &fragment.rows).map(|row| &row.operation);
        let is_assertion =
            |operation: &Operation<_>| matches!(operation, Operation::Check { kind: CheckKind::Assertion, .. });
        let pending_outputs = changes.outputs.iter().filter(|(_, change)| change.action != Action::NoOp);
        let beginnings = Beginnings {
            outputs: pending_outputs.map(|(name, _)| name.clone()).collect(),
            checks: operations().any(is_assertion),
            // What is deleted without a block still has a provider, and nobody says which part of it is read.
            providers: changed.iter().any(|config| !self.blocks.contains_key(config)),
            resources: changed,
        };
        let read = needed_resources(&self.root, &beginnings);
        // Other instances of a resource that is read cannot be told apart by static references.
        let kept = |claim: &Claim| claim.exclusive || config(claim).is_none_or(|config| read.contains(&config));
        all.into_values().filter(kept).collect()
    }
}
