//! Where the shards of a plan may run: what placement rules require of workers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What placement rules require for one shard.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardPlacement {
    /// Labels that the worker of the shard must have.
    pub labels: BTreeMap<String, String>,
    /// The maximum number of operations of the shard that run at the same time. `None` for no limit.
    pub concurrency: Option<u32>,
}

impl ShardPlacement {
    /// Whether the rules require nothing.
    pub fn is_empty(&self) -> bool {
        *self == ShardPlacement::default()
    }
}

/// The maximum number of provider instances that each worker has open at the same time, for one placement rule. All
/// shards to which the rule applies share this maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstanceBound {
    /// The number of the rule in its file, beginning with 1.
    pub rule: u32,
    /// The maximum; at least 1.
    pub most: u32,
}

/// What placement rules require for each shard of a plan, in the order of the shards. Shards at the end may be missing:
/// the rules require nothing for them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// The requirements, by index of the shard.
    pub shards: Vec<ShardPlacement>,
    /// The limits on open provider instances, by index of the shard. They have their own section of the plan file:
    /// versions of Weft that do not know this section ignore the limits.
    #[serde(skip)]
    pub bounds: Vec<Option<InstanceBound>>,
}

impl Placement {
    /// The requirements for the shard at this index.
    pub fn shard(&self, index: usize) -> Option<&ShardPlacement> {
        self.shards.get(index).filter(|shard| !shard.is_empty())
    }

    /// The limit on open provider instances for the shard at this index.
    pub fn bound(&self, index: usize) -> Option<InstanceBound> {
        self.bounds.get(index).copied().flatten()
    }

    /// Whether the rules require nothing for any shard. Limits on open provider instances do not count.
    pub fn is_empty(&self) -> bool {
        self.shards.iter().all(ShardPlacement::is_empty)
    }
}
