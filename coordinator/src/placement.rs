//! Placement rules: which workers may hold which shards, and how many operations of a shard run at the same time.
//!
//! ```toml
//! [[rule]]                                # each region has workers of its own
//! provider = "hashicorp/aws"
//! key = "*"
//! labels = { region = "{key}" }
//! concurrency = 16
//!
//! [[rule]]                                # what must run where the user is
//! home = true
//! labels = { home = "ops-1" }
//! ```
//!
//! A rule matches a provider instance if all its patterns do; `*` stands for any text. Each rule adds the labels and the
//! limit that no earlier rule has set. The labels of a plan are fixed when it is made, and are part of its file.

mod rule;

use std::collections::BTreeMap;

use serde::Deserialize;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::graph::Shard;
use weft_graph_format::placement::{Placement, ShardPlacement};
use weft_graph_format::plan_file::PlanFile;

use crate::problems;
use rule::{Known, Rule};

/// The name of the file that is used if none is given.
pub const PLACEMENT_FILE: &str = "placement.toml";

/// The maximum size of a file of placement rules in bytes.
pub const MAX_BYTES: u64 = 1 << 20;

/// Placement rules, as a file has them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlacementRules {
    #[serde(default, rename = "rule")]
    rules: Vec<Rule>,
}

impl PlacementRules {
    /// Reads rules from the text of a file.
    ///
    /// # Errors
    /// What is wrong, with line and column where they are known.
    pub fn parse(text: &str) -> Result<PlacementRules, String> {
        let rules: PlacementRules = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
        for (index, rule) in rules.rules.iter().enumerate() {
            rule.check().map_err(|wrong| format!("rule {} {wrong}", index + 1))?;
        }
        Ok(rules)
    }

    /// What the rules demand for the shards of a plan, and warnings about rules that match nothing. `file` names the
    /// rules in messages.
    ///
    /// # Errors
    /// When a label refers to something that a matching provider instance does not have.
    pub fn place(&self, plan: &PlanFile, file: &str) -> Result<(Placement, Vec<Diagnostic>), Vec<Diagnostic>> {
        let mut used = vec![false; self.rules.len()];
        let mut placement = Placement::default();
        let mut wrong = Vec::new();
        for fragment in &plan.graph.fragments {
            let known = Known::of(fragment);
            let mut shard = ShardPlacement::default();
            let matching = self.rules.iter().enumerate().filter(|(_, rule)| match &fragment.shard {
                Shard::Home => rule.home,
                Shard::Unplaced => false,
                Shard::Provider(instance) => rule.matches(instance, &known),
            });
            for (index, rule) in matching {
                used[index] = true;
                match rule.labels(&fragment.shard, &known) {
                    Ok(labels) => add(&mut shard.labels, labels),
                    Err(missing) => wrong.push(problems::label_not_known(file, index + 1, &fragment.shard, &missing)),
                }
                shard.concurrency = shard.concurrency.or(rule.concurrency);
            }
            placement.shards.push(shard);
        }
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let idle = used.iter().enumerate().filter(|(_, used)| !**used);
        Ok((placement, idle.map(|(index, _)| problems::idle_placement_rule(file, index + 1)).collect()))
    }
}

/// Adds labels that are not set yet.
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
