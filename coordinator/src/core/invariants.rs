//! Checks of the memory as a whole, for tests: the counts are correct, and no shard with work is forgotten.

use std::collections::BTreeMap;

use super::{Coordinator, ShardIndex};

impl Coordinator {
    /// Checks the invariants of all parts. The cost is linear in the size of the run.
    ///
    /// # Panics
    /// Panics if an invariant is broken.
    pub fn check_invariants(&self) {
        self.operations.check_numbers();
        let mut open: BTreeMap<ShardIndex, u32> = BTreeMap::new();
        for position in self.operations.positions() {
            let is_open = !self.operations.state(position).is_at_rest();
            *open.entry(self.outline.at(position).shard).or_default() += u32::from(is_open);
        }
        for (shard, open) in open {
            assert_eq!(self.backlog.open(shard), open, "open operations of shard {}", shard.0);
            assert!(!self.backlog.is_forgotten(shard), "shard {} has work, and no worker is offered it", shard.0);
            let worker = self.backlog.worker(shard);
            let is_given_back = worker.is_some_and(|worker| self.backlog.was_refused_by(shard, worker));
            assert!(!is_given_back, "shard {} is at a worker that could not open it", shard.0);
        }
        self.roster.check_tasks();
        for (id, shards, load) in self.roster.shares() {
            let open = shards.iter().map(|shard| u64::from(self.backlog.open(*shard)));
            assert_eq!(load, open.sum::<u64>(), "the load of {id}");
        }
    }
}
