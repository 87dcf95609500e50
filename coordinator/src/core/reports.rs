//! Reports of workers, and what follows from them.

use std::sync::Arc;

use weft_graph_format::address::DeposedKey;
use weft_mutants::mutant;
use weft_state::{
    Attempt, CommitRecord, Digest, DoubtKey, Failure, FailureKind, Intent, OpIndex, Opaque, StoreStep, Stray, WorkerId,
    Writes,
};

use super::answers::{CommittedResult, StepInStore};
use super::{Coordinator, Doubt, Intended, Leased, Position, ShardIndex, State, WorkerIndex};
use crate::outline::{OperationKind, OutlineOperation};
use crate::problems;
use crate::progress::ProgressKind;
use crate::result::JournalledResult;
use crate::status::Status;
use weft_protocol::diagnostics::encode_diagnostics;
use weft_protocol::{ObjectChange, Order, Report, Task, TaskDone, TaskResult, TaskWrites};

impl Coordinator {
    pub(super) fn said(&mut self, id: &WorkerId, message: Report) {
        let Some(index) = self.roster.names.get(id).copied() else { return };
        match message {
            Report::Intent { task, planned } => self.intent_wanted(index, task, planned),
            Report::Result { task, result } => self.result_came(index, task, Arc::unwrap_or_clone(result)),
            Report::Settled { task, verdict } => {
                if let Some(position) = self.position_of(task) {
                    self.verdict_came(index, position, task, verdict);
                }
            }
            Report::Returned(task) => {
                if let Some(position) = self.position_of(task)
                    && self.is_current(position, index, task.attempt)
                    && self.ops[position].state == State::Leased(Leased::AtWorker)
                {
                    self.unlease(position);
                }
            }
            Report::Refused { shard, diagnostics } => self.shard_refused(index, ShardIndex(shard), diagnostics),
        }
    }

    fn position_of(&self, task: Task) -> Option<Position> {
        self.outline.position(task.operation)
    }

    fn is_current(&self, position: Position, worker: WorkerIndex, attempt: Attempt) -> bool {
        let op = &self.ops[position];
        op.last.holder == Some(worker) && op.last.number == attempt.0
    }

    fn intent_wanted(&mut self, worker: WorkerIndex, task: Task, planned: Digest) {
        let Some(position) = self.position_of(task) else { return };
        let current = self.is_current(position, worker, task.attempt);
        let op = &self.ops[position];
        let free = !(self.course.draining || self.course.paused);
        match (current, op.state) {
            (true, State::Leased(Leased::AtWorker)) if free => {
                if mutant!(CommitWithoutIntent) {
                    return self.order(worker, Order::Granted(task));
                }
                let operation = self.operation(position);
                let target = DoubtKey {
                    address: operation.address.clone(),
                    deposed: operation.deposed.as_deref().and_then(DeposedKey::parse),
                };
                let intent = Intent {
                    op: OpIndex(operation.index),
                    attempt: task.attempt,
                    worker: self.roster.workers[worker].id.clone(),
                    base: self.results.records.revision(&target.address),
                    target,
                    action: operation.action.clone(),
                    planned,
                };
                self.ops[position].state = State::Leased(Leased::IntentInStore);
                self.intent_asked(worker, position);
                self.store(StepInStore::Intent(position), StoreStep::Intent(intent));
            }
            (true, State::Leased(Leased::AtWorker)) => {
                self.order(worker, Order::IntentRefused(task));
                self.unlease(position);
            }
            (true, State::Leased(Leased::IntentInStore)) => {}
            // Asked again after a reconnect: the grant was lost. A draining worker answers that it made no call, and
            // the age of the intent prevents a late call in a term that is not renewed.
            (true, State::Intended(Intended::AtWorker)) => {
                if !self.ahead.waits(position) {
                    self.order(worker, Order::Granted(task));
                }
            }
            // The request may be an old one: only the worker's own report proves that it made no call.
            (true, State::Intended(_) | State::InDoubt(_)) => self.order(worker, Order::Drop(task)),
            _ => self.order(worker, Order::IntentRefused(task)),
        }
    }

