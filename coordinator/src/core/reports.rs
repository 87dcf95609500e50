//! Reports of workers, and their consequences.

use std::sync::Arc;

use tracing::warn;
use weft_mutants::mutant;
use weft_state::{Attempt, CommitRecord, Failure, FailureKind, OpIndex, Opaque, StoreStep, Stray, WorkerId, Writes};

use super::answers::{CommittedResult, StepInStore};
use super::operation::{Doubt, Intended, Leased, State};
use super::operations::Maker;
use super::problems;
use super::results::LateResult;
use super::{Coordinator, Handled, Position, ShardIndex, WorkerIndex};
use crate::operation_event::OperationEventKind;
use crate::outline::{OperationKind, OutlineOperation};
use crate::problems::{no_answer, result_not_recorded};
use crate::process::in_words;
use crate::result::JournalledResult;
use crate::status::Status;
use weft_protocol::diagnostics::encode_diagnostics;
use weft_protocol::{ObjectChange, Order, Report, Task, TaskDone, TaskResult, TaskWrites};

impl Coordinator {
    pub(super) fn said(&mut self, id: &WorkerId, message: Report) -> Handled {
        let Some(index) = self.roster.find(id) else { return Ok(()) };
        match message {
            Report::Intent { task, planned } => self.intent_wanted(index, task, planned),
            Report::Result { task, result } => {
                self.result_came(self.roster.heirs.maker(index, task), task, Arc::unwrap_or_clone(result))
            }
            Report::Settled { task, verdict } => match self.position_of(task) {
                Some(position) => self.verdict_came(index, position, task, verdict),
                None => Ok(()),
            },
            Report::Returned(task) => match self.position_of(task) {
                Some(position)
                    if self.is_current(position, index, task.attempt)
                        && self.operations.state(position) == State::Leased(Leased::AtWorker) =>
                {
                    self.unlease(position)
                }
                _ => Ok(()),
            },
            Report::Refused { shard, diagnostics } => self.shard_refused(index, ShardIndex(shard), diagnostics),
        }
    }

    pub(super) fn position_of(&self, task: Task) -> Option<Position> {
        self.outline.position(task.operation)
    }

    /// The last attempt of an operation, as a task.
    pub(super) fn task(&self, position: Position) -> Task {
        let attempt = Attempt(self.operations.last(position).number);
        Task { operation: self.outline.at(position).index, attempt }
    }

    /// Whether `attempt` is the last attempt of the operation, and `worker` made it.
    pub(super) fn is_current(&self, position: Position, worker: WorkerIndex, attempt: Attempt) -> bool {
        let last = self.operations.last(position);
        last.holder == Some(worker) && last.number == attempt.0
    }

    fn result_came(&mut self, worker: WorkerIndex, task: Task, result: TaskResult) -> Handled {
        let Some(position) = self.position_of(task) else {
            self.order(worker, Order::Acknowledged(task));
            return Ok(());
        };
        if !self.is_current(position, worker, task.attempt) {
            self.superseded(worker, position, task, result);
            return Ok(());
        }
        match self.operations.state(position) {
            State::Leased(Leased::AtWorker) | State::Intended(Intended::AtWorker) => self.take_result(position, result),
            State::Leased(Leased::IntentInStore)
            | State::Intended(Intended::DoubtInStore)
            | State::InDoubt(Doubt::ResolveInStore) => {
                self.results.keep_late(position, LateResult { worker, attempt: task.attempt, result });
                Ok(())
            }
            State::Leased(Leased::ResultInStore) | State::Intended(Intended::ResultInStore) => {
                if mutant!(ResultCountedTwice) { self.take_result(position, result) } else { Ok(()) }
            }
            State::InDoubt(_) => self.worker_settles(position, result),
            State::Done | State::Failed { .. } | State::Refused => {
                self.order(worker, Order::Acknowledged(task));
                Ok(())
            }
            State::Pending | State::Skipped => {
                self.superseded(worker, position, task, result);
                Ok(())
            }
        }
    }

