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

/// The maximum number of provider instances of one rule that are open at the same time at each worker. The shards of a
/// rule share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceBound {
    /// The number of the rule in its file, from 1.
    pub rule: u32,
    /// The maximum; at least 1.
    pub most: u32,
}

/// What placement rules demand for each shard of a plan, in the order of the shards. Shards at the end may be missing:
/// nothing is demanded for them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// By the index of the shard.
    pub shards: Vec<ShardPlacement>,
    /// The bounds on open provider instances, by the index of the shard. A section of its own: versions that do not know
    /// it open as many instances as before.
    #[serde(skip)]
    pub bounds: Vec<Option<InstanceBound>>,
}

impl Placement {
    /// What is demanded for the shard at this index.
    pub fn shard(&self, index: usize) -> Option<&ShardPlacement> {
        self.shards.get(index).filter(|shard| !shard.is_empty())
    }

    /// The bound on open provider instances for the shard at this index.
    pub fn bound(&self, index: usize) -> Option<InstanceBound> {
        self.bounds.get(index).copied().flatten()
    }

    /// Whether nothing is demanded for any shard, bounds on open instances apart.
    pub fn is_empty(&self) -> bool {
        self.shards.iter().all(ShardPlacement::is_empty)
    }
}