    fn result_came(&mut self, worker: WorkerIndex, task: Task, result: TaskResult) {
        let Some(position) = self.position_of(task) else {
            self.order(worker, Order::Acknowledged(task));
            return;
        };
        if !self.is_current(position, worker, task.attempt) {
            self.superseded(worker, position, task, result);
            return;
        }
        match self.ops[position].state {
            State::Leased(Leased::AtWorker) | State::Intended(Intended::AtWorker) => self.take_result(position, result),
            State::Leased(Leased::IntentInStore)
            | State::Intended(Intended::DoubtInStore)
            | State::InDoubt(Doubt::ResolveInStore) => {
                self.results.late.insert(position, (worker, task.attempt, result));
            }
            State::Leased(Leased::ResultInStore) | State::Intended(Intended::ResultInStore) => {
                if mutant!(ResultCountedTwice) {
                    self.take_result(position, result);
                }
            }
            State::InDoubt(_) => self.worker_settles(position, result),
            State::Done | State::Failed { .. } => self.order(worker, Order::Acknowledged(task)),
            State::Pending | State::Skipped => self.superseded(worker, position, task, result),
        }
    }

    /// Handles the result of the current attempt.
    pub(super) fn take_result(&mut self, position: Position, result: TaskResult) {
        let intended = self.ops[position].status() == Status::Intended;
        match result {
            TaskResult::Done(done) => self.take_done(position, done, intended),
            TaskResult::Failed { writes, diagnostics, absence_unproven } => {
                let kind = failure_kind(self.operation(position), &writes, absence_unproven);
                self.take_failed(position, writes, diagnostics, kind, intended);
            }
            TaskResult::InDoubt { reason, provider_dead, .. } if intended => {
                self.ops[position].last.reported = true;
                if provider_dead && let Some(holder) = self.ops[position].last.holder {
                    self.roster.workers[holder].dead_attempts.insert(position);
                }
                self.doubt(position, reason);
            }
            // Nothing was changed, since there was no intent: Weft failed.
            TaskResult::InDoubt { reason, diagnostics, .. } => {
                let words = problems::no_answer(reason);
                let words = if diagnostics.0.is_empty() { encode_diagnostics(&[words]) } else { diagnostics };
                self.take_failed(position, TaskWrites::default(), words, FailureKind::Error, false);
            }
            TaskResult::NotCalled { reason } if intended => {
                self.acknowledge(position);
                self.never_called(position, &reason);
            }
            TaskResult::NotCalled { .. } => {
                self.acknowledge(position);
                self.unlease(position);
            }
        }
    }

