//! Results of checks. All results are written to the state together when a term ends, because each write replaces all
//! stored results.

use std::collections::{BTreeMap, BTreeSet};

use weft_graph_format::checked::{CheckedConfig, CheckedObject};
use weft_graph_format::diagnostic::{Diagnostic, HIDDEN_MESSAGE, READ_FOR_CHECK, bare_message, in_one_text};
use weft_state::{CheckObject, CheckRecord, Opaque, StoredStatus, Writes};

use super::Position;
use super::operation::State;
use super::operations::Operations;
use crate::outline::{CHECK, OperationKind, Outline, RunCheck};
use crate::status::Status;
use weft_protocol::diagnostics::decode_diagnostics;

/// Why a check did not pass.
#[derive(Clone, Debug)]
struct CheckFailure {
    /// `true` if the condition is false, `false` if the condition could not be evaluated.
    holds_not: bool,
    /// `None` if the message must not be shown.
    message: Option<String>,
}

/// Results of checks.
#[derive(Debug)]
pub(super) struct Checks {
    failures: BTreeMap<Position, CheckFailure>,
    /// The results in the state.
    stored: Option<Vec<CheckRecord>>,
    /// Whether the results were compared with the results in the state.
    compared: bool,
}

impl Checks {
    /// Creates the results of a term in which no check has failed yet. `stored` are the results in the state.
    pub(super) fn new(stored: Option<Vec<CheckRecord>>) -> Checks {
        Checks { failures: BTreeMap::new(), stored, compared: false }
    }

    /// Records a failed check, if the diagnostics of the operation report one, and returns whether they do. A false
    /// assertion of a check block counts, although it is only a warning and its operation succeeds.
    pub(super) fn note(&mut self, kind: OperationKind, position: Position, diagnostics: &Opaque) -> bool {
        let failure = match kind {
            OperationKind::Read => unread(decode_diagnostics(diagnostics)),
            OperationKind::Check => failed_check(decode_diagnostics(diagnostics)),
            _ => None,
        };
        let failed = failure.is_some();
        self.failures.extend(failure.map(|failure| (position, failure)));
        failed
    }

    /// The write at the end of a term. Returned once, and only if the results differ from the results in the state.
    pub(super) fn take_write(&mut self, outline: &Outline, operations: &Operations) -> Option<Writes> {
        if std::mem::replace(&mut self.compared, true) {
            return None;
        }
        let run = FinishedRun { outline, operations, failures: &self.failures };
        let results = Some(run.results()).filter(|results| !results.is_empty());
        // If the configuration has no conditions, results of an earlier configuration stay in the state.
        let stored = self.stored.as_ref().filter(|stored| !stored.is_empty());
        (results.as_ref() != stored).then(|| Writes { checks: Some(results), ..Writes::default() })
    }
}

/// The failure of a data source that a check reads, among these diagnostics.
fn unread(told: Vec<Diagnostic>) -> Option<CheckFailure> {
    let unread: Vec<Diagnostic> = told.into_iter().filter(|told| told.code == READ_FOR_CHECK).collect();
    (!unread.is_empty()).then(|| CheckFailure { holds_not: true, message: Some(in_one_text(&unread)) })
}

/// The failure of a condition, among these diagnostics.
fn failed_check(told: Vec<Diagnostic>) -> Option<CheckFailure> {
    let failure = told.into_iter().find(|told| told.is_error() || told.is_failed_condition())?;
    let holds_not = failure.is_failed_condition();
    let message = bare_message(&failure.detail).to_owned();
    let is_shown = !message.is_empty() && failure.code != HIDDEN_MESSAGE;
    Some(CheckFailure { holds_not, message: is_shown.then_some(message) })
}

/// The results of one object's operations.
#[derive(Default)]
struct ObjectChecks<'op> {
    open: bool,
    failures: Vec<&'op CheckFailure>,
}

/// Objects that the run did not finish.
#[derive(Default)]
struct Undone<'op> {
    /// The configuration addresses of the objects that the run did not finish. An object with a key has two:
    /// `module.m[0].a["k"]` has `module.m.a` and `module.m.a["k"]`.
    configured: BTreeSet<CheckedConfig>,
    /// The objects that the run did not reach, or did not create or read successfully. After a failed update, or a
    /// create that failed halfway, the object exists, so it is not in this set.
    objects: BTreeSet<&'op CheckedObject>,
}

/// A run at the end of its term.
struct FinishedRun<'run> {
    outline: &'run Outline,
    operations: &'run Operations,
    failures: &'run BTreeMap<Position, CheckFailure>,
}

