//! Placement rules: which shards may be assigned to which workers, and how many operations of a shard run concurrently.
//!
//! ```toml
//! [[rule]]                                # each region has workers of its own
//! provider = "hashicorp/aws"
//! key = "*"
//! labels = { region = "{key}" }
//! concurrency = 16
//! instances = 8                           # open provider instances at each worker
//!
//! [[rule]]                                # operations that must run at home, on the machine of the user
//! home = true
//! labels = { home = "ops-1" }
//!
//! [[limit]]                               # one budget for each account and region, shared by all runs of the store
//! provider = "hashicorp/aws"
//! labels = { account = "prod", region = "{region}" }
//! rate = 20                               # provider calls per second
//! burst = 10
//!
//! [[retry]]                               # when calls that fail temporarily are retried
//! provider = "hashicorp/aws"
//! attempts = 12
//! seconds = 900
//! patterns = ["PriorRequestNotComplete"]
//! ```
//!
//! A rule matches a provider instance if all its patterns match; `*` matches any text. Each rule adds the labels,
//! `concurrency` and `instances` that no earlier rule has set. At each worker, `instances` limits how many provider
//! instances of a rule are open, counted together. A call takes tokens from every budget whose limit matches. The
//! labels and budgets of a plan are fixed when the plan is made, and are stored in the plan file.

mod limit;
mod problems;
mod rule;

use std::collections::BTreeMap;

use serde::Deserialize;
use weft_graph_format::address::ProviderInstance;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::graph::Shard;
use weft_graph_format::limits::{CallBudget, CallLimits};
use weft_graph_format::placement::{InstanceBound, Placement, ShardPlacement};
use weft_graph_format::plan_file::PlanFile;
use weft_graph_format::value::Value;

use crate::problems::{idle_placement_rule, label_not_known};
use crate::rule_name::RuleName;
use limit::{LimitRule, RetryEntry};
use rule::{Known, Rule};

pub use problems::{EntryProblem, PlacementError};

/// The name of the file that is used if none is given.
pub const PLACEMENT_FILE: &str = "placement.toml";

/// The maximum size of a file of placement rules in bytes.
pub const MAX_BYTES: u64 = 1 << 20;

/// The content of a file of placement rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlacementRules {
    #[serde(default, rename = "rule")]
    rules: Vec<Rule>,
    #[serde(default, rename = "limit")]
    limits: Vec<LimitRule>,
    #[serde(default, rename = "retry")]
    retries: Vec<RetryEntry>,
}

/// The effect of the rules of a file on one plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resolved {
    /// The requirements for workers.
    pub placement: Placement,
    /// The limits on calls.
    pub limits: CallLimits,
    /// Warnings about rules that match nothing.
    pub warnings: Vec<Diagnostic>,
}

impl PlacementRules {
    /// Reads rules from the text of a file.
    ///
    /// # Errors
    /// Returns an error if the text is not in the form of the file, or if an entry cannot be used.
    pub fn parse(text: &str) -> Result<PlacementRules, PlacementError> {
        let rules: PlacementRules = toml::from_str(text).map_err(PlacementError::Form)?;
        for (index, rule) in rules.rules.iter().enumerate() {
            rule.check().map_err(|problem| PlacementError::entry("rule", index, problem))?;
        }
        for (index, limit) in rules.limits.iter().enumerate() {
            limit.check().map_err(|problem| PlacementError::entry("limit", index, problem))?;
        }
        for (index, retry) in rules.retries.iter().enumerate() {
            retry.check().map_err(|problem| PlacementError::entry("retry", index, problem))?;
        }
        Ok(rules)
    }

    /// The effect of the rules on the shards of a plan. `file` is the name of the rules' file in messages.
    ///
    /// # Errors
    /// Returns an error if a label has a placeholder for which a matching shard has no value.
    pub fn resolve(&self, plan: &PlanFile, file: &str) -> Result<Resolved, Vec<Diagnostic>> {
        let placed = self.place(plan, file);
        let limited = limit::resolve(&self.limits, &self.retries, plan, file);
        match (placed, limited) {
            (Ok((placement, mut warnings)), Ok((limits, more))) => {
                warnings.extend(more);
                Ok(Resolved { placement, limits, warnings })
            }
            (placed, limited) => Err(placed.err().into_iter().chain(limited.err()).flatten().collect()),
        }
    }

    /// Whether calls are limited.
    pub fn has_limits(&self) -> bool {
        !self.limits.is_empty()
    }

    /// The budgets of a provider instance with this configuration, for reads while a plan is made. If the instance
    /// lacks a value for a label of a limit, the limit gives no budget. [`PlacementRules::resolve`] reports the missing
    /// value.
    pub fn budgets_of(&self, instance: &ProviderInstance, config: &Value) -> Vec<CallBudget> {
        limit::budgets_of(&self.limits, instance, config)
    }

    /// What the rules require of the workers, for each shard of a plan. Also returns a warning for each rule that
    /// matches no shard. `file` is the name of the rules' file in messages.
    ///
    /// # Errors
    /// Returns an error if a label has a placeholder for which a matching shard has no value.
    fn place(&self, plan: &PlanFile, file: &str) -> Result<(Placement, Vec<Diagnostic>), Vec<Diagnostic>> {
        let mut used = vec![false; self.rules.len()];
        let mut placement = Placement::default();
        let mut wrong = Vec::new();
        for fragment in &plan.graph.fragments {
            let known = Known::of(fragment);
            let (mut shard, mut bound) = (ShardPlacement::default(), None);
            let matching = self.rules.iter().enumerate().filter(|(_, rule)| match &fragment.shard {
                Shard::Home => rule.home,
                Shard::Unplaced => false,
                Shard::Provider(instance) => rule.matches(instance, &known),
            });
            for (index, rule) in matching {
                used[index] = true;
                match rule.labels(&fragment.shard, &known) {
                    Ok(labels) => add(&mut shard.labels, labels),
                    Err(missing) => {
                        let name = &missing.placeholder;
                        wrong.push(label_not_known(file, RuleName::rule(index), &fragment.shard, name));
                    }
                }
                shard.concurrency = shard.concurrency.or(rule.concurrency);
                let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
                bound = bound.or(rule.instances.map(|most| InstanceBound { rule: number, most }));
            }
            placement.shards.push(shard);
            placement.bounds.push(bound);
        }
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let idle = used.iter().enumerate().filter(|(_, used)| !**used);
        Ok((placement, idle.map(|(index, _)| idle_placement_rule(file, RuleName::rule(index))).collect()))
    }
}

/// Adds the labels whose names are not set yet.
fn add(labels: &mut BTreeMap<String, String>, more: BTreeMap<String, String>) {
    for (name, value) in more {
        labels.entry(name).or_insert(value);
    }
}

/// Labels as text: `account=prod, region=eu-west-1`.
pub fn labels_text(labels: &BTreeMap<String, String>) -> String {
    labels.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
