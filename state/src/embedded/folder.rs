//! The runs of one state, as their files describe them: `RUN/{header, plan, journal.EPOCH, summary}`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weft_sealing::is_sealed_record;

use super::medium::RunFiles;
use super::problems;
use super::sealed::Seals;
use crate::error::StoreError;
use crate::record::Opaque;
use crate::run::{Digest, NewRun, OpCounts, RunId, RunPast, RunStatus};

/// The number of finished runs that are retained for `weft runs show`. Older ones are removed when a run ends.
pub(super) const KEPT_RUNS: usize = 20;

/// The version of the layout of a run's files.
const FOLDER_FORMAT: u32 = 1;

/// The header of a run, which never changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HeaderFile {
    format: u32,
    /// The run's id.
    pub(super) run: String,
    /// The name of the state: the path of the state file, or a location in a backend. The path is relative to the
    /// directory that contains `.weft`, if the file is below that directory.
    pub(super) state: String,
    /// Digest of the plan file in hex.
    pub(super) plan: String,
    /// Number of operations.
    pub(super) operations: u32,
    /// When the run was created, in milliseconds since 1970.
    pub(super) started_unix_ms: u64,
}

/// The summary of a finished run, so that lists need not read its journals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SummaryFile {
    /// `done` or `failed`.
    pub(super) status: String,
    /// The number of operations by status.
    pub(super) counts: OpCounts,
    /// The last epoch.
    pub(super) epoch: u64,
    /// The digest of the state document at the end of the run, in hex.
    pub(super) state: String,
    /// Whether the user abandoned the run.
    #[serde(default)]
    pub(super) abandoned: bool,
    /// The last holder, the time of the end, and the changes. Summaries of earlier versions lack these.
    #[serde(default)]
    pub(super) past: RunPast,
}

/// The directories of all runs of one state.
#[derive(Clone, Debug)]
pub(super) struct RunFolders {
    /// The files of the runs.
    pub(super) files: Arc<dyn RunFiles>,
    state: String,
    /// The seal of the files of the runs.
    pub(super) seals: Seals,
}

/// A run as its files describe it.
#[derive(Clone, Debug)]
pub(super) struct RunFolder {
    /// The files of the runs of the state.
    pub(super) files: Arc<dyn RunFiles>,
    /// The id of the run.
    pub(super) id: RunId,
    /// The header.
    pub(super) header: HeaderFile,
    /// Digest of the plan.
    pub(super) plan: Digest,
    /// The summary, if the run is finished.
    pub(super) summary: Option<(RunStatus, SummaryFile)>,
    /// The seal of the files of the run.
    pub(super) seals: Seals,
}

impl RunFolders {
    /// The runs of the state with this name in their headers.
    pub(super) fn new(files: Arc<dyn RunFiles>, state: String, seals: Seals) -> RunFolders {
        RunFolders { files, state, seals }
    }

    /// All runs of this state, oldest first. Skips runs without a header, and unfinished runs without a plan: a crash
    /// interrupted the creation of these runs.
    pub(super) fn list(&self) -> Result<Vec<RunFolder>, StoreError> {
        let all: BTreeSet<String> = self.files.list()?.into_iter().collect();
        let ids = all.iter().filter_map(|name| RunId::parse(name.strip_suffix("/header")?));
        let ids: Vec<RunId> =
            ids.filter(|run| all.contains(&plan_name(run)) || all.contains(&summary_name(run))).collect();
        let with_summary = ids.iter().map(summary_name).filter(|name| all.contains(name));
        let wanted: Vec<String> = ids.iter().map(header_name).chain(with_summary).collect();
        let contents = self.files.read(&wanted)?;
        let contents: BTreeMap<String, Vec<u8>> =
            wanted.into_iter().zip(contents).filter_map(|(name, content)| Some((name, content?))).collect();
        let mut found = Vec::new();
        for id in ids {
            let Some(header) = contents.get(&header_name(&id)) else { continue };
            found.extend(self.read(id.clone(), header, contents.get(&summary_name(&id)))?);
        }
        found.sort_by(|left, right| {
            (left.header.started_unix_ms, &left.id).cmp(&(right.header.started_unix_ms, &right.id))
        });
        Ok(found)
    }

    fn read(&self, id: RunId, header: &[u8], summary: Option<&Vec<u8>>) -> Result<Option<RunFolder>, StoreError> {
        let parsed: Option<HeaderFile> = serde_json::from_slice(header).ok();
        let parsed = parsed.and_then(|header| Digest::parse(&header.plan).map(|plan| (header, plan)));
        let Some((header, plan)) = parsed.filter(|(header, _)| header.format == FOLDER_FORMAT) else {
            return Err(problems::not_a_header(&self.files.path(&header_name(&id))));
        };
        if header.state != self.state {
            return Ok(None);
        }
        let summary: Option<SummaryFile> = summary.and_then(|text| serde_json::from_slice(text).ok());
        let summary = summary.and_then(|summary| {
            let status = RunStatus::parse(&summary.status).filter(|status| status.is_final())?;
            Some((status, summary))
        });
        let (files, seals) = (Arc::clone(&self.files), self.seals.clone());
        Ok(Some(RunFolder { files, id, header, plan, summary, seals }))
    }

