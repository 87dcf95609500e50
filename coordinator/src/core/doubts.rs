//! Operations whose outcome is unknown, and the evidence that settles them, in the order of the run protocol: the late
//! report of the worker itself, reading the object by its known id, looking it up by its planned identity, the user.

use weft_mutants::mutant;
use weft_state::{Attempt, DoubtOutcome, Evidence, FailureKind, OpIndex, Opaque, Resolution, StoreStep};

use super::answers::{CommittedResult, Doubted, ResolveOutcome, StepInStore};
use super::reports::{NO_OBJECT, failure_kind, lacks_object};
use super::{Coordinator, Doubt, Intended, Position, State, WorkerIndex};
use crate::event::{Decision, UserResolution};
use crate::progress::ProgressKind;
use crate::result::JournalledResult;
use weft_protocol::{Order, SettleOrder, SettleVerdict, Task, TaskDone, TaskResult};

/// The reason of a doubt from an earlier term.
const GONE: &str = "a worker that is gone held it";

impl Coordinator {
    /// Turns an open intent into a doubt, and looks for evidence.
    pub(super) fn doubt(&mut self, position: Position, reason: String) {
        if mutant!(DoubtDropped) {
            return self.never_called(position, &reason);
        }
        self.push_doubt(position, reason.clone(), Doubted::Seek(reason));
    }

    /// Resolves an open intent whose call is known not to have been made.
    pub(super) fn never_called(&mut self, position: Position, reason: &str) {
        self.push_doubt(position, reason.to_owned(), Doubted::Resolving);
        self.push_resolve(position, Evidence::Worker, DoubtOutcome::Pending, ResolveOutcome::Pending);
    }

    fn push_doubt(&mut self, position: Position, reason: String, doubted: Doubted) {
        let op = OpIndex(self.operation(position).index);
        let attempt = Attempt(self.ops[position].last.number);
        self.ops[position].state = State::Intended(Intended::DoubtInStore);
        self.store(StepInStore::Doubt(position, doubted), StoreStep::Doubt { op, attempt, reason });
    }

    fn resolve(&mut self, position: Position, evidence: Evidence, outcome: DoubtOutcome, resolved: ResolveOutcome) {
        self.leave_doubt(position);
        self.ops[position].state = State::InDoubt(Doubt::ResolveInStore);
        self.push_resolve(position, evidence, outcome, resolved);
    }

    fn push_resolve(
        &mut self,
        position: Position,
        evidence: Evidence,
        outcome: DoubtOutcome,
        resolved: ResolveOutcome,
    ) {
        let op = OpIndex(self.operation(position).index);
        let attempt = Attempt(self.ops[position].last.number);
        let resolution = Resolution { op, attempt, evidence, outcome };
        self.store(StepInStore::Resolve(position, resolved), StoreStep::Resolve(resolution));
    }

    /// Decides how to settle a doubt that the store has.
    pub(super) fn seek_evidence(&mut self, position: Position, reason: String) {
        if let Some(holder) = self.ops[position].last.holder {
            self.roster.workers[holder].doubts.insert(position);
        }
        if self.doubts.decisions.contains_key(&position) {
            self.decide(position);
        } else if self.operation(position).can_settle() && !self.options.only_resolve {
            self.doubts.reasons.insert(position, reason.clone());
            self.queue_settle(position);
            self.tell(position, ProgressKind::Settling { reason }, Opaque::default());
        } else {
            self.unsettled(position, reason);
        }
    }

    /// A doubt from an earlier term. The worker that made the attempt may be alive and have the result, so its report
    /// is awaited first: as long as it may take to reconnect, and as long as its call runs.
    pub(super) fn await_holder(&mut self, position: Position) {
        let holder = self.ops[position].last.holder.filter(|holder| !self.roster.workers[*holder].is_dead());
        // In one process every worker is new, so none of an earlier term can reconnect.
        let Some(holder) =
            holder.filter(|_| !self.options.fixed_workers && !self.doubts.decisions.contains_key(&position))
        else {
            self.seek_evidence(position, GONE.to_owned());
            return;
        };
        self.ops[position].state = State::InDoubt(Doubt::AwaitsHolder);
        self.roster.workers[holder].doubts.insert(position);
        let reason = format!("worker {} is asked what came of it", self.roster.workers[holder].id);
        self.tell(position, ProgressKind::Settling { reason }, Opaque::default());
    }

    /// The awaited worker reports nothing, or does not reconnect.
    pub(super) fn holder_is_silent(&mut self, position: Position) {
        if self.ops[position].state == State::InDoubt(Doubt::AwaitsHolder) {
            self.seek_evidence(position, GONE.to_owned());
        }
    }

    fn queue_settle(&mut self, position: Position) {
        let shard = self.operation(position).shard;
        self.ops[position].state = State::InDoubt(Doubt::Queued);
        self.backlog.shards[shard].settles.insert(position);
        self.shard_has_work(shard);
    }

