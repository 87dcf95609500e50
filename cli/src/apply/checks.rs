//! The results of conditions that a plan knows, for the state. The coordinator adds those that a run decides.

use weft_graph_format::plan_file::{CheckResult, CheckStatus, CheckedKind, PlanFile};
use weft_state::{CheckObject, CheckRecord, Edit, EditAnswer, RunStore, StoreError, Writes};

use crate::render::show_json::checks::{by_config, has_instances, worst};

/// The results of conditions that a plan knows.
#[derive(Clone, Debug)]
pub struct Known {
    checks: Vec<CheckResult>,
}

impl Known {
    /// The results that this plan knows.
    pub fn of(plan: &PlanFile) -> Known {
        Known { checks: plan.manifest.checks.clone() }
    }
}

/// The results for the state; `None` when the configuration has no conditions.
pub fn records(known: &Known) -> Option<Vec<CheckRecord>> {
    let results: Vec<CheckResult> = known.checks.iter().map(settled).collect();
    let mut records: Vec<CheckRecord> = by_config(&results)
        .into_iter()
        .map(|((kind, config_addr), instances)| CheckRecord {
            object_kind: word(kind).to_owned(),
            config_addr,
            status: worst(&instances).word().to_owned(),
            objects: has_instances(&instances).then(|| instances.iter().map(|result| object(result)).collect()),
        })
        .collect();
    records.sort_by(|a, b| (&a.object_kind, &a.config_addr).cmp(&(&b.object_kind, &b.config_addr)));
    (!records.is_empty()).then_some(records)
}

/// Writes the results of a plan without a run, if they differ from those in the state.
///
/// # Errors
/// When the store cannot be read or written.
pub async fn store(store: &dyn RunStore, known: &Known) -> Result<(), StoreError> {
    /// Attempts. Another process may write between reading and writing, once in a while.
    const ATTEMPTS: usize = 3;
    let records = records(known);
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

/// Writes an empty state where none exists, so that an apply without changes leaves one too, as OpenTofu does.
///
/// # Errors
/// When the store cannot be read or written.
pub async fn begin_state(store: &dyn RunStore) -> Result<(), StoreError> {
    let now = store.snapshot().await?;
    if now.serial > 0 || !now.is_empty() || store.export().await?.is_some() {
        return Ok(());
    }
    let identity = Some((now.lineage, now.serial));
    // When another process writes meanwhile, or a run holds the state, a state exists.
    store.edit(Edit { seen: now.serial, writes: Writes::default(), identity }).await.map(|_| ())
}

fn word(kind: CheckedKind) -> &'static str {
    match kind {
        CheckedKind::Resource => "resource",
        CheckedKind::Output | CheckedKind::UnusedOutput => "output",
        CheckedKind::Check => "check",
        CheckedKind::Variable => "var",
    }
}

fn object(result: &CheckResult) -> CheckObject {
    CheckObject {
        object_addr: result.address.clone(),
        status: result.status.word().to_owned(),
        failure_messages: result.messages.clone(),
    }
}

/// A check that apply does not evaluate again is unknown from then on.
fn settled(planned: &CheckResult) -> CheckResult {
    let mut result = planned.clone();
    if !result.again {
        result.status = CheckStatus::Unknown;
        result.messages.clear();
    }
    result
}