    /// Handles the result of the current attempt.
    pub(super) fn take_result(&mut self, position: Position, result: TaskResult) -> Handled {
        let intended = self.operations.status(position) == Status::Intended;
        match result {
            TaskResult::Done(done) => self.take_done(position, done, intended),
            TaskResult::Failed { diagnostics, unopened: true, .. }
                if !intended && self.goes_to_another(position, &diagnostics)? =>
            {
                Ok(())
            }
            TaskResult::Failed { writes, diagnostics, absence_unproven, .. } => {
                let kind = failure_kind(self.outline.at(position), &writes, absence_unproven);
                if !intended {
                    self.at_end.bare.failed(&self.outline, position, &diagnostics);
                }
                self.take_failed(position, writes, diagnostics, kind, intended)
            }
            TaskResult::InDoubt { reason, provider_dead, .. } if intended => {
                self.outcome_is_unknown(position, provider_dead);
                self.doubt(position, reason)
            }
            // Without an intent, nothing can have changed. So this result is a bug in Weft.
            TaskResult::InDoubt { reason, diagnostics, .. } => {
                let problem = no_answer(reason);
                let told = if diagnostics.0.is_empty() { encode_diagnostics(&[problem]) } else { diagnostics };
                self.fail_unintended(position, told)
            }
            TaskResult::NotCalled { reason } if intended => {
                self.acknowledge(position);
                self.never_called(position, reason)
            }
            TaskResult::NotCalled { .. } => {
                self.acknowledge(position);
                self.unlease(position)
            }
        }
    }

    /// Handles the report that the worker of the last attempt does not know the outcome.
    pub(super) fn outcome_is_unknown(&mut self, position: Position, provider_dead: bool) {
        self.operations.outcome_is_unknown(position);
        if provider_dead && let Some(holder) = self.operations.holder(position) {
            self.roster.attempt_died(holder, position);
        }
    }

    fn take_done(&mut self, position: Position, done: TaskDone, intended: bool) -> Handled {
        if intended && lacks_object(self.outline.at(position), &done.writes) {
            return self.doubt(position, problems::no_object());
        }
        let TaskDone { writes, local, exports, diagnostics, shown } = done;
        let by = self.operations.last(position).maker();
        let kept = CommittedResult { result: JournalledResult { local, exports }, diagnostics, intended, shown, by };
        if self.results.is_recomputed(position) {
            return self.done(position, kept);
        }
        match self.records.write(writes) {
            Ok(writes) => {
                let commit = self.commit_record(position, writes, &kept, intended);
                self.result_is_here(position)?;
                if mutant!(ExportBeforeCommit) {
                    self.keep_result(position, kept.result.clone(), kept.by);
                }
                self.outbox.store(StepInStore::Commit(position, Box::new(kept)), StoreStep::Commit(commit));
                Ok(())
            }
            Err(error) if intended => self.doubt(position, problems::result_unrecordable(&error)),
            Err(error) => {
                let problem = result_not_recorded(&self.outline.at(position).address, error);
                self.fail_unintended(position, encode_diagnostics(&[problem]))
            }
        }
    }

    /// The COMMIT of the current attempt.
    pub(super) fn commit_record(
        &self,
        position: Position,
        writes: Writes,
        kept: &CommittedResult,
        intended: bool,
    ) -> CommitRecord {
        let Task { operation, attempt } = self.task(position);
        let journalled = self.outline.at(position).journalled;
        CommitRecord {
            op: OpIndex(operation),
            attempt,
            worker: self.holder_name(position),
            intended,
            writes,
            result: if journalled { kept.result.encode() } else { Opaque::default() },
        }
    }

    pub(super) fn holder_name(&self, position: Position) -> WorkerId {
        let holder = self.operations.holder(position);
        holder.map(|holder| self.roster.id(holder).clone()).unwrap_or_default()
    }

    /// Fails an operation that has neither an intent nor an object.
    pub(super) fn fail_unintended(&mut self, position: Position, diagnostics: Opaque) -> Handled {
        self.take_failed(position, TaskWrites::default(), diagnostics, FailureKind::Error, false)
    }

