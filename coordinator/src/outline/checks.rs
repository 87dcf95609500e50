//! What a plan knows of conditions, as records of the state.

use std::collections::{BTreeMap, BTreeSet};

use weft_graph_format::address::{InstanceKey, ResourceInstance};
use weft_graph_format::checks::{by_config, checked_object, config_address, split_module};
use weft_graph_format::plan_file::{CheckResult, CheckStatus, CheckedKind};
use weft_state::{CheckObject, CheckRecord, StoredStatus};

use super::{CheckSubject, OperationKind, OutlineOperation};

/// The kind of a check block in results of checks.
pub(crate) const CHECK: &str = "check";

/// The results that a plan knows, as records of the state; `None` when the configuration has no conditions.
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
    records.sort_by(|a, b| (&a.object_kind, &a.config_addr).cmp(&(&b.object_kind, &b.config_addr)));
    (!records.is_empty()).then_some(records)
}

/// The operations that results of checks depend on, by number.
pub fn check_subjects(
    operations: &[OutlineOperation],
    checks: &[CheckRecord],
    needs: &BTreeMap<String, Vec<String>>,
) -> BTreeMap<u32, CheckSubject> {
    use OperationKind::{Check, Create, Read, Update};
    if checks.is_empty() {
        return BTreeMap::new();
    }
    let objects: BTreeSet<&str> =
        checks.iter().flat_map(|record| record.objects.iter().flatten()).map(|o| o.object_addr.as_str()).collect();
    let needed: BTreeSet<&str> = needs.values().flatten().map(String::as_str).collect();
    let counted = operations.iter().filter(|operation| matches!(operation.kind, Create | Update | Read | Check));
    let found = counted.filter_map(|operation| {
        let is_check = operation.kind == Check;
        let object = if is_check { checked_object(&operation.address) } else { &operation.address };
        let (known, subject) = (objects.contains(object), subject(object));
        let of_need = |text: &str| needed.contains(text);
        let counts = is_check || known || of_need(&subject.config) || subject.keyed.as_deref().is_some_and(of_need);
        counts.then_some((operation.index, subject))
    });
    found.collect()
}

/// The addresses of check blocks, by their address without keys and their module instance.
pub fn check_blocks(checks: &[CheckRecord]) -> BTreeMap<(String, String), String> {
    let blocks = checks.iter().filter(|record| record.object_kind == CHECK);
    let objects = blocks.flat_map(|record| record.objects.iter().flatten().map(|object| (&record.config_addr, object)));
    let found = objects.map(|(config, object)| {
        let module = split_module(&object.object_addr).0.unwrap_or_default();
        ((config.clone(), module.to_owned()), object.object_addr.clone())
    });
    found.collect()
}

fn subject(object: &str) -> CheckSubject {
    let (module, config, keyed) = match object.parse::<ResourceInstance>() {
        Ok(address) => {
            let config = address.config().to_string();
            let keyed = (address.key != InstanceKey::None).then(|| format!("{config}{}", address.key));
            (address.module.to_string(), config, keyed)
        }
        Err(_) => (split_module(object).0.unwrap_or_default().to_owned(), config_address(object), None),
    };
    CheckSubject { object: object.to_owned(), module, config, keyed }
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

/// A check that apply does not evaluate again is unknown from then on.
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
        .map(|((kind, address), index)| OutlineOperation::new(index, kind, address, "", 0))
        .collect();
        let check = CheckRecord {
            object_kind: "check".to_owned(),
            config_addr: "module.m.check.c".to_owned(),
            status: StoredStatus::Unknown,
            objects: None,
        };
        let needs = ["module.m.a.b", "data.a.d[1]"].map(str::to_owned).to_vec();
        let needs = BTreeMap::from([(check.config_addr.clone(), needs)]);
        let found = check_subjects(&operations, &[check], &needs);
        let found: Vec<_> = found
            .iter()
            .map(|(index, of)| {
                (*index, of.object.as_str(), of.module.as_str(), of.config.as_str(), of.keyed.as_deref())
            })
            .collect();
        let m = "module.m[\"k\"]";
        assert_eq!(
            found,
            [
                (0, "module.m[\"k\"].a.b[0]", m, "module.m.a.b", Some("module.m.a.b[0]")),
                (2, "data.a.d[1]", "", "data.a.d", Some("data.a.d[1]")),
                (4, "module.m[\"k\"].check.c", m, "module.m.check.c", None),
                (5, "module.m[\"k\"].output.o", m, "module.m.output.o", None),
            ]
        );
        assert!(check_subjects(&operations, &[], &needs).is_empty());
    }
}
