//! The results of conditions that a plan knows, for the state. The coordinator adds those that a run decides.

use weft_coordinator::outline::planned_checks;
use weft_graph_format::plan_file::{CheckResult, PlanFile};
use weft_state::{Edit, EditAnswer, RunStore, StoreError, Writes};

use crate::options::Arguments;

/// The results of conditions that a plan knows.
#[derive(Clone, Debug)]
pub struct PlanChecks {
    checks: Vec<CheckResult>,
}

impl PlanChecks {
    /// The results that this plan knows.
    pub fn of(plan: &PlanFile) -> PlanChecks {
        PlanChecks { checks: plan.manifest.checks.clone() }
    }
}

/// Writes the results of a plan without a run, if they differ from those in the state.
///
/// # Errors
/// When the store cannot be read or written.
pub async fn store(store: &dyn RunStore, known: &PlanChecks) -> Result<(), StoreError> {
    /// Attempts. Another process may write between reading and writing, once in a while.
    const ATTEMPTS: usize = 3;
    let records = planned_checks(&known.checks);
    for _ in 0..ATTEMPTS {
        let now = store.snapshot().await?;
        // A configuration without conditions leaves results alone that it never wrote.
        if now.checks == records || (records.is_none() && now.checks.as_ref().is_none_or(Vec::is_empty)) {
            return Ok(());
        }
        let writes = Writes { checks: Some(records.clone()), ..Writes::default() };
        match store.edit(Edit { seen: now.serial, writes, identity: None }).await? {
            EditAnswer::Changed { .. } => {}
            EditAnswer::Edited | EditAnswer::Refused { .. } => return Ok(()),
        }
    }
    Ok(())
}

/// Writes an empty state where none exists, and the present state to a new file of `-state-out`, so that an apply
/// without changes, or one that failed at once, leaves them too, as OpenTofu does.
///
/// # Errors
/// When the store cannot be read or written.
pub async fn begin_state(store: &dyn RunStore, arguments: &Arguments) -> Result<(), StoreError> {
    let now = store.snapshot().await?;
    // The lock has created the file, and nothing was written to it.
    let is_new = |path: &str| std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() == 0);
    if !now.is_empty() && arguments.text("state-out").is_some_and(is_new) {
        let identity = Some((now.lineage, now.serial));
        return store.edit(Edit { seen: now.serial, writes: Writes::default(), identity }).await.map(|_| ());
    }
    if now.serial > 0 || !now.is_empty() || store.export().await?.is_some() {
        return Ok(());
    }
    let identity = Some((now.lineage, now.serial));
    // When another process writes meanwhile, or a run holds the state, a state exists.
    store.edit(Edit { seen: now.serial, writes: Writes::default(), identity }).await.map(|_| ())
}
