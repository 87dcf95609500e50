//! The checks in a plan as records of the state.

use std::collections::{BTreeMap, BTreeSet};

use weft_graph_format::checked::{CheckedConfig, CheckedObject};
use weft_graph_format::checks::{by_config, checked_object};
use weft_graph_format::plan_file::{CheckResult, CheckStatus, CheckedKind};
use weft_state::{CheckObject, CheckRecord, StoredStatus};

use super::{OperationKind, OutlineOperation, RunCheck};

/// The kind of a check block in results of checks.
pub(crate) const CHECK: &str = "check";

/// The results of checks in a plan, as records of the state; `None` if the configuration has no conditions.
pub fn planned_checks(checks: &[CheckResult]) -> Option<Vec<CheckRecord>> {
    let results: Vec<CheckResult> = checks.iter().map(settled).collect();
    let mut records: Vec<CheckRecord> = by_config(&results)
        .into_iter()
        .map(|found| CheckRecord {
            object_kind: word(found.kind).to_owned(),
            status: stored(found.status()),
            objects: found.has_instances().then(|| found.instances.iter().map(|result| object(result)).collect()),
            config_addr: found.config,
        })
        .collect();
    records.sort_by(|a, b| (&a.object_kind, a.config_addr.text()).cmp(&(&b.object_kind, b.config_addr.text())));
    (!records.is_empty()).then_some(records)
}

/// The checks of a plan, with the dependencies of each check. `needs` has addresses without keys.
pub(super) fn run_checks(records: Vec<CheckRecord>, needs: &BTreeMap<String, Vec<String>>) -> Vec<RunCheck> {
    let check = |record: CheckRecord| RunCheck {
        config: record.config_addr.config(),
        needs: needs
            .get(record.config_addr.text())
            .into_iter()
            .flatten()
            .map(|need| CheckedConfig::parse(need))
            .collect(),
        record,
    };
    records.into_iter().map(check).collect()
}

/// The operations that results of checks depend on, by their numbers, each with its object.
pub(super) fn check_subjects(operations: &[OutlineOperation], checks: &[RunCheck]) -> BTreeMap<u32, CheckedObject> {
    use OperationKind::{Check, Create, Read, Update};
    if checks.is_empty() {
        return BTreeMap::new();
    }
    let objects: BTreeSet<&CheckedObject> = checks.iter().flat_map(RunCheck::objects).collect();
    let needed: BTreeSet<&CheckedConfig> = checks.iter().flat_map(|check| &check.needs).collect();
    let counted = operations.iter().filter(|operation| matches!(operation.kind, Create | Update | Read | Check));
    let found = counted.filter_map(|operation| {
        let is_check = operation.kind == Check;
        let object = if is_check { checked_object(&operation.address) } else { &operation.address };
        let object = CheckedObject::parse(object);
        let is_needed = |config: CheckedConfig| needed.contains(&config);
        let counts = is_check
            || objects.contains(&object)
            || is_needed(object.config())
            || object.keyed().is_some_and(is_needed);
        counts.then_some((operation.index, object))
    });
    found.collect()
}

fn word(kind: CheckedKind) -> &'static str {
    match kind {
        CheckedKind::Resource => "resource",
        CheckedKind::Output | CheckedKind::UnusedOutput => "output",
        CheckedKind::Check => CHECK,
        CheckedKind::Variable => "var",
    }
}

fn object(result: &CheckResult) -> CheckObject {
    CheckObject {
        object_addr: result.address.clone(),
        status: stored(result.status),
        failure_messages: result.messages.clone(),
    }
}

fn stored(status: CheckStatus) -> StoredStatus {
    match status {
        CheckStatus::Pass | CheckStatus::Absent => StoredStatus::Pass,
        CheckStatus::Fail => StoredStatus::Fail,
        CheckStatus::Error => StoredStatus::Error,
        CheckStatus::Unknown | CheckStatus::Unreached => StoredStatus::Unknown,
    }
}

/// The planned result, with the status `unknown` if apply does not evaluate the check again.
fn settled(planned: &CheckResult) -> CheckResult {
    let mut result = planned.clone();
    if !result.again {
        result.status = CheckStatus::Unknown;
        result.messages.clear();
    }
    result
}

#[cfg(test)]
mod tests {
    use weft_graph_format::checked::CheckedAddress;

    use super::*;

    #[test]
    fn an_operation_finds_its_checked_object() {
        use OperationKind::{Check, Create, Delete, Read};
        let operations: Vec<OutlineOperation> = [
            (Create, "module.m[\"k\"].a.b[0]"),
            (Create, "a.unrelated"),
            (Read, "data.a.d[1]"),
            (Delete, "module.m[\"k\"].a.b[1]"),
            (Check, "module.m[\"k\"].check.c[2]"),
            (Check, "module.m[\"k\"].output.o"),
        ]
        .into_iter()
        .zip(0..)
        .map(|((kind, address), index)| OutlineOperation::new(index, kind, address, 0))
        .collect();
        let check = CheckRecord {
            object_kind: "check".to_owned(),
            config_addr: CheckedAddress::read("module.m.check.c"),
            status: StoredStatus::Unknown,
            objects: None,
        };
        let needs = ["module.m.a.b", "data.a.d[1]"].map(str::to_owned).to_vec();
        let needs = BTreeMap::from([(check.config_addr.text().to_owned(), needs)]);
        let found = check_subjects(&operations, &run_checks(vec![check], &needs));
        let wanted = [
            (0, "module.m[\"k\"].a.b[0]"),
            (2, "data.a.d[1]"),
            (4, "module.m[\"k\"].check.c"),
            (5, "module.m[\"k\"].output.o"),
        ];
        assert_eq!(found, wanted.map(|(index, object)| (index, CheckedObject::parse(object))).into());
        assert!(check_subjects(&operations, &[]).is_empty());
    }
}
