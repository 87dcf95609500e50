//! Combines the results of all conditions of an object.

use smol_str::SmolStr;
use weft_graph_format::checked::CheckedAddress;
use weft_graph_format::plan_file::{CheckResult, CheckStatus, CheckedKind};

/// The results of an object's conditions so far.
#[derive(Debug)]
pub(crate) struct ConditionTally {
    pub(crate) kind: CheckedKind,
    pub(crate) address: SmolStr,
    /// The number of conditions.
    count: usize,
    noted: usize,
    worst: Option<CheckStatus>,
    messages: Vec<String>,
}

impl ConditionTally {
    /// Starts without any evaluated condition.
    pub(crate) fn new(kind: CheckedKind, address: SmolStr, count: usize) -> ConditionTally {
        ConditionTally { kind, address, count, noted: 0, worst: None, messages: Vec::new() }
    }

    /// Records the result of a condition.
    pub(crate) fn note(&mut self, status: CheckStatus, message: Option<String>) {
        self.noted += 1;
        self.raise(status);
        self.messages.extend(message);
    }

    /// Records that a dependency of the object has failed, so that its conditions are not evaluated.
    pub(crate) fn dependency_failed(&mut self) {
        (self.count, self.worst) = (0, Some(CheckStatus::Unreached));
    }

    fn raise(&mut self, status: CheckStatus) {
        let rank = |status: CheckStatus| match status {
            CheckStatus::Pass | CheckStatus::Absent => 0,
            CheckStatus::Unknown | CheckStatus::Unreached => 1,
            CheckStatus::Fail => 2,
            CheckStatus::Error => 3,
        };
        if self.worst.is_none_or(|worst| rank(worst) < rank(status)) {
            self.worst = Some(status);
        }
    }

    /// The combined result, with messages sorted as in OpenTofu. Conditions that were not evaluated are unknown. An
    /// output or variable without any evaluated condition counts as not reached.
    pub(crate) fn result(mut self) -> CheckResult {
        self.messages.sort();
        if self.noted < self.count {
            let named = matches!(self.kind, CheckedKind::Output | CheckedKind::UnusedOutput | CheckedKind::Variable);
            self.raise(if named && self.noted == 0 { CheckStatus::Unreached } else { CheckStatus::Unknown });
        }
        let kind = if self.kind == CheckedKind::UnusedOutput { CheckedKind::Output } else { self.kind };
        CheckResult {
            again: true,
            address: CheckedAddress::read(&self.address),
            kind,
            status: self.worst.unwrap_or(CheckStatus::Unknown),
            messages: self.messages,
        }
    }
}
