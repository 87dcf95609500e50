//! The input of a run: the outline, and the fragment for the worker of each shard.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::plan_file::{PlanFile, PlanFileError, PlanReader};
use weft_state::Digest;

use crate::outline::{HOME, Outline, OutlineShard, ShardKey, outline};
use crate::placement::labels_text;
use crate::problems;

/// A plan in the form that a coordinator carries out.
#[derive(Clone, Debug)]
pub struct RunPlan {
    /// The coordinator's view of the plan.
    pub outline: Arc<Outline>,
    /// The fragment of each shard, in the outline's order.
    pub fragments: Vec<ShardFragment>,
    /// blake3 of the plan file.
    pub digest: Digest,
    /// Inputs that the plan does not contain. These inputs are sent to workers and never stored.
    pub inputs: BTreeMap<String, Vec<u8>>,
    /// Names of the inputs that the plan needs. A coordinator that takes over a run has no inputs.
    pub wanted: Vec<String>,
}

/// The fragment of a shard, for its worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShardFragment {
    /// The encoded fragment. The coordinator does not decode it.
    pub bytes: Arc<[u8]>,
    /// Names of the inputs that the fragment reads. A worker receives no others.
    pub inputs: BTreeSet<String>,
}

/// Whether a worker belongs to a `weft` command that watches a run: the worker is named `home-RUN`, and has only the
/// label `home` with the id of the run. (The worker of a run in one process has another name, and carries out all
/// operations.)
pub(crate) fn is_of_command_line(name: &str, labels: &BTreeMap<String, String>) -> bool {
    labels.len() == 1 && labels.get(HOME).is_some_and(|run| name.strip_prefix(HOME) == Some(&format!("-{run}")))
}

impl RunPlan {
    /// The run plan of a plan file. The run plan does not contain the whole plan, which may have millions of
    /// operations.
    ///
    /// # Errors
    /// Returns an error if a part of the plan cannot be encoded for a worker.
    pub fn new(mut plan: PlanFile, digest: Digest) -> Result<RunPlan, Vec<Diagnostic>> {
        let outline = Arc::new(outline(&plan));
        let wanted = plan.manifest.ephemeral_variables.keys().map(ToString::to_string).collect();
        let mut fragments = Vec::new();
        for package in plan.take_packages() {
            let inputs = package.inputs().iter().map(ToString::to_string).collect();
            let bytes = Arc::from(package.encode().map_err(|error| vec![problems::plan_not_encoded(error)])?);
            fragments.push(ShardFragment { bytes, inputs });
        }
        Ok(RunPlan { outline, fragments, digest, inputs: BTreeMap::new(), wanted })
    }
}

impl RunPlan {
    /// The inputs that the fragment of a shard reads.
    pub(crate) fn inputs_of(&self, shard: u32) -> BTreeMap<String, Vec<u8>> {
        let names = self.fragments.get(shard as usize).into_iter().flat_map(|fragment| &fragment.inputs);
        names.filter_map(|name| Some((name.clone(), self.inputs.get(name)?.clone()))).collect()
    }

    /// The inputs that are needed and missing.
    pub fn missing_inputs(&self) -> Vec<&str> {
        self.wanted.iter().filter(|name| !self.inputs.contains_key(*name)).map(String::as_str).collect()
    }

    /// Drops the labels, because a worker in the same process carries out all operations.
    pub fn place_here(&mut self) {
        for shard in &mut Arc::make_mut(&mut self.outline).shards {
            shard.labels.clear();
        }
    }

    /// Gives home operations the label `home=RUN`, unless a rule assigns a worker to them.
    pub fn keep_home(&mut self, run: &str) {
        for shard in &mut Arc::make_mut(&mut self.outline).shards {
            if shard.key == ShardKey::Home {
                shard.labels.entry(HOME.to_owned()).or_insert_with(|| run.to_owned());
            }
        }
    }

