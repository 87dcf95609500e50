//! Where the shards of a plan may run: what placement rules demand of workers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What placement rules demand for one shard.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardPlacement {
    /// Labels that its worker must have.
    pub labels: BTreeMap<String, String>,
    /// The maximum number of its operations that run at the same time. `None` sets no limit.
    pub concurrency: Option<u32>,
}

impl ShardPlacement {
    /// Whether nothing is demanded.
    pub fn is_empty(&self) -> bool {
        *self == ShardPlacement::default()
    }
}

/// What placement rules demand for each shard of a plan, in the order of the shards. Shards at the end may be missing:
/// nothing is demanded for them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// By the index of the shard.
    pub shards: Vec<ShardPlacement>,
}

impl Placement {
    /// What is demanded for the shard at this index.
    pub fn shard(&self, index: usize) -> Option<&ShardPlacement> {
        self.shards.get(index).filter(|shard| !shard.is_empty())
    }

    /// Whether nothing is demanded for any shard.
    pub fn is_empty(&self) -> bool {
        self.shards.iter().all(ShardPlacement::is_empty)
    }
}