    /// The worker that was looking for evidence is gone.
    pub(super) fn requeue_settle(&mut self, position: Position) {
        if matches!(self.ops[position].state, State::InDoubt(Doubt::AtSettler(_))) {
            self.stop_settling(position);
            self.queue_settle(position);
        }
    }

    pub(super) fn start_settling(&mut self, position: Position, worker: WorkerIndex) {
        let operation = self.operation(position);
        let (shard, index) = (operation.shard, operation.index);
        let adopt = match self.doubts.decisions.get(&position) {
            Some(Decision::Adopt(id)) => Some(id.clone()),
            _ => None,
        };
        let task = Task { operation: index, attempt: Attempt(self.ops[position].last.number) };
        let order = Order::Settle(SettleOrder {
            shard: shard.0,
            task,
            holder: self.holder_name(position),
            holder_dead: self.attempt_is_dead(position),
            adopt,
        });
        self.ops[position].state = State::InDoubt(Doubt::AtSettler(worker));
        self.tally.settling += 1;
        self.roster.workers[worker].settling.insert(position);
        self.order(worker, order);
    }

    /// Ends the search for evidence.
    fn stop_settling(&mut self, position: Position) {
        if let State::InDoubt(Doubt::AtSettler(worker)) = self.ops[position].state {
            self.tally.settling -= 1;
            self.roster.workers[worker].settling.remove(&position);
            let shard = self.operation(position).shard;
            if !self.backlog.shards[shard].settles.is_empty() {
                self.shard_has_work(shard);
            }
        }
        self.ops[position].state = State::InDoubt(Doubt::Open);
    }

    /// Takes a doubt out of every queue that it is in.
    fn leave_doubt(&mut self, position: Position) {
        match self.ops[position].state {
            State::InDoubt(Doubt::Queued) => {
                let shard = self.operation(position).shard;
                self.backlog.shards[shard].settles.remove(&position);
                self.ops[position].state = State::InDoubt(Doubt::Open);
            }
            State::InDoubt(Doubt::AtSettler(_)) => self.stop_settling(position),
            State::InDoubt(Doubt::Unsettled) => {
                self.tally.unsettled -= 1;
                let shard = self.operation(position).shard;
                self.rests(shard, false);
                self.ops[position].state = State::InDoubt(Doubt::Open);
            }
            _ => {}
        }
        if let Some(holder) = self.ops[position].last.holder {
            self.roster.workers[holder].doubts.remove(&position);
        }
    }

    fn attempt_is_dead(&self, position: Position) -> bool {
        let holder = self.ops[position].last.holder;
        holder.is_some_and(|holder| {
            let worker = &self.roster.workers[holder];
            worker.is_dead() || worker.dead_attempts.contains(&position)
        })
    }

    /// There is no evidence. The operation stays in doubt, and its dependents are blocked.
    pub(super) fn unsettled(&mut self, position: Position, reason: String) {
        self.leave_doubt(position);
        if let Some(holder) = self.ops[position].last.holder {
            self.roster.workers[holder].doubts.insert(position);
        }
        self.doubts.decisions.remove(&position);
        self.ops[position].state = State::InDoubt(Doubt::Unsettled);
        self.tally.unsettled += 1;
        self.tell(position, ProgressKind::InDoubt { reason: reason.clone() }, Opaque::default());
        self.doubts.reasons.insert(position, reason);
        let shard = self.operation(position).shard;
        self.rests(shard, true);
        if !self.options.only_resolve {
            self.spoil(position);
        }
    }

    /// The process that made the attempts is dead. An object that was not found may now count as not created.
    pub(super) fn holder_died(&mut self, holder: WorkerIndex) {
        for position in self.roster.workers[holder].doubts.clone() {
            self.holder_is_silent(position);
            let idle = self.ops[position].state == State::InDoubt(Doubt::Unsettled);
            if idle && self.operation(position).can_settle() && !self.options.only_resolve {
                self.leave_doubt(position);
                self.mend(position);
                let reason = self.doubts.reasons.get(&position).cloned().unwrap_or_default();
                self.seek_evidence(position, reason);
            }
        }
    }

    /// Handles the verdict of a worker that looked for evidence.
    pub(super) fn verdict_came(&mut self, worker: WorkerIndex, position: Position, task: Task, verdict: SettleVerdict) {
        let op = &self.ops[position];
        if op.state != State::InDoubt(Doubt::AtSettler(worker)) || op.last.number != task.attempt.0 {
            return;
        }
        let evidence = match self.doubts.decisions.get(&position) {
            Some(decision) => Evidence::User(decision.word()),
            None if self.operation(position).reads_first => Evidence::Read,
            None => Evidence::Probe,
        };
        match verdict {
            SettleVerdict::Applied(done) => self.resolve_done(position, *done, evidence, Some(worker)),
            SettleVerdict::NotApplied { .. } if matches!(evidence, Evidence::User(_)) => {
                self.unsettled(position, "no object with the id that was given was found".to_owned());
            }
            SettleVerdict::NotApplied { holder_dead }
                if holder_dead || self.attempt_is_dead(position) || mutant!(RetryOfBegunCall) =>
            {
                self.resolve(position, evidence, DoubtOutcome::Pending, ResolveOutcome::Pending);
            }
            SettleVerdict::NotApplied { .. } => {
                let holder = self.holder_name(position);
                let reason = format!(
                    "the object was not found as it should be, but worker {holder}, which made the call, is not known \
                     to be dead, so the call may still take effect"
                );
                self.unsettled(position, reason);
            }
            SettleVerdict::Unknown(reason) => self.unsettled(position, reason),
        }
    }

