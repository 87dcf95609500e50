//! What workers say, and what follows from it.

use weft_state::{
    Attempt, CommitRecord, DeposedKey, Digest, DoubtKey, Failure, FailureKind, Intent, OpIndex, Opaque, StoreStep,
    Stray, WorkerId, Writes,
};

use super::answers::{Kept, Step};
use super::{Coordinator, Phase, Position, WorkerIndex};
use crate::event::ProgressKind;
use crate::outline::{OperationKind, OutlineOperation};
use crate::result::{JournalledResult, encode_diagnostics};
use crate::status::Status;
use crate::worker::{FromWorker, ObjectChange, Order, Task, TaskDone, TaskResult, TaskWrites};
use weft_graph_format::diagnostic::Diagnostic;

impl Coordinator {
    pub(super) fn said(&mut self, id: &WorkerId, message: FromWorker) {
        let Some(index) = self.roster.names.get(id).copied() else { return };
        match message {
            FromWorker::Intent { task, planned } => self.intent_wanted(index, task, planned),
            FromWorker::Result { task, result } => self.result_came(index, task, result),
            FromWorker::Settled { task, verdict } => {
                if let Some(position) = self.position_of(task) {
                    self.verdict_came(index, position, task, verdict);
                }
            }
            FromWorker::Returned(task) => {
                if let Some(position) = self.position_of(task)
                    && self.is_current(position, index, task.attempt)
                    && self.stands(position, Status::Leased, Phase::AtWorker)
                {
                    self.unlease(position);
                }
            }
            FromWorker::Refused { shard, diagnostics } => self.shard_refused(index, shard, diagnostics),
        }
    }

    fn position_of(&self, task: Task) -> Option<Position> {
        self.outline.position(task.operation).map(|position| position as u32)
    }

    fn is_current(&self, position: Position, worker: WorkerIndex, attempt: Attempt) -> bool {
        let op = &self.ops[position as usize];
        op.holder == Some(worker) && op.attempt == attempt.0
    }

    pub(super) fn stands(&self, position: Position, status: Status, phase: Phase) -> bool {
        let op = &self.ops[position as usize];
        (op.status, op.phase) == (status, phase)
    }

