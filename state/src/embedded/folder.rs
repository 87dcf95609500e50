//! The files of runs: `.weft/runs/RUN/{header, plan, journal.EPOCH, summary}`.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use weft_sealing::is_sealed_record;

use super::lock::write_private;
use super::problems;
use super::sealed::Seals;
use crate::record::Opaque;
use crate::run::{Digest, NewRun, OpCounts, RunId, RunStatus};
use crate::store::StoreError;

/// The number of finished runs that are retained for `weft runs show`. Older ones are removed when a run ends.
pub(super) const KEPT_RUNS: usize = 20;

/// The mode of the folder of runs: only its owner has access.
const PRIVATE_FOLDER: u32 = 0o700;

/// The version of the layout of a run's folder.
const FOLDER_FORMAT: u32 = 1;

/// The header of a run's folder, which never changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct HeaderFile {
    format: u32,
    /// The run's id.
    pub(super) run: String,
    /// The path of the state file, relative to the folder that holds `.weft` if it is below that folder.
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
    /// The digest of the state file at the end of the run, in hex.
    pub(super) state: String,
    /// Whether the user abandoned the run.
    #[serde(default)]
    pub(super) abandoned: bool,
}

/// The folder of all runs of one state file.
#[derive(Clone, Debug)]
pub(super) struct RunFolders {
    runs: PathBuf,
    state: String,
    /// The seal of the files of the runs.
    pub(super) seals: Seals,
}

/// A run as its folder describes it.
#[derive(Clone, Debug)]
pub(super) struct RunFolder {
    /// Its folder.
    pub(super) path: PathBuf,
    /// Its id.
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
    /// The runs of the state file `canonical` in the folder `weft`.
    pub(super) fn new(weft: &Path, canonical: &Path, seals: Seals) -> RunFolders {
        let home =
            std::fs::canonicalize(weft.parent().filter(|home| !home.as_os_str().is_empty()).unwrap_or(Path::new(".")));
        let relative = home.ok().and_then(|home| canonical.strip_prefix(home).ok().map(Path::to_owned));
        let state = relative.as_deref().unwrap_or(canonical).to_string_lossy().into_owned();
        RunFolders { runs: weft.join("runs"), state, seals }
    }

    /// The folder of one run.
    pub(super) fn folder(&self, run: &RunId) -> PathBuf {
        self.runs.join(run.as_str())
    }