    /// Handles the late report of the worker that made the attempt.
    pub(super) fn worker_settles(&mut self, position: Position, result: TaskResult) {
        match result {
            TaskResult::Done(done) => {
                let by = self.maker(position);
                self.resolve_done(position, done, Evidence::Worker, by);
            }
            TaskResult::Failed { writes, diagnostics, absence_unproven } => {
                let kind = failure_kind(self.operation(position), &writes, absence_unproven);
                match self.results.records.write(writes) {
                    Ok(writes) => {
                        let failure = self.failure(position, writes, diagnostics.clone(), kind, true);
                        let resolved = ResolveOutcome::Failed { diagnostics, keeps: kind == FailureKind::ObjectKept };
                        self.resolve(position, Evidence::Worker, DoubtOutcome::Failed(failure), resolved);
                    }
                    Err(error) => self.unsettled(position, format!("what was reported cannot be recorded: {error}")),
                }
            }
            TaskResult::NotCalled { .. } => {
                self.acknowledge(position);
                self.resolve(position, Evidence::Worker, DoubtOutcome::Pending, ResolveOutcome::Pending);
            }
            TaskResult::InDoubt { reason, provider_dead, .. } => {
                self.ops[position].last.reported = true;
                self.acknowledge(position);
                if provider_dead && let Some(holder) = self.ops[position].last.holder {
                    self.roster.workers[holder].dead_attempts.insert(position);
                }
                let state = self.ops[position].state;
                if state == State::InDoubt(Doubt::Unsettled) {
                    self.leave_doubt(position);
                    self.mend(position);
                    self.seek_evidence(position, reason);
                } else if !matches!(state, State::InDoubt(Doubt::AtSettler(_))) {
                    self.leave_doubt(position);
                    self.seek_evidence(position, reason);
                }
            }
        }
    }

    fn resolve_done(&mut self, position: Position, done: TaskDone, evidence: Evidence, by: Option<WorkerIndex>) {
        if lacks_object(self.operation(position), &done.writes) {
            self.unsettled(position, NO_OBJECT.to_owned());
            return;
        }
        let TaskDone { writes, local, exports, diagnostics, shown } = done;
        match self.results.records.write(writes) {
            Ok(writes) => {
                let kept = CommittedResult {
                    result: JournalledResult { local, exports },
                    diagnostics,
                    intended: true,
                    shown,
                    by,
                };
                let commit = self.commit_record(position, writes, &kept, true);
                self.resolve(position, evidence, DoubtOutcome::Done(commit), ResolveOutcome::Done(Box::new(kept)));
            }
            Err(error) => self.unsettled(position, format!("what was found cannot be recorded: {error}")),
        }
    }

    pub(super) fn user_resolves(&mut self, resolution: UserResolution) {
        let Some(position) = self.outline.position(resolution.operation) else {
            return;
        };
        let waits = match self.ops[position].state {
            State::Intended(_) => false,
            State::InDoubt(Doubt::ResolveInStore) => return,
            State::InDoubt(_) => true,
            State::Pending | State::Leased(_) | State::Done | State::Failed { .. } | State::Skipped => return,
        };
        self.doubts.decisions.insert(position, resolution.decision);
        if waits {
            self.decide(position);
        }
    }

    /// Carries out the user's decision on a doubt.
    fn decide(&mut self, position: Position) {
        let Some(decision) = self.doubts.decisions.get(&position).cloned() else { return };
        let evidence = Evidence::User(decision.word());
        match decision {
            Decision::Adopt(_) => {
                self.leave_doubt(position);
                if let Some(holder) = self.ops[position].last.holder {
                    self.roster.workers[holder].doubts.insert(position);
                }
                self.queue_settle(position);
            }
            Decision::Absent | Decision::Retry => {
                self.doubts.decisions.remove(&position);
                self.resolve(position, evidence, DoubtOutcome::Pending, ResolveOutcome::Pending);
            }
            Decision::Forget => {
                self.doubts.decisions.remove(&position);
                let diagnostics = Opaque::default();
                let failure =
                    self.failure(position, Default::default(), diagnostics.clone(), FailureKind::GivenUp, true);
                self.resolve(
                    position,
                    evidence,
                    DoubtOutcome::Failed(failure),
                    ResolveOutcome::Failed { diagnostics, keeps: false },
                );
            }
        }
    }
}