    fn intent_wanted(&mut self, worker: WorkerIndex, task: Task, planned: Digest) {
        let Some(position) = self.position_of(task) else { return };
        let current = self.is_current(position, worker, task.attempt);
        let op = &self.ops[position as usize];
        let free = !(self.course.draining || self.course.paused);
        match (current, op.status, op.phase) {
            (true, Status::Leased, Phase::AtWorker) if free => {
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
                self.ops[position as usize].phase = Phase::IntentInStore;
                self.store(Step::Intent(position), StoreStep::Intent(intent));
            }
            (true, Status::Leased, Phase::AtWorker) => {
                self.order(worker, Order::IntentRefused(task));
                self.unlease(position);
            }
            (true, Status::Leased, Phase::IntentInStore) => {}
            // Asked again after a reconnect: the grant got lost. A draining worker answers that it did not call, and
            // the age of the intent keeps it from calling late in a term that is not renewed.
            (true, Status::Intended, Phase::AtWorker) => self.order(worker, Order::Granted(task)),
            // A request may be an old one: only the worker's word that it did not call is evidence.
            (true, Status::Intended | Status::InDoubt, _) => self.order(worker, Order::Drop(task)),
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
        let op = &self.ops[position as usize];
        match (op.status, op.phase) {
            (Status::Leased | Status::Intended, Phase::AtWorker) => self.take_result(position, result),
            (Status::Leased, Phase::IntentInStore) | (Status::Intended, Phase::DoubtInStore) => {
                self.results.late.insert(position, (worker, task.attempt, result));
            }
            (Status::Leased | Status::Intended, _) => {}
            (Status::InDoubt, Phase::ResolveInStore) => {
                self.results.late.insert(position, (worker, task.attempt, result));
            }
            (Status::InDoubt, _) => self.worker_settles(position, result),
            (Status::Done | Status::Failed, _) => self.order(worker, Order::Acknowledged(task)),
            (Status::Pending | Status::Skipped, _) => self.superseded(worker, position, task, result),
        }
    }

    /// The result of the current attempt.
    pub(super) fn take_result(&mut self, position: Position, result: TaskResult) {
        let intended = self.ops[position as usize].status == Status::Intended;
        match result {
            TaskResult::Done(done) => self.take_done(position, done, intended),
            TaskResult::Failed { writes, diagnostics, absence_unproven } => {
                let kind = failure_kind(self.operation(position), &writes, absence_unproven);
                self.take_failed(position, writes, diagnostics, kind, intended);
            }
            TaskResult::InDoubt { reason, provider_dead, .. } if intended => {
                self.ops[position as usize].reported = true;
                if provider_dead && let Some(holder) = self.ops[position as usize].holder {
                    self.roster.workers[holder].dead_attempts.insert(position);
                }
                self.doubt(position, reason);
            }
            // Nothing was changed, since there was no intent: our own failure.
            TaskResult::InDoubt { reason, diagnostics, .. } => {
                let words = Diagnostic::error("The provider did not answer", reason);
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
        let TaskDone { writes, local, exports, diagnostics } = done;
        let by = self.maker(position);
        let kept = Kept { result: JournalledResult { local, exports }, diagnostics, intended, by };
        if self.ops[position as usize].live {
            self.done(position, kept);
            return;
        }
        match self.results.records.write(writes) {
            Ok(writes) => {
                let commit = self.commit_record(position, writes, &kept, intended);
                self.result_is_here(position);
                self.store(Step::Commit(position, Box::new(kept)), StoreStep::Commit(commit));
            }
            Err(error) if intended => self.doubt(position, format!("the result cannot be recorded: {error}")),
            Err(error) => {
                let words = Diagnostic::error("The result cannot be recorded", error.to_string());
                let words = encode_diagnostics(&[words.about(self.operation(position).address.clone())]);
                self.take_failed(position, TaskWrites::default(), words, FailureKind::Error, false);
            }
        }
    }

    /// A COMMIT of the current attempt.
    pub(super) fn commit_record(
        &self,
        position: Position,
        writes: Writes,
        kept: &Kept,
        intended: bool,
    ) -> CommitRecord {
        let operation = self.operation(position);
        let op = &self.ops[position as usize];
        CommitRecord {
            op: OpIndex(operation.index),
            attempt: Attempt(op.attempt),
            worker: self.holder_name(position),
            intended,
            writes,
            result: if operation.journalled { kept.result.encode() } else { Opaque::default() },
        }
    }

    /// The worker that made the last attempt, if it has the shard open with that result in it.
    pub(super) fn maker(&self, position: Position) -> Option<WorkerIndex> {
        let op = &self.ops[position as usize];
        op.holder.filter(|_| op.begun_here)
    }

    pub(super) fn holder_name(&self, position: Position) -> WorkerId {
        let holder = self.ops[position as usize].holder;
        holder.map(|holder| self.roster.workers[holder].id.clone()).unwrap_or_default()
    }

    /// A failure without intent and without an object.
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
        if self.ops[position as usize].live {
            self.failed(position, diagnostics);
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
        self.ops[position as usize].keeps = kind == FailureKind::ObjectKept;
        self.result_is_here(position);
        self.store(Step::Fail(position, diagnostics), StoreStep::Fail(failure));
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
            attempt: Attempt(self.ops[position as usize].attempt),
            worker: self.holder_name(position),
            intended,
            writes,
            diagnostics,
            kind,
        }
    }

    /// The current attempt's worker may forget its result.
    pub(super) fn acknowledge(&mut self, position: Position) {
        let op = &self.ops[position as usize];
        let task = Task { operation: self.operation(position).index, attempt: Attempt(op.attempt) };
        if let Some(holder) = op.holder {
            self.order(holder, Order::Acknowledged(task));
        }
    }

    /// A result of an attempt that is no longer the current one: objects that differ from what is recorded are kept.
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
                self.store(Step::Told, StoreStep::Stray(stray));
                self.tell(position, ProgressKind::Stray, Opaque::default());
            }
        }
        self.order(worker, Order::Acknowledged(task));
    }
}

/// Why a finished create that gives no object is in doubt.
pub(super) const NO_OBJECT: &str = "the create was said to be done, and no object came with it";

/// Whether a create that is said to be done names no object: something may have been made, and nobody would know it.
pub(super) fn lacks_object(operation: &OutlineOperation, writes: &TaskWrites) -> bool {
    operation.kind == OperationKind::Create && !puts(operation, writes)
}

/// Whether the object of the operation itself is written.
fn puts(operation: &OutlineOperation, writes: &TaskWrites) -> bool {
    writes.objects.iter().any(|write| {
        matches!(write.change, ObjectChange::Put(_)) && write.address == operation.address && write.deposed.is_none()
    })
}

/// The kind of a failure that a worker reports.
pub(super) fn failure_kind(operation: &OutlineOperation, writes: &TaskWrites, absence_unproven: bool) -> FailureKind {
    match absence_unproven {
        _ if operation.kind == OperationKind::Create && puts(operation, writes) => FailureKind::ObjectKept,
        true => FailureKind::AbsenceUnproven,
        false => FailureKind::Error,
    }
}