impl<'run> FinishedRun<'run> {
    /// The operations that results of checks depend on, with their objects.
    fn check_subjects(&self) -> impl Iterator<Item = (Position, &'run CheckedObject)> {
        let outline = self.outline;
        let subjects = outline.check_subjects.iter();
        subjects.filter_map(|(index, object)| Some((outline.position(*index)?, object)))
    }

    /// The objects that the run did not reach, or did not finish successfully.
    fn undone(&self) -> Undone<'run> {
        let mut undone = Undone::default();
        for (position, object) in self.check_subjects() {
            let (kind, state) = (self.outline.at(position).kind, self.operations.state(position));
            if state == State::Done {
                continue;
            }
            undone.configured.extend(object.keyed());
            undone.configured.insert(object.config());
            // The object exists after a failed update, and after a create that failed halfway.
            let there = match state {
                State::Failed { keeps } => keeps || kind == OperationKind::Update,
                _ => false,
            };
            if kind != OperationKind::Check && !there {
                undone.objects.insert(object);
            }
        }
        undone
    }

    /// The message for each check block whose data source could not be read.
    fn unread(&self) -> BTreeMap<&'run CheckedObject, &'run String> {
        let mut found = BTreeMap::new();
        let failures = self.failures.iter().filter_map(|(position, failure)| {
            let operation = self.outline.at(*position);
            let message = failure.message.as_ref().filter(|_| operation.kind == OperationKind::Read)?;
            Some((self.outline.check_subjects.get(&operation.index)?, message))
        });
        let blocks = || self.outline.checks.iter().filter(|check| check.record.object_kind == CHECK);
        for (source, message) in failures {
            // Only the check block itself can refer to its data source.
            let config = source.config();
            let block = blocks().find(|check| check.needs.contains(&config));
            let objects = block.into_iter().flat_map(RunCheck::objects);
            found.extend(objects.filter(|object| object.module() == source.module()).map(|object| (object, message)));
        }
        found
    }

    /// The results of the checks that the run evaluated, by object.
    fn checked(&self) -> BTreeMap<&'run CheckedObject, ObjectChecks<'run>> {
        let mut found: BTreeMap<&CheckedObject, ObjectChecks<'_>> = BTreeMap::new();
        for (position, object) in self.check_subjects() {
            if self.outline.at(position).kind != OperationKind::Check {
                continue;
            }
            let checked = found.entry(object).or_default();
            match self.operations.status(position) {
                Status::Done | Status::Failed => checked.failures.extend(self.failures.get(&position)),
                _ => checked.open = true,
            }
        }
        found
    }

    /// The results in the plan, updated with the results of the run.
    fn results(&self) -> Vec<CheckRecord> {
        if self.outline.checks.is_empty() {
            return Vec::new();
        }
        let (checked, undone, unread) = (self.checked(), self.undone(), self.unread());
        let result = |check: &RunCheck| {
            let mut record = check.record.clone();
            let is_undone = |need: &CheckedConfig| *need != check.config && undone.configured.contains(need);
            let blocked = check.needs.iter().any(is_undone);
            let after_itself = check.needs.contains(&check.config);
            for (object, address) in record.objects.iter_mut().flatten().zip(check.objects()) {
                let (checked, unread) = (checked.get(address), unread.get(address));
                let missing = after_itself && undone.objects.contains(address);
                if checked.is_some() && record.object_kind == CHECK {
                    // Apply evaluates the whole check block again, so the result in the plan does not count.
                    forget(object);
                }
                match checked {
                    _ if blocked => forget(object),
                    _ if let Some(message) = unread => {
                        object.status = StoredStatus::Fail;
                        object.failure_messages = vec![(*message).clone()];
                    }
                    Some(checked) if !checked.failures.is_empty() => fail(object, &checked.failures),
                    _ if missing => forget(object),
                    Some(checked) if !checked.open && object.status == StoredStatus::Unknown => {
                        object.status = StoredStatus::Pass;
                    }
                    _ => {}
                }
            }
            if let Some(objects) = &record.objects {
                let bad = objects.iter().map(|object| &object.status).filter(|status| rank(status) > 0);
                record.status = bad.max_by_key(|status| rank(status)).cloned().unwrap_or(StoredStatus::Pass);
            }
            record
        };
        self.outline.checks.iter().map(result).collect()
    }
}

