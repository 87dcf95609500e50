//! The input of a run: the outline, and the part of the plan that each shard's worker receives.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::plan_file::{PlanFile, PlanFileError, PlanReader};
use weft_state::Digest;

use crate::outline::{Outline, OutlineShard, ShardKey, outline};
use crate::problems;

/// A plan, as a coordinator carries it out.
#[derive(Clone, Debug)]
pub struct RunPlan {
    /// What a coordinator knows of it.
    pub outline: Arc<Outline>,
    /// The encoded fragment of each shard, in the outline's order. The coordinator does not decode it.
    pub fragments: Vec<Arc<[u8]>>,
    /// blake3 of the plan file.
    pub digest: Digest,
    /// Inputs that the plan does not contain, for the workers. Never stored.
    pub inputs: BTreeMap<String, Vec<u8>>,
    /// Names of the inputs that the plan needs. A coordinator that takes over a run has none of them.
    pub wanted: Vec<String>,
}

/// The label of what must run on the user's machine, with the run as its value. In a rule it names that shard.
pub const HOME: &str = "home";

/// Whether a worker belongs to a command line that watches a run: it has the name `home-RUN`, and no label but the run.
/// (The worker of a run in one process has another name, and carries out everything.)
pub(crate) fn is_of_command_line(name: &str, labels: &BTreeMap<String, String>) -> bool {
    labels.len() == 1 && labels.get(HOME).is_some_and(|run| name.strip_prefix(HOME) == Some(&format!("-{run}")))
}

/// A placement rule: matching provider instances need workers with these labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacementRule {
    /// The text of a provider instance; `*` matches any characters. `home` alone matches what must run on the user's
    /// machine.
    pub provider_instance: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
}

impl PlacementRule {
    /// Whether the rule matches a provider instance.
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
    /// The run plan of a plan file. The plan itself is not kept: there may be millions of operations.
    ///
    /// # Errors
    /// When a part of the plan cannot be encoded for a worker.
    pub fn new(mut plan: PlanFile, digest: Digest) -> Result<RunPlan, Vec<Diagnostic>> {
        let outline = Arc::new(outline(&plan));
        let wanted = plan.manifest.ephemeral_variables.keys().map(ToString::to_string).collect();
        let encoded = plan.take_packages().map(|package| package.encode().map(Arc::from));
        let fragments: Result<Vec<Arc<[u8]>>, _> = encoded.collect();
        let unwritable = |error| vec![problems::plan_not_encoded(error)];
        Ok(RunPlan { outline, fragments: fragments.map_err(unwritable)?, digest, inputs: BTreeMap::new(), wanted })
    }

    /// Adds the labels of the rules to the shards that they match. Labels of the plan itself stay.
    pub fn place(&mut self, rules: &[PlacementRule]) {
        if rules.is_empty() {
            return;
        }
        for shard in &mut Arc::make_mut(&mut self.outline).shards {
            let about = |rule: &&PlacementRule| match &shard.key {
                ShardKey::Home => rule.provider_instance == HOME,
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
    /// The inputs that are needed and missing.
    pub fn missing_inputs(&self) -> Vec<&str> {
        self.wanted.iter().filter(|name| !self.inputs.contains_key(*name)).map(String::as_str).collect()
    }

    /// Gives home operations the label `home=RUN`, unless a rule named a worker for them.
    pub fn keep_home(&mut self, run: &str) {
        for shard in &mut Arc::make_mut(&mut self.outline).shards {
            if shard.key == ShardKey::Home {
                shard.labels.entry(HOME.to_owned()).or_insert_with(|| run.to_owned());
            }
        }
    }

    /// Addresses of home operations without a worker named by a rule.
    pub fn homeless(&self) -> Vec<&str> {
        let unnamed = |shard: &OutlineShard| shard.key == ShardKey::Home && !shard.labels.contains_key(HOME);
        let operations =
            self.outline.operations.iter().filter(|operation| self.outline.shard(operation.shard).is_some_and(unnamed));
        operations.map(|operation| operation.address.as_str()).collect()
    }
}

/// Reads plan files. Tests may begin runs from something simpler.
pub trait ReadPlan: fmt::Debug + Send + Sync + 'static {
    /// Reads and checks a plan file.
    ///
    /// # Errors
    /// The problems of the plan file.
    fn read(&self, plan: &[u8]) -> Result<RunPlan, Vec<Diagnostic>>;
}

/// Reads whole plan files, and refuses those whose planning failed.
#[derive(Clone, Copy, Debug)]
pub struct PlanFiles;

impl ReadPlan for PlanFiles {
    fn read(&self, plan: &[u8]) -> Result<RunPlan, Vec<Diagnostic>> {
        let file = read_plan(plan)?;
        refuse_errored(&file).map_err(|problem| vec![problem])?;
        RunPlan::new(file, Digest::of(plan))
    }
}

/// Reads a plan file in memory, whole, and checks it.
///
/// # Errors
/// The problems of the plan file.
pub fn read_plan(bytes: &[u8]) -> Result<PlanFile, Vec<Diagnostic>> {
    let refused = |error: PlanFileError| vec![problems::plan_refused(error)];
    PlanReader::from_bytes(bytes).and_then(|reader| reader.whole()).map_err(refused)
}

/// Refuses a plan whose planning failed.
///
/// # Errors
/// The problem, for the user.
pub fn refuse_errored(plan: &PlanFile) -> Result<(), Diagnostic> {
    if !plan.manifest.errored {
        return Ok(());
    }
    Err(problems::incomplete_plan())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_any_text() {
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
