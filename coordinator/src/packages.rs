//! The part of a plan that a worker receives when it opens a shard.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_protocol::{Export, Order, ShardPackage};

use crate::plan::RunPlan;
use crate::table::ShardIndex;

/// The parts of a plan, by shard.
#[derive(Debug)]
pub(crate) struct Packages {
    plan: RunPlan,
    /// For each shard, the parts of its results that other shards read.
    exports: BTreeMap<ShardIndex, Vec<Export>>,
}

impl Packages {
    pub(crate) fn new(plan: RunPlan) -> Packages {
        let mut exports: BTreeMap<ShardIndex, Vec<Export>> = BTreeMap::new();
        for operation in &plan.outline.operations {
            let found = operation
                .exports
                .iter()
                .map(|export| Export { operation: operation.index, paths: export.paths.clone() });
            exports.entry(operation.shard).or_default().extend(found);
        }
        Packages { plan, exports }
    }

    /// Adds the shard's part of the plan to an order that opens the shard. Other orders are not changed.
    pub(crate) fn complete(&self, order: Order) -> Order {
        let Order::Open(mut open) = order else { return order };
        let fragment = self.plan.fragments.get(open.shard as usize);
        open.package = Some(ShardPackage {
            fragment: fragment.map(|fragment| Arc::clone(&fragment.bytes)).unwrap_or_default(),
            exports: self.exports.get(&ShardIndex(open.shard)).cloned().unwrap_or_default(),
            inputs: self.plan.inputs_of(open.shard),
            plan: self.plan.digest,
            bound: self.plan.outline.shard(ShardIndex(open.shard)).and_then(|shard| shard.bound),
        });
        Order::Open(open)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use weft_protocol::OpenShard;
    use weft_state::Digest;

    use super::*;
    use crate::plan::ShardFragment;

    #[test]
    fn a_shard_receives_only_the_inputs_that_it_reads() {
        let packages = Packages::new(RunPlan {
            outline: Arc::default(),
            fragments: vec![
                ShardFragment { bytes: Arc::from([1]), inputs: BTreeSet::from(["a".to_owned()]) },
                ShardFragment { bytes: Arc::from([2]), inputs: BTreeSet::new() },
            ],
            digest: Digest::default(),
            inputs: BTreeMap::from([("a".to_owned(), vec![7]), ("b".to_owned(), vec![8])]),
            wanted: vec!["a".to_owned(), "b".to_owned()],
        });
        let given =
            |shard: u32| match packages.complete(Order::Open(Box::new(OpenShard { shard, ..OpenShard::default() }))) {
                Order::Open(open) => open.package.expect("it is added").inputs,
                other => panic!("{other:?}"),
            };
        assert_eq!(given(0), BTreeMap::from([("a".to_owned(), vec![7])]));
        assert!(given(1).is_empty() && given(2).is_empty(), "the third shard has no fragment");
    }
}