    fn take_done(&mut self, position: Position, done: TaskDone, intended: bool) {
        if intended && lacks_object(self.operation(position), &done.writes) {
            self.doubt(position, NO_OBJECT.to_owned());
            return;
        }
        let TaskDone { writes, local, exports, diagnostics, shown } = done;
        let by = self.maker(position);
        let kept = CommittedResult { result: JournalledResult { local, exports }, diagnostics, intended, shown, by };
        if self.results.is_live(position) {
            self.done(position, kept);
            return;
        }
        match self.results.records.write(writes) {
            Ok(writes) => {
                let commit = self.commit_record(position, writes, &kept, intended);
                self.result_is_here(position);
                if mutant!(ExportBeforeCommit) {
                    self.keep_result(position, kept.result.clone(), kept.by);
                }
                self.store(StepInStore::Commit(position, Box::new(kept)), StoreStep::Commit(commit));
            }
            Err(error) if intended => self.doubt(position, format!("the result cannot be recorded: {error}")),
            Err(error) => {
                let words = problems::result_not_recorded(&self.operation(position).address, error);
                let words = encode_diagnostics(&[words]);
                self.take_failed(position, TaskWrites::default(), words, FailureKind::Error, false);
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
        let operation = self.operation(position);
        let op = &self.ops[position];
        CommitRecord {
            op: OpIndex(operation.index),
            attempt: Attempt(op.last.number),
            worker: self.holder_name(position),
            intended,
            writes,
            result: if operation.journalled { kept.result.encode() } else { Opaque::default() },
        }
    }

    /// The worker that made the last attempt, if it has the shard open and the result in it.
    pub(super) fn maker(&self, position: Position) -> Option<WorkerIndex> {
        let op = &self.ops[position];
        op.last.holder.filter(|_| op.last.begun_here)
    }

    pub(super) fn holder_name(&self, position: Position) -> WorkerId {
        let holder = self.ops[position].last.holder;
        holder.map(|holder| self.roster.workers[holder].id.clone()).unwrap_or_default()
    }

    /// Fails an operation that has neither an intent nor an object.
    pub(super) fn fail_unintended(&mut self, position: Position, diagnostics: Opaque) {
        self.take_failed(position, TaskWrites::default(), diagnostics, FailureKind::Error, false);
    }

    fn take_failed(
        &mut self,
        position: Position,
        writes: TaskWrites,
        diagnostics: Opaque,
        kind: FailureKind,
        intended: bool,
    ) {
        if self.results.is_live(position) {
            self.failed(position, diagnostics, false);
            return;
        }
        let writes = match self.results.records.write(writes) {
            Ok(writes) => writes,
            Err(error) if intended => {
                self.doubt(position, format!("the failed call left an object that cannot be recorded: {error}"));
                return;
            }
            Err(_) => Writes::default(),
        };
        let failure = self.failure(position, writes, diagnostics.clone(), kind, intended);
        self.result_is_here(position);
        let keeps = kind == FailureKind::ObjectKept;
        self.store(StepInStore::Fail { position, diagnostics, keeps }, StoreStep::Fail(failure));
    }

    pub(super) fn failure(
        &self,
        position: Position,
        writes: Writes,
        diagnostics: Opaque,
        kind: FailureKind,
        intended: bool,
    ) -> Failure {
        Failure {
            op: OpIndex(self.operation(position).index),
            attempt: Attempt(self.ops[position].last.number),
            worker: self.holder_name(position),
            intended,
            writes,
            diagnostics,
            kind,
        }
    }

    /// Tells the worker of the current attempt to forget its result.
    pub(super) fn acknowledge(&mut self, position: Position) {
        let op = &self.ops[position];
        let task = Task { operation: self.operation(position).index, attempt: Attempt(op.last.number) };
        if let Some(holder) = op.last.holder {
            self.order(holder, Order::Acknowledged(task));
        }
    }

    /// Handles the result of an earlier attempt. Objects that differ from the recorded ones are kept.
    pub(super) fn superseded(&mut self, worker: WorkerIndex, position: Position, task: Task, result: TaskResult) {
        let writes = match &result {
            TaskResult::Done(done) => &done.writes,
            TaskResult::Failed { writes, .. } => writes,
            TaskResult::InDoubt { .. } | TaskResult::NotCalled { .. } => &TaskWrites::default(),
        };
        if self.operation(position).changes_world {
            for (key, object) in self.results.records.strays(writes) {
                let stray = Stray {
                    op: OpIndex(task.operation),
                    attempt: task.attempt,
                    worker: self.roster.workers[worker].id.clone(),
                    key,
                    object,
                };
                self.store(StepInStore::Told, StoreStep::Stray(stray));
                self.tell(position, ProgressKind::Stray, Opaque::default());
            }
        }
        self.order(worker, Order::Acknowledged(task));
    }
}

/// The reason of a doubt: a finished create without an object.
pub(super) const NO_OBJECT: &str = "the create was said to be done, and no object came with it";

/// Whether a finished create names no object. Something may exist that no state knows.
pub(super) fn lacks_object(operation: &OutlineOperation, writes: &TaskWrites) -> bool {
    operation.kind == OperationKind::Create && !puts(operation, writes)
}

/// Whether the operation's own object is written.
fn puts(operation: &OutlineOperation, writes: &TaskWrites) -> bool {
    let mut put = writes.objects.iter().filter(|write| matches!(write.change, ObjectChange::Put(_)));
    put.any(|write| write.deposed.is_none() && write.address.to_string() == operation.address)
}

/// The kind of a failure that a worker reports.
pub(super) fn failure_kind(operation: &OutlineOperation, writes: &TaskWrites, absence_unproven: bool) -> FailureKind {
    match absence_unproven {
        _ if operation.kind == OperationKind::Create && puts(operation, writes) => FailureKind::ObjectKept,
        true => FailureKind::AbsenceUnproven,
        false => FailureKind::Error,
    }
}
