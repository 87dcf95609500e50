//! Results of checks. They are written to the state as a whole when a term ends, since each write replaces all of them.

use std::collections::{BTreeMap, BTreeSet};

use weft_graph_format::diagnostic::{Diagnostic, HIDDEN_MESSAGE, READ_FOR_CHECK, in_one_text};
use weft_state::{CheckObject, CheckRecord, Opaque, StoreStep, StoredStatus, Writes};

use super::answers::StepInStore;
use super::{Coordinator, Position, State};
use crate::event::FinishReason;
use crate::outline::{CHECK, CheckSubject, OperationKind};
use crate::status::Status;
use weft_protocol::diagnostics::decode_diagnostics;

/// The results of one object's operations.
#[derive(Default)]
struct Checked<'op> {
    open: bool,
    failures: Vec<&'op CheckFailure>,
}

/// What the run did not do.
#[derive(Default)]
struct Undone<'op> {
    /// Addresses without keys, and with the last key only.
    configured: BTreeSet<&'op str>,
    /// Objects that do not exist. Objects of a create that failed halfway do.
    objects: BTreeSet<&'op str>,
}

/// Why a check did not pass.
#[derive(Clone, Debug)]
pub(super) struct CheckFailure {
    /// The condition is false; otherwise it could not be evaluated.
    holds_not: bool,
    /// `None` where the message must not be shown.
    message: Option<String>,
}

impl Coordinator {
    /// Records the failure of a check. A false assertion is a warning, and its operation is done.
    pub(super) fn note_check(&mut self, position: Position, diagnostics: &Opaque) {
        if self.operation(position).kind == OperationKind::Read {
            let told = decode_diagnostics(diagnostics);
            let unread: Vec<Diagnostic> = told.into_iter().filter(|told| told.code == READ_FOR_CHECK).collect();
            if !unread.is_empty() {
                let message = Some(in_one_text(&unread));
                self.checks.failures.insert(position, CheckFailure { holds_not: true, message });
            }
            return;
        }
        if self.operation(position).kind != OperationKind::Check {
            return;
        }
        let mut reported = decode_diagnostics(diagnostics).into_iter();
        let Some(failure) = reported.find(|one| one.is_error() || one.is_failed_condition()) else { return };
        let holds_not = failure.is_failed_condition();
        let message = Some(failure.detail).filter(|_| failure.code != HIDDEN_MESSAGE);
        self.checks.failures.insert(position, CheckFailure { holds_not, message });
    }

    /// Sends the results of checks to the store at the end of a term, if the store does not have them yet. Returns
    /// whether the end must wait for the answer.
    pub(super) fn write_checks(&mut self, reason: FinishReason) -> bool {
        let early = matches!(
            reason,
            FinishReason::Left | FinishReason::Fenced | FinishReason::StoreRefused | FinishReason::Defect
        );
        if early || self.options.only_resolve || std::mem::replace(&mut self.checks.written, true) {
            return false;
        }
        let results = Some(self.check_results()).filter(|results| !results.is_empty());
        // A configuration without conditions leaves results alone that it never wrote.
        let stored = self.checks.stored.as_ref().filter(|stored| !stored.is_empty());
        if results.as_ref() == stored {
            return false;
        }
        self.store(StepInStore::Told, StoreStep::Checks(Writes { checks: Some(results), ..Writes::default() }));
        true
    }

    /// The operations that results of checks depend on.
    fn check_subjects(&self) -> impl Iterator<Item = (Position, &CheckSubject)> {
        let subjects = self.outline.check_subjects.iter();
        subjects.filter_map(|(index, subject)| Some((self.outline.position(*index)?, subject)))
    }

