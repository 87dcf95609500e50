//! What a run is begun with: the outline, and for each shard the part of the plan that its worker gets.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use weft_graph_format::diagnostic::Diagnostic;
use weft_state::Digest;

use crate::outline::{Outline, ShardKey};

/// A plan as it is carried out.
#[derive(Clone, Debug)]
pub struct RunPlan {
    /// What a coordinator knows of it.
    pub outline: Arc<Outline>,
    /// For each shard of the outline, in its order: the encoded fragment. Nobody here looks into it.
    pub fragments: Vec<Arc<[u8]>>,
    /// blake3 of the plan file.
    pub digest: Digest,
    /// Inputs that the plan does not carry, for the workers: never stored.
    pub inputs: BTreeMap<String, Vec<u8>>,
    /// Names of the inputs that it wants. A coordinator that takes a run over has none of them.
    pub wanted: Vec<String>,
}

/// One placement rule: provider instances that match want workers with these labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacementRule {
    /// Provider instance text; `*` stands for any run of characters. `home` alone is about what must run where the one
    /// who applies is.
    pub provider_instance: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
}

impl PlacementRule {
    /// Whether it is about this provider instance.
    pub fn matches(&self, provider_instance: &str) -> bool {
        let mut parts = self.provider_instance.split('*');
        let Some(mut rest) = parts.next().and_then(|first| provider_instance.strip_prefix(first)) else {
            return false;
        };
        let parts: Vec<&str> = parts.collect();
        let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
        for part in middle {
            match rest.find(part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        rest.ends_with(last)
    }
}

impl RunPlan {
    /// Adds the labels of the rules to the shards that they are about. Labels of the plan itself stay.
    pub fn place(&mut self, rules: &[PlacementRule]) {
        if rules.is_empty() {
            return;
        }
        for shard in &mut Arc::make_mut(&mut self.outline).shards {
            let about = |rule: &&PlacementRule| match &shard.key {
                ShardKey::Home => rule.provider_instance == "home",
                ShardKey::Unplaced => false,
                ShardKey::Provider(instance) => rule.matches(instance),
            };
            for rule in rules.iter().filter(about) {
                for (name, value) in &rule.labels {
                    shard.labels.entry(name.clone()).or_insert_with(|| value.clone());
                }
            }
        }
    }
}

impl RunPlan {
    /// The inputs that it wants and does not have.
    pub fn missing_inputs(&self) -> Vec<&str> {
        self.wanted.iter().filter(|name| !self.inputs.contains_key(*name)).map(String::as_str).collect()
    }

    /// Home operations run on the worker with the label `home=RUN`, unless a rule named another.
    pub fn keep_home(&mut self, run: &str) {
        for shard in &mut Arc::make_mut(&mut self.outline).shards {
            if shard.key == ShardKey::Home {
                shard.labels.entry("home".to_owned()).or_insert_with(|| run.to_owned());
            }
        }
    }

    /// Addresses of home operations for which no rule named a worker.
    pub fn homeless(&self) -> Vec<&str> {
        let unnamed = |shard: u32| {
            let shard = &self.outline.shards[shard as usize];
            shard.key == ShardKey::Home && !shard.labels.contains_key("home")
        };
        let operations = self
            .outline
            .operations
            .iter()
            .filter(|operation| (operation.shard as usize) < self.outline.shards.len() && unnamed(operation.shard));
        operations.map(|operation| operation.address.as_str()).collect()
    }
}

/// Turns a plan file into what a run is begun with; whoever knows the file's format provides it.
pub trait PlanReader: fmt::Debug + Send + Sync + 'static {
    /// Reads and checks a plan file.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    fn read(&self, plan: &[u8]) -> Result<RunPlan, Vec<Diagnostic>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything() {
        let rule = |text: &str| PlacementRule { provider_instance: text.to_owned(), labels: BTreeMap::new() };
        const EU: &str = "provider[\"h/n/aws\"].by_region[\"eu-west-1\"]";
        assert!(rule("*").matches(EU));
        assert!(rule(EU).matches(EU));
        assert!(rule("*[\"eu-*\"]").matches(EU));
        assert!(rule("provider[\"*\"].by_region*").matches(EU));
        assert!(!rule("*[\"us-*\"]").matches(EU));
        assert!(!rule("provider").matches(EU));
        assert!(!rule("*by*by*").matches(EU));
    }
}