/// Records the failures of an object's conditions.
fn fail(object: &mut CheckObject, failures: &[&CheckFailure]) {
    let erred = failures.iter().any(|failure| !failure.holds_not);
    object.status = if erred { StoredStatus::Error } else { StoredStatus::Fail };
    // The plan may already have this message.
    let told = object.failure_messages.clone();
    let messages = failures.iter().filter(|failure| failure.holds_not).filter_map(|failure| failure.message.clone());
    object.failure_messages.extend(messages.filter(|message| !told.contains(message)));
    object.failure_messages.sort();
}

/// Marks the conditions of an object that the run did not reach as unknown.
fn forget(object: &mut CheckObject) {
    object.status = StoredStatus::Unknown;
    object.failure_messages.clear();
}

/// The rank of a status. A higher rank hides a lower rank.
fn rank(status: &StoredStatus) -> u8 {
    match status {
        StoredStatus::Pass | StoredStatus::Other(_) => 0,
        StoredStatus::Unknown => 1,
        StoredStatus::Fail => 2,
        StoredStatus::Error => 3,
    }
}

#[cfg(test)]
mod tests {
    use weft_graph_format::diagnostic::FAILED_CONDITION;
    use weft_protocol::diagnostics::encode_diagnostics;

    use super::*;
    use weft_graph_format::checked::CheckedAddress;

    use crate::core::operation::{Intended, Leased};
    use crate::outline::{OutlineOperation, OutlineShard, ShardKey};

    const OBJECT: Position = Position(0);
    const CONDITION: Position = Position(1);

    /// A resource, and a postcondition that needs it.
    fn outline() -> Outline {
        let object = CheckObject {
            object_addr: CheckedAddress::read("a.b"),
            status: StoredStatus::Unknown,
            failure_messages: Vec::new(),
        };
        let record = CheckRecord {
            object_kind: "resource".to_owned(),
            config_addr: CheckedAddress::read("a.b"),
            status: StoredStatus::Unknown,
            objects: Some(vec![object]),
        };
        let operations = vec![
            OutlineOperation::new(0, OperationKind::Create, "a.b", 0),
            OutlineOperation::new(1, OperationKind::Check, "a.b", 0),
        ];
        let config = CheckedConfig::parse("a.b");
        Outline {
            check_subjects: (0..2).map(|index| (index, CheckedObject::parse("a.b"))).collect(),
            checks: vec![RunCheck { record, needs: vec![config.clone()], config }],
            operations,
            shards: vec![OutlineShard::new(ShardKey::Unplaced)],
            ..Outline::default()
        }
    }

    fn operations(object: State, condition: State) -> Operations {
        let mut operations = Operations::new(2, 0);
        operations.restore(OBJECT, object, 1, None);
        operations.restore(CONDITION, condition, 1, None);
        operations
    }

    fn written(checks: &mut Checks, operations: &Operations) -> Option<(StoredStatus, Vec<String>)> {
        let records = checks.take_write(&outline(), operations)?.checks??;
        let object = records.into_iter().next()?.objects?.into_iter().next()?;
        Some((object.status, object.failure_messages))
    }

    #[test]
    fn the_states_of_operations_decide_a_result() {
        use State::{Done, Failed, Skipped};
        for (object, condition, status) in [
            (Done, Done, Some(StoredStatus::Pass)),
            (Done, State::Leased(Leased::AtWorker), Some(StoredStatus::Unknown)),
            (Failed { keeps: false }, Skipped, Some(StoredStatus::Unknown)),
            (State::Intended(Intended::AtWorker), State::Pending, Some(StoredStatus::Unknown)),
        ] {
            let found = written(&mut Checks::new(None), &operations(object, condition));
            assert_eq!(found.map(|(status, _)| status), status, "{object:?} and {condition:?}");
        }
    }

    #[test]
    fn a_false_condition_is_written_once_with_its_message() {
        let mut checks = Checks::new(None);
        let told = Diagnostic::error("Resource postcondition failed", "It must be even.").code(FAILED_CONDITION);
        checks.note(OperationKind::Check, CONDITION, &encode_diagnostics(&[told]));
        let operations = operations(State::Done, State::Failed { keeps: false });
        let found = written(&mut checks, &operations).unwrap();
        assert_eq!(found, (StoredStatus::Fail, vec!["It must be even.".to_owned()]));
        assert_eq!(written(&mut checks, &operations), None, "once in a term");
    }

    #[test]
    fn results_that_the_state_has_are_not_written_again() {
        let operations = operations(State::Done, State::Done);
        let records = Checks::new(None).take_write(&outline(), &operations).unwrap().checks.unwrap();
        assert_eq!(Checks::new(records).take_write(&outline(), &operations), None);
    }
}
