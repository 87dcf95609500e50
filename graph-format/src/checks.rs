//! Results of conditions, grouped by object of the configuration.

use rustc_hash::FxHashMap;

use crate::checked::{CheckedAddress, CheckedConfig, split_module};
use crate::plan_file::{CheckResult, CheckStatus, CheckedKind};

/// The results of the conditions of one object of the configuration.
#[derive(Clone, Debug)]
pub struct ObjectChecks<'r> {
    /// The kind of object.
    pub kind: CheckedKind,
    /// The address of the object, without keys.
    pub config: CheckedAddress,
    /// The results of the instances of the object.
    pub instances: Vec<&'r CheckResult>,
}

impl ObjectChecks<'_> {
    /// The combined status of the instances: the worst one. From worst to best: error, failure, unknown, passed.
    pub fn status(&self) -> CheckStatus {
        let statuses = self.instances.iter().map(|result| result.status);
        statuses.max_by_key(|status| rank(*status)).unwrap_or(CheckStatus::Unknown)
    }

    /// Whether the instances are known and at least one exists.
    pub fn has_instances(&self) -> bool {
        !self.instances.iter().all(|result| matches!(result.status, CheckStatus::Unreached | CheckStatus::Absent))
    }
}

/// Groups results by object of the configuration, in the order in which the objects first appear.
pub fn by_config(results: &[CheckResult]) -> Vec<ObjectChecks<'_>> {
    let mut places: FxHashMap<(CheckedKind, CheckedConfig), usize> = FxHashMap::default();
    let mut found: Vec<ObjectChecks<'_>> = Vec::new();
    for result in results {
        let config = result.address.object().config();
        let place = *places.entry((result.kind, config.clone())).or_insert_with(|| {
            found.push(ObjectChecks { kind: result.kind, config: config.into(), instances: Vec::new() });
            found.len() - 1
        });
        found[place].instances.push(result);
    }
    found
}

fn rank(status: CheckStatus) -> u8 {
    match status {
        CheckStatus::Pass | CheckStatus::Absent => 0,
        CheckStatus::Unknown | CheckStatus::Unreached => 1,
        CheckStatus::Fail => 2,
        CheckStatus::Error => 3,
    }
}

/// The object of a check operation, given the address of the operation. The address of an assertion's operation is the
/// address of the check block, followed by the number of the assertion in brackets. The object is the check block.
pub fn checked_object(address: &str) -> &str {
    let is_block = || split_module(address).1.starts_with("check.");
    match address.rfind('[') {
        Some(at) if address.ends_with(']') && is_block() => &address[..at],
        _ => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assertions_belong_to_their_block() {
        for (address, object) in [
            ("check.even[0]", "check.even"),
            ("module.m[\"a\"].check.x[2]", "module.m[\"a\"].check.x"),
            ("module.m[\".check.\"].a.b[2]", "module.m[\".check.\"].a.b[2]"),
            ("check.c", "check.c"),
            ("terraform_data.a[0]", "terraform_data.a[0]"),
            ("output.o", "output.o"),
        ] {
            assert_eq!(checked_object(address), object);
        }
    }
}
