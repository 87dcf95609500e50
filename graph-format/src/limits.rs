//! Limits on provider calls, as a plan has them: budgets of calls per second, and when a failed call is tried again.

use serde::{Deserialize, Serialize};

/// A budget of provider calls. All runs over one store share it by its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallBudget {
    /// Its name: the source of the provider and labels, `hashicorp/aws account=prod region=eu-west-1`.
    pub name: String,
    /// The time in which one token becomes free, in microseconds.
    pub interval_us: u64,
    /// The maximum number of tokens that are free at the same time.
    pub burst: u32,
    /// The number of tokens that one provider call takes.
    pub tokens_per_call: u32,
}

/// When an operation whose call was refused is tried again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRetry {
    /// The maximum number of further attempts.
    pub attempts: u32,
    /// The time in seconds after the first refusal in which further attempts begin.
    pub seconds: u32,
    /// Texts of errors that count as refusals, in addition to the known ones of the provider.
    pub patterns: Vec<String>,
}

/// The limits on the calls of one shard.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardLimits {
    /// The budgets that each call takes tokens from: indexes into [`CallLimits::budgets`].
    pub budgets: Vec<u32>,
    /// When its calls are tried again: an index into [`CallLimits::retries`]. `None` for the usual rule.
    pub retry: Option<u32>,
}

/// The limits on the provider calls of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallLimits {
    /// The budgets.
    pub budgets: Vec<CallBudget>,
    /// The rules about further attempts.
    pub retries: Vec<CallRetry>,
    /// By the index of the shard. Shards at the end may be missing: they have no limits.
    pub shards: Vec<ShardLimits>,
}

impl CallLimits {
    /// Whether nothing is limited.
    pub fn is_empty(&self) -> bool {
        self.budgets.is_empty() && self.retries.is_empty()
    }

    /// The positions of the budgets of a shard, without those that do not exist.
    pub fn budgets_of(&self, shard: usize) -> impl Iterator<Item = u32> {
        let budgets = self.shards.get(shard).map(|limits| limits.budgets.as_slice()).unwrap_or_default();
        budgets.iter().copied().filter(|budget| (*budget as usize) < self.budgets.len())
    }

    /// The rule about further attempts of a shard, if it has one of its own.
    pub fn retry_of(&self, shard: usize) -> Option<&CallRetry> {
        self.retries.get(self.shards.get(shard)?.retry? as usize)
    }
}