    /// Writes the two files of a new run: plan and header. The run is valid once both files exist. If the run starts
    /// now, the files become durable together with the first journal. Otherwise, they are durable on return.
    pub(super) fn create(&self, run: &NewRun) -> Result<(), StoreError> {
        let plan = plan_name(&run.id);
        let sealed = self.seals.plan(&run.id, &run.plan, &self.files.path(&plan))?;
        let header = HeaderFile {
            format: FOLDER_FORMAT,
            run: run.id.to_string(),
            state: self.state.clone(),
            plan: Digest::of(&run.plan.0).hex(),
            operations: run.operations,
            started_unix_ms: run.started_unix_ms,
        };
        let files = [(plan, sealed), (header_name(&run.id), json(&header))];
        match run.starts_now {
            true => self.files.write_with_journal(&files),
            false => self.files.write_all(&files),
        }
    }

    /// The plan file of a run.
    pub(super) fn plan(&self, run: &RunId, digest: Digest) -> Result<Opaque, StoreError> {
        let name = plan_name(run);
        let path = self.files.path(&name);
        let plan = self.files.read(&[name])?.pop().flatten().ok_or_else(|| problems::missing(&path))?;
        let plan = self.seals.open_plan(run, &plan, &path)?;
        if Digest::of(&plan) == digest {
            return Ok(Opaque(plan));
        }
        Err(problems::other_plan(&path))
    }

    /// Writes the final state of a run as a file beside its journal. Returns its path.
    pub(super) fn keep_state(&self, run: &RunId, content: &[u8]) -> Result<PathBuf, StoreError> {
        let name = format!("{run}/state");
        self.files.write(&name, content)?;
        Ok(self.files.path(&name))
    }

    /// Writes the summary of a finished run. Without the summary, the run is read from its journals.
    pub(super) fn write_summary(&self, run: &RunId, summary: &SummaryFile) -> Result<(), StoreError> {
        self.files.write_late(&summary_name(run), &json(summary))
    }

    /// Removes the summary before the run continues.
    pub(super) fn remove_summary(&self, run: &RunId) -> Result<(), StoreError> {
        self.files.remove(&[summary_name(run)])
    }

    /// Removes the plan and all journals of each finished run whose plan is not encrypted. Headers and summaries stay.
    /// Called after encryption was enabled for the state.
    pub(super) fn drop_open(&self) -> Result<(), StoreError> {
        for run in self.finished()? {
            let plan = plan_name(&run.id);
            let content = self.files.read(std::slice::from_ref(&plan))?.pop().flatten();
            if content.is_none_or(|bytes| is_sealed_record(&bytes)) {
                continue;
            }
            for epoch in self.files.epochs(&run.id)? {
                self.files.remove_journal(&run.id, epoch)?;
            }
            self.files.remove(&[plan])?;
        }
        Ok(())
    }

    /// Removes the oldest finished runs beyond [`KEPT_RUNS`]. If files cannot be removed now, the next call tries
    /// again.
    pub(super) fn prune(&self) -> Result<Vec<RunId>, StoreError> {
        let finished = self.finished()?;
        let surplus = finished.len().saturating_sub(KEPT_RUNS);
        Ok(self.removed(finished.into_iter().take(surplus)))
    }

    /// Removes finished runs that began before this moment.
    pub(super) fn prune_before(&self, unix_ms: u64) -> Result<Vec<RunId>, StoreError> {
        Ok(self.removed(self.finished()?.into_iter().filter(|run| run.header.started_unix_ms < unix_ms)))
    }

    /// The finished runs, oldest first.
    fn finished(&self) -> Result<Vec<RunFolder>, StoreError> {
        Ok(self.list()?.into_iter().filter(|run| run.summary.is_some()).collect())
    }

    /// Removes these runs. Returns the runs that could be removed.
    fn removed(&self, runs: impl Iterator<Item = RunFolder>) -> Vec<RunId> {
        runs.filter(|run| self.files.remove_run(&run.id).is_ok()).map(|run| run.id).collect()
    }
}

impl RunFolder {
    /// The path of an epoch's journal, for messages.
    pub(super) fn journal(&self, epoch: u64) -> PathBuf {
        self.files.path(&format!("{}/journal.{epoch}", self.id))
    }
}

fn header_name(run: &RunId) -> String {
    format!("{run}/header")
}

fn summary_name(run: &RunId) -> String {
    format!("{run}/summary")
}

fn plan_name(run: &RunId) -> String {
    format!("{run}/plan")
}

fn json(content: &impl Serialize) -> Vec<u8> {
    // Strings and numbers only: this cannot fail.
    serde_json::to_vec(content).unwrap_or_default()
}
