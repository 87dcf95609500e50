//! What an apply without changes writes to the state: results of conditions that are known at plan time. Such an apply
//! also removes resources without instances, as every successful apply does. If there are changes, the coordinator does
//! both at the end of the run.

use weft_coordinator::outline::planned_checks;
use weft_graph_format::plan_file::{CheckResult, PlanFile};
use weft_state::{Edit, EditAnswer, OutputWrite, RunStore, StoreError, Writes};

use crate::options::Arguments;

/// The results of conditions, as far as they are known at plan time.
#[derive(Clone, Debug)]
pub struct PlanChecks {
    checks: Vec<CheckResult>,
}

impl PlanChecks {
    /// The results that this plan contains.
    pub fn of(plan: &PlanFile) -> PlanChecks {
        PlanChecks { checks: plan.manifest.checks.clone() }
    }
}

/// Writes the results of the conditions of a plan to the state, if they differ from the results in the state, and
/// removes resources without instances. The write needs no run.
///
/// # Errors
/// Returns an error if the store cannot be read or written.
pub async fn store(store: &dyn RunStore, known: &PlanChecks) -> Result<(), StoreError> {
    /// The maximum number of attempts. An attempt fails if another process writes the state between the read and the
    /// write.
    const ATTEMPTS: usize = 3;
    let records = planned_checks(&known.checks);
    for _ in 0..ATTEMPTS {
        let now = store.snapshot().await?;
        // A configuration without conditions does not add an empty list of results to a state without results.
        let is_known = now.checks == records || (records.is_none() && now.checks.as_ref().is_none_or(Vec::is_empty));
        let outputs: Vec<OutputWrite> =
            now.bare_resources().map(|bare| OutputWrite { name: bare.to_string(), record: None }).collect();
        if is_known && outputs.is_empty() {
            return Ok(());
        }
        let checks = (!is_known).then(|| records.clone());
        let writes = Writes { checks, outputs, ..Writes::default() };
        match store.edit(Edit { seen: now.serial, writes, identity: None }).await? {
            EditAnswer::Changed { .. } => {}
            EditAnswer::Edited | EditAnswer::Refused { .. } => return Ok(()),
        }
    }
    Ok(())
}

/// Prepares the state files for an apply that changes nothing or fails at once. As in OpenTofu, such an apply creates
/// an empty state if none existed. If the file of `-state-out` does not exist, the apply copies the current state to
/// this file.
///
/// # Errors
/// Returns an error if the store cannot be read or written.
pub async fn begin_state(store: &dyn RunStore, arguments: &Arguments) -> Result<(), StoreError> {
    let now = store.snapshot().await?;
    // An empty file is new: the lock has created the file, but nothing was written to the file yet.
    let is_new = |path: &str| std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() == 0);
    if !now.is_empty() && arguments.text("state-out").is_some_and(is_new) {
        let identity = Some((now.lineage, now.serial));
        return store.edit(Edit { seen: now.serial, writes: Writes::default(), identity }).await.map(|_| ());
    }
    if now.serial > 0 || !now.is_empty() || store.export().await?.is_some() {
        return Ok(());
    }
    let identity = Some((now.lineage, now.serial));
    // The answer does not matter. The edit is refused only if another process has written a state, or if a run uses the
    // state. In both cases, a state exists.
    store.edit(Edit { seen: now.serial, writes: Writes::default(), identity }).await.map(|_| ())
}
