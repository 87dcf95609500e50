//! Limits on provider calls, as a plan contains them: budgets of calls per second, and rules for retries.

use serde::{Deserialize, Serialize};

/// A budget of provider calls. All runs that use the same store share it by its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallBudget {
    /// The name: the source of the provider, and labels. `hashicorp/aws account=prod region=eu-west-1`.
    pub name: String,
    /// The time after which one token becomes free, in microseconds.
    pub interval_us: u64,
    /// The maximum number of tokens that are free at the same time.
    pub burst: u32,
    /// The number of tokens that one provider call takes.
    pub tokens_per_call: u32,
}

/// When an operation is retried after its provider call was refused because of a rate limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRetry {
    /// The maximum number of retries.
    pub attempts: u32,
    /// The time after the first refusal in which retries may begin, in seconds.
    pub seconds: u32,
    /// Parts of error messages that count as refusals, in addition to those that are known for the provider.
    pub patterns: Vec<String>,
}

/// The limits on the calls of one shard.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardLimits {
    /// The budgets that each call takes tokens from: indexes into [`CallLimits::budgets`].
    pub budgets: Vec<u32>,
    /// The rule for retries: an index into [`CallLimits::retries`]. `None` for the default rule.
    pub retry: Option<u32>,
}

/// The limits on the provider calls of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallLimits {
    /// The budgets.
    pub budgets: Vec<CallBudget>,
    /// The rules for retries.
    pub retries: Vec<CallRetry>,
    /// The limits by index of the shard. Shards at the end may be missing: they have no limits.
    pub shards: Vec<ShardLimits>,
}

impl CallLimits {
    /// Whether nothing is limited.
    pub fn is_empty(&self) -> bool {
        self.budgets.is_empty() && self.retries.is_empty()
    }

    /// The indexes of the budgets of a shard, without those that do not exist.
    pub fn budgets_of(&self, shard: usize) -> impl Iterator<Item = u32> {
        let budgets = self.shards.get(shard).map(|limits| limits.budgets.as_slice()).unwrap_or_default();
        budgets.iter().copied().filter(|budget| (*budget as usize) < self.budgets.len())
    }

    /// The shard's own rule for retries, if it has one.
    pub fn retry_of(&self, shard: usize) -> Option<&CallRetry> {
        self.retries.get(self.shards.get(shard)?.retry? as usize)
    }
}