    /// What the run did not reach, or did not finish well.
    fn undone(&self) -> Undone<'_> {
        let mut undone = Undone::default();
        for (position, subject) in self.check_subjects() {
            let (kind, state) = (self.operation(position).kind, self.ops[position].state);
            if state == State::Done {
                continue;
            }
            undone.configured.extend(subject.keyed.as_deref());
            undone.configured.insert(&subject.config);
            // The object exists after a failed update, and after a create that failed halfway.
            let there = match state {
                State::Failed { keeps } => keeps || kind == OperationKind::Update,
                _ => false,
            };
            if kind != OperationKind::Check && !there {
                undone.objects.insert(&subject.object);
            }
        }
        undone
    }

    /// The message for each check block whose data source could not be read.
    fn unread(&self) -> BTreeMap<&str, &String> {
        let mut found = BTreeMap::new();
        let failures = self.checks.failures.iter().filter_map(|(position, failure)| {
            let operation = self.operation(*position);
            let message = failure.message.as_ref().filter(|_| operation.kind == OperationKind::Read)?;
            let subject = self.outline.check_subjects.get(&operation.index)?;
            Some((&subject.module, &subject.config, message))
        });
        let blocks = || self.outline.checks.iter().filter(|record| record.object_kind == CHECK);
        for (module, config, message) in failures {
            // Only the block itself can refer to its data source.
            let needs = |record: &&CheckRecord| self.outline.check_needs.get(&record.config_addr);
            let Some(record) = blocks().find(|record| needs(record).is_some_and(|needs| needs.contains(config))) else {
                continue;
            };
            let object = self.outline.check_blocks.get(&(record.config_addr.clone(), module.clone()));
            found.extend(object.map(|object| (object.as_str(), message)));
        }
        found
    }

    /// The plan's results, updated with those of the run.
    fn check_results(&self) -> Vec<CheckRecord> {
        if self.outline.checks.is_empty() {
            return Vec::new();
        }
        let mut found: BTreeMap<&str, Checked<'_>> = BTreeMap::new();
        for (position, subject) in self.check_subjects() {
            if self.operation(position).kind != OperationKind::Check {
                continue;
            }
            let checked = found.entry(&subject.object).or_default();
            match self.ops[position].status() {
                Status::Done | Status::Failed => checked.failures.extend(self.checks.failures.get(&position)),
                _ => checked.open = true,
            }
        }
        let undone = self.undone();
        let unread = self.unread();
        let mut records = self.outline.checks.clone();
        for record in &mut records {
            let needs = self.outline.check_needs.get(&record.config_addr).map_or(&[][..], Vec::as_slice);
            let blocked =
                needs.iter().any(|need| *need != record.config_addr && undone.configured.contains(need.as_str()));
            let after_itself = needs.contains(&record.config_addr);
            for object in record.objects.iter_mut().flatten() {
                let checked = found.get(object.object_addr.as_str());
                if checked.is_some() && record.object_kind == CHECK {
                    // Apply evaluates the whole block again.
                    forget(object);
                }
                match checked {
                    _ if blocked => forget(object),
                    _ if let Some(message) = unread.get(object.object_addr.as_str()) => {
                        object.status = StoredStatus::Fail;
                        object.failure_messages = vec![(*message).clone()];
                    }
                    Some(checked) if !checked.failures.is_empty() => {
                        let erred = checked.failures.iter().any(|failure| !failure.holds_not);
                        object.status = if erred { StoredStatus::Error } else { StoredStatus::Fail };
                        let messages = checked.failures.iter().filter(|failure| failure.holds_not);
                        // The plan may already have this message.
                        let told = object.failure_messages.clone();
                        let new = messages.filter_map(|failure| failure.message.clone());
                        object.failure_messages.extend(new.filter(|message| !told.contains(message)));
                        object.failure_messages.sort();
                    }
                    _ if after_itself && undone.objects.contains(object.object_addr.as_str()) => forget(object),
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
        }
        records
    }
}

/// The run did not reach the object.
fn forget(object: &mut CheckObject) {
    object.status = StoredStatus::Unknown;
    object.failure_messages.clear();
}

/// A higher rank hides a lower one.
fn rank(status: &StoredStatus) -> u8 {
    match status {
        StoredStatus::Pass | StoredStatus::Other(_) => 0,
        StoredStatus::Unknown => 1,
        StoredStatus::Fail => 2,
        StoredStatus::Error => 3,
    }
}