    /// The shards whose labels no worker has. `None` if there are no such shards. Also `None` if no worker is connected
    /// yet, because the run then waits for workers.
    pub fn unfit(&self, workers: &BTreeMap<String, BTreeMap<String, String>>) -> Option<Unfit> {
        let fits = |shard: &OutlineShard| workers.values().any(|labels| has_labels(labels, &shard.labels));
        let demanding = self.outline.shards.iter().filter(|shard| !shard.labels.is_empty());
        let unfit = demanding.filter(|shard| !workers.is_empty() && !fits(shard));
        let shards: Vec<_> = unfit.map(|shard| (shard.key.clone(), shard.labels.clone())).collect();
        (!shards.is_empty()).then(|| Unfit { shards, workers: workers.clone() })
    }

    /// Addresses of home operations to which no rule assigns a worker.
    pub fn homeless(&self) -> Vec<&str> {
        let unnamed = |shard: &OutlineShard| shard.key == ShardKey::Home && !shard.labels.contains_key(HOME);
        let operations =
            self.outline.operations.iter().filter(|operation| self.outline.shard(operation.shard).is_some_and(unnamed));
        operations.map(|operation| operation.address.as_str()).collect()
    }
}

/// Shards that may be assigned to no connected worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// The shards, with the labels that their rules require.
    pub shards: Vec<(ShardKey, BTreeMap<String, String>)>,
    /// The connected workers with their labels.
    pub workers: BTreeMap<String, BTreeMap<String, String>>,
}

/// The maximum number of shards, and of workers, that a message lists.
const LISTED: usize = 10;

impl fmt::Display for Unfit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shard = |(key, labels): &(ShardKey, BTreeMap<String, String>)| match key {
            ShardKey::Provider(instance) => format!("{instance} needs {}", labels_text(labels)),
            ShardKey::Home | ShardKey::Unplaced => {
                format!("operations that must run on your machine need {}", labels_text(labels))
            }
        };
        let worker = |(name, labels): (&String, &BTreeMap<String, String>)| match labels.is_empty() {
            true => format!("{name} (no labels)"),
            false => format!("{name} ({})", labels_text(labels)),
        };
        let shards = listed(self.shards.iter().map(shard), self.shards.len());
        let workers = listed(self.workers.iter().map(worker), self.workers.len());
        write!(
            out,
            "no connected worker has the labels that placement rules demand: {shards}. Connected: {workers}. Start a worker \
             with these labels (weft worker -label NAME=VALUE), or change the rules and make a new plan"
        )
    }
}

/// The first strings of a list, and the number of the remaining strings.
fn listed(texts: impl Iterator<Item = String>, count: usize) -> String {
    let mut text = texts.take(LISTED).collect::<Vec<_>>().join("; ");
    if count > LISTED {
        text.push_str(&format!("; and {} more", count - LISTED));
    }
    text
}

/// Whether `labels` contains all labels of `demanded`.
pub(crate) fn has_labels(labels: &BTreeMap<String, String>, demanded: &BTreeMap<String, String>) -> bool {
    demanded.iter().all(|(name, value)| labels.get(name) == Some(value))
}

/// Reads plan files. Tests may implement it for simpler data.
pub trait ReadPlan: fmt::Debug + Send + Sync + 'static {
    /// Reads and checks a plan file.
    ///
    /// # Errors
    /// Returns the problems of the plan file.
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

/// Reads a whole plan file from memory, and checks it.
///
/// # Errors
/// Returns the problems of the plan file.
pub fn read_plan(bytes: &[u8]) -> Result<PlanFile, Vec<Diagnostic>> {
    let refused = |error: PlanFileError| vec![problems::plan_refused(error)];
    PlanReader::from_bytes(bytes).and_then(|reader| reader.whole()).map_err(refused)
}

/// Refuses a plan whose planning failed.
///
/// # Errors
/// Returns the problem, for the user.
pub fn refuse_errored(plan: &PlanFile) -> Result<(), Diagnostic> {
    if !plan.manifest.errored {
        return Ok(());
    }
    Err(problems::incomplete_plan())
}
