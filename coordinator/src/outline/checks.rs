//! What a plan knows of conditions, as records of the state.

use weft_graph_format::checks::by_config;
use weft_graph_format::plan_file::{CheckResult, CheckStatus, CheckedKind};
use weft_state::{CheckObject, CheckRecord};

/// The results that a plan knows, as records of the state; `None` when the configuration has no conditions.
pub fn planned_checks(checks: &[CheckResult]) -> Option<Vec<CheckRecord>> {
    let results: Vec<CheckResult> = checks.iter().map(settled).collect();
    let mut records: Vec<CheckRecord> = by_config(&results)
        .into_iter()
        .map(|found| CheckRecord {
            object_kind: word(found.kind).to_owned(),
            status: found.status().word().to_owned(),
            objects: found.has_instances().then(|| found.instances.iter().map(|result| object(result)).collect()),
            config_addr: found.config,
        })
        .collect();
    records.sort_by(|a, b| (&a.object_kind, &a.config_addr).cmp(&(&b.object_kind, &b.config_addr)));
    (!records.is_empty()).then_some(records)
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