    /// All runs of this state file, oldest first. Skips folders without a header, which a crash during their creation
    /// leaves.
    pub(super) fn list(&self) -> Result<Vec<RunFolder>, StoreError> {
        let entries = match std::fs::read_dir(&self.runs) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(problems::reading(&self.runs)(error)),
        };
        let mut found = Vec::new();
        for entry in entries {
            let path = entry.map_err(problems::reading(&self.runs))?.path();
            let Some(id) = path.file_name().and_then(|name| RunId::parse(&name.to_string_lossy())) else { continue };
            if let Some(folder) = self.read(&path, id)? {
                found.push(folder);
            }
        }
        found.sort_by(|left, right| {
            (left.header.started_unix_ms, &left.id).cmp(&(right.header.started_unix_ms, &right.id))
        });
        Ok(found)
    }

    fn read(&self, path: &Path, id: RunId) -> Result<Option<RunFolder>, StoreError> {
        let place = path.join("header");
        let text = match std::fs::read(&place) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(problems::reading(&place)(error)),
        };
        let header: Option<HeaderFile> = serde_json::from_slice(&text).ok();
        let parsed = header.and_then(|header| Digest::parse(&header.plan).map(|plan| (header, plan)));
        let Some((header, plan)) = parsed.filter(|(header, _)| header.format == FOLDER_FORMAT) else {
            return Err(problems::not_a_header(&place));
        };
        if header.state != self.state {
            return Ok(None);
        }
        let summary = std::fs::read(path.join("summary")).ok();
        let summary: Option<SummaryFile> = summary.and_then(|text| serde_json::from_slice(&text).ok());
        let summary = summary.and_then(|summary| {
            let status = RunStatus::parse(&summary.status).filter(|status| status.is_final())?;
            Some((status, summary))
        });
        let seals = self.seals.clone();
        Ok(Some(RunFolder { path: path.to_owned(), id, header, plan, summary, seals }))
    }

    /// Creates the folder of a new run durably. The header is written last and makes the folder valid.
    pub(super) fn create(&self, run: &NewRun) -> Result<(), StoreError> {
        let path = self.folder(&run.id);
        std::fs::create_dir_all(&path).map_err(problems::creating(&path))?;
        self.keep_private()?;
        let plan = path.join("plan");
        write_private(&plan, &self.seals.plan(&run.id, &run.plan, &plan)?)?;
        let header = HeaderFile {
            format: FOLDER_FORMAT,
            run: run.id.to_string(),
            state: self.state.clone(),
            plan: Digest::of(&run.plan.0).hex(),
            operations: run.operations,
            started_unix_ms: run.started_unix_ms,
        };
        replace(&path, "header", &header)?;
        sync_folder(&self.runs)
    }

    /// Hides the folder from other users and from version control, because plans and journals may hold secrets.
    fn keep_private(&self) -> Result<(), StoreError> {
        use std::os::unix::fs::PermissionsExt as _;
        // If the folder belongs to another user, the files in it are private all the same.
        let _ = std::fs::set_permissions(&self.runs, std::fs::Permissions::from_mode(PRIVATE_FOLDER));
        let ignored = self.runs.with_file_name(".gitignore");
        if ignored.exists() {
            return Ok(());
        }
        std::fs::write(&ignored, "*\n").map_err(problems::writing(&ignored))?;
        // The folders themselves may be new. Their contents are durable only when their names are.
        let weft = self.runs.parent().unwrap_or(Path::new("."));
        sync_folder(weft)?;
        sync_folder(weft.parent().filter(|home| !home.as_os_str().is_empty()).unwrap_or(Path::new(".")))
    }

    /// The plan file of a run.
    pub(super) fn plan(&self, run: &RunId, digest: Digest) -> Result<Opaque, StoreError> {
        let path = self.folder(run).join("plan");
        let plan = std::fs::read(&path).map_err(problems::reading(&path))?;
        let plan = self.seals.open_plan(run, &plan, &path)?;
        if Digest::of(&plan) == digest {
            return Ok(Opaque(plan));
        }
        Err(problems::other_plan(&path))
    }

    /// Moves a run's folder out of the folder of runs.
    pub(super) fn set_aside(&self, run: &RunId) -> Result<PathBuf, StoreError> {
        let target = self.runs.with_file_name("set-aside");
        std::fs::create_dir_all(&target).map_err(problems::creating(&target))?;
        let target = target.join(run.as_str());
        std::fs::rename(self.folder(run), &target).map_err(problems::moving(run, &target))?;
        sync_folder(&self.runs)?;
        sync_folder(&self.runs.with_file_name("set-aside"))?;
        Ok(target)
    }

    /// Removes a run that has done nothing. The header goes first, because a folder without a header is ignored.
    pub(super) fn remove(&self, run: &RunId) -> Result<(), StoreError> {
        let path = self.folder(run);
        let remove = || {
            std::fs::remove_file(path.join("header"))?;
            std::fs::remove_dir_all(&path)
        };
        remove().map_err(problems::removing(&path))?;
        sync_folder(&self.runs)
    }

    /// Removes unencrypted plans and journals of finished runs after the state moved to encryption. Headers and
    /// summaries stay.
    pub(super) fn drop_open(&self) -> Result<(), StoreError> {
        for run in self.list()?.into_iter().filter(|run| run.summary.is_some()) {
            let plan = run.path.join("plan");
            if !std::fs::read(&plan).is_ok_and(|bytes| !is_sealed_record(&bytes)) {
                continue;
            }
            let journals = epochs(&run.path)?.into_iter().map(|epoch| run.journal(epoch));
            for path in journals.chain([plan]) {
                std::fs::remove_file(&path).map_err(problems::removing(&path))?;
            }
        }
        Ok(())
    }

    /// Removes the oldest finished runs beyond [`KEPT_RUNS`]. Files that cannot be removed now are removed another
    /// time.
    pub(super) fn prune(&self) -> Result<Vec<RunId>, StoreError> {
        let finished = self.finished()?;
        let surplus = finished.len().saturating_sub(KEPT_RUNS);
        Ok(removed(finished.into_iter().take(surplus)))
    }

    /// Removes finished runs that began before this moment.
    pub(super) fn prune_before(&self, unix_ms: u64) -> Result<Vec<RunId>, StoreError> {
        Ok(removed(self.finished()?.into_iter().filter(|run| run.header.started_unix_ms < unix_ms)))
    }

    /// The finished runs, oldest first.
    fn finished(&self) -> Result<Vec<RunFolder>, StoreError> {
        Ok(self.list()?.into_iter().filter(|run| run.summary.is_some()).collect())
    }
}

/// Removes the folders of these runs and returns the runs that are gone.
fn removed(runs: impl Iterator<Item = RunFolder>) -> Vec<RunId> {
    runs.filter(|run| std::fs::remove_dir_all(&run.path).is_ok()).map(|run| run.id).collect()
}

impl RunFolder {
    /// The path of an epoch's journal.
    pub(super) fn journal(&self, epoch: u64) -> PathBuf {
        journal_path(&self.path, epoch)
    }
}

/// The path of an epoch's journal in a run's folder.
pub(super) fn journal_path(folder: &Path, epoch: u64) -> PathBuf {
    folder.join(format!("journal.{epoch}"))
}

/// The epochs with a journal in a run's folder, in ascending order.
pub(super) fn epochs(folder: &Path) -> Result<Vec<u64>, StoreError> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(problems::reading(folder))? {
        let name = entry.map_err(problems::reading(folder))?.file_name();
        found.extend(name.to_string_lossy().strip_prefix("journal.").and_then(|text| text.parse::<u64>().ok()));
    }
    found.sort_unstable();
    Ok(found)
}

/// Writes the summary of a finished run.
pub(super) fn write_summary(folder: &Path, summary: &SummaryFile) -> Result<(), StoreError> {
    replace(folder, "summary", summary)
}

/// Removes the summary before the run continues.
pub(super) fn remove_summary(folder: &Path) -> Result<(), StoreError> {
    let path = folder.join("summary");
    match std::fs::remove_file(&path) {
        Ok(()) => sync_folder(folder),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(problems::removing(&path)(error)),
    }
}

/// Makes the names in a folder durable.
pub(super) fn sync_folder(folder: &Path) -> Result<(), StoreError> {
    let sync = || File::open(folder)?.sync_all();
    sync().map_err(problems::writing(folder))
}

/// Replaces a small JSON file as a whole, durably.
fn replace(folder: &Path, name: &str, content: &impl Serialize) -> Result<(), StoreError> {
    let text = serde_json::to_vec(content).unwrap_or_default();
    let fresh = folder.join(format!("{name}.new"));
    write_private(&fresh, &text)?;
    let path = folder.join(name);
    std::fs::rename(&fresh, &path).map_err(problems::writing(&path))?;
    sync_folder(folder)
}
