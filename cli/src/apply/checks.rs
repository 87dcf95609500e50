//! What a plan knows of conditions, as the state is to keep it. The coordinator adds what a run decides.

use std::collections::BTreeSet;

use weft_graph_format::address::{ResourceInstance, ResourceMode};
use weft_graph_format::changes::ChangeAction;
use weft_graph_format::graph::Action;
use weft_graph_format::plan_file::{CheckResult, CheckStatus, CheckedKind, PlanFile, UiMode};
use weft_state::{CheckObject, CheckRecord, Edit, EditAnswer, RunStore, StoreError, Writes};

use crate::render::show_json::checks::{by_config, is_unreached, worst};

/// What a plan knows of conditions.
#[derive(Clone, Debug)]
pub struct Known {
    destroys: bool,
    checks: Vec<CheckResult>,
    /// Data sources that are read when the plan is carried out.
    read: BTreeSet<String>,
}

impl Known {
    /// What this plan knows.
    pub fn of(plan: &PlanFile) -> Known {
        let read = plan.changes.resources.iter().filter(|c| c.action == ChangeAction::Only(Action::Read));
        Known {
            destroys: plan.manifest.ui_mode == UiMode::Destroy,
            checks: plan.manifest.checks.clone(),
            read: read.map(|change| change.address.to_string()).collect(),
        }
    }
}

/// The results that state is to have; none when the configuration has no conditions.
pub fn records(known: &Known) -> Option<Vec<CheckRecord>> {
    let destroys = known.destroys;
    let results: Vec<CheckResult> = known.checks.iter().map(|check| settled(check, known)).collect();
    let mut records: Vec<CheckRecord> = by_config(&results)
        .into_iter()
        .map(|((kind, config_addr), instances)| CheckRecord {
            object_kind: word(kind).to_owned(),
            config_addr,
            status: if destroys { CheckStatus::Unknown } else { worst(&instances) }.word().to_owned(),
            objects: (!destroys && !is_unreached(&instances))
                .then(|| instances.iter().map(|result| object(result)).collect()),
        })
        .collect();
    records.sort_by(|a, b| (&a.object_kind, &a.config_addr).cmp(&(&b.object_kind, &b.config_addr)));
    (!records.is_empty()).then_some(records)
}

/// Writes the results of a plan that leads to no run, where they are not what the state has.
///
/// # Errors
/// A store that cannot be read or written.
pub async fn store(store: &dyn RunStore, known: &Known) -> Result<(), StoreError> {
    /// Somebody else may write between reading and writing, once in a while.
    const ATTEMPTS: usize = 3;
    let records = records(known);
    for _ in 0..ATTEMPTS {
        let now = store.snapshot().await?;
        // A configuration without conditions leaves alone what it never wrote.
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

fn settled(planned: &CheckResult, known: &Known) -> CheckResult {
    let mut result = planned.clone();
    // A data source that was read when the plan was made is not looked at again, so nothing is known of it now; nor is
    // an output that nothing needs.
    let address = result.address.parse::<ResourceInstance>().ok();
    let data = address.is_some_and(|address| address.resource.mode == ResourceMode::Data);
    let reached = result.status != CheckStatus::Unreached;
    let passed_by = data && reached && !known.read.contains(&result.address);
    if passed_by || result.kind == CheckedKind::UnusedOutput {
        result.status = CheckStatus::Unknown;
        result.messages.clear();
    }
    result
}