    fn take_failed(
        &mut self,
        position: Position,
        writes: TaskWrites,
        diagnostics: Opaque,
        kind: FailureKind,
        intended: bool,
    ) -> Handled {
        if self.results.is_recomputed(position) {
            return self.failed(position, diagnostics, false);
        }
        let writes = match self.records.write(writes) {
            Ok(writes) => writes,
            Err(error) if intended => {
                return self.doubt(position, problems::left_object_unrecordable(&error));
            }
            Err(_) => Writes::default(),
        };
        let failure = self.failure(position, writes, diagnostics.clone(), kind, intended);
        self.result_is_here(position)?;
        let keeps = kind == FailureKind::ObjectKept;
        self.outbox.store(StepInStore::Fail { position, diagnostics, keeps }, StoreStep::Fail(failure));
        Ok(())
    }

    pub(super) fn failure(
        &self,
        position: Position,
        writes: Writes,
        diagnostics: Opaque,
        kind: FailureKind,
        intended: bool,
    ) -> Failure {
        let Task { operation, attempt } = self.task(position);
        let worker = self.holder_name(position);
        Failure { op: OpIndex(operation), attempt, worker, intended, writes, diagnostics, kind }
    }

    /// Orders the worker of the last attempt to forget its result.
    pub(super) fn acknowledge(&mut self, position: Position) {
        if let Some(holder) = self.operations.holder(position) {
            self.order(holder, Order::Acknowledged(self.task(position)));
        }
    }

    /// Whether a worker may report the result of an attempt: the worker made the attempt, or the store no longer has
    /// the name of the worker that made it.
    pub(super) fn may_report(&self, worker: WorkerIndex, position: Position, attempt: Attempt) -> bool {
        match self.operations.maker(position, attempt.0) {
            Maker::Known(maker) => maker == worker,
            Maker::Unrecorded => true,
            Maker::NotMade => false,
        }
    }

    /// Handles the result of an earlier attempt. Objects that differ from the recorded objects are recorded as strays.
    /// The result of an attempt that the worker did not make is ignored. If such a result contains objects, it is not
    /// acknowledged: the store may have lost the record of the attempt, and the worker must keep the evidence.
    pub(super) fn superseded(&mut self, worker: WorkerIndex, position: Position, task: Task, result: TaskResult) {
        let writes = match &result {
            TaskResult::Done(done) => &done.writes,
            TaskResult::Failed { writes, .. } => writes,
            TaskResult::InDoubt { .. } | TaskResult::NotCalled { .. } => &TaskWrites::default(),
        };
        let changes = self.outline.at(position).changes_world && !writes.is_empty();
        if changes && !self.may_report(worker, position, task.attempt) {
            let (address, name) = (&self.outline.at(position).address, in_words(self.roster.id(worker)));
            warn!(
                attempt = task.attempt.0,
                "{name} reported a result of {address} for an attempt that it did not make"
            );
            return;
        }
        if changes {
            for (key, object) in self.records.strays(writes) {
                let stray = Stray {
                    op: OpIndex(task.operation),
                    attempt: task.attempt,
                    worker: self.roster.id(worker).clone(),
                    key,
                    object,
                };
                self.outbox.store(StepInStore::Told, StoreStep::Stray(stray));
                self.tell(position, OperationEventKind::Stray, Opaque::default());
            }
        }
        self.order(worker, Order::Acknowledged(task));
    }
}

/// Whether a finished create names no object. An object may exist that no state contains.
pub(super) fn lacks_object(operation: &OutlineOperation, writes: &TaskWrites) -> bool {
    operation.kind == OperationKind::Create && !puts(operation, writes)
}

/// Whether the writes contain the object of the operation itself.
fn puts(operation: &OutlineOperation, writes: &TaskWrites) -> bool {
    let mut put = writes.objects.iter().filter(|write| matches!(write.change, ObjectChange::Put(_)));
    put.any(|write| write.deposed.is_none() && Some(&write.address) == operation.instance())
}

/// The kind of a failure that a worker reports.
pub(super) fn failure_kind(operation: &OutlineOperation, writes: &TaskWrites, absence_unproven: bool) -> FailureKind {
    match absence_unproven {
        _ if operation.kind == OperationKind::Create && puts(operation, writes) => FailureKind::ObjectKept,
        true => FailureKind::AbsenceUnproven,
        false => FailureKind::Error,
    }
}
