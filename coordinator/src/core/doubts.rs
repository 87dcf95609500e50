//! Operations of which nobody knows whether they took effect, and the evidence that settles them, in the order of the
//! run protocol: the worker's own late word, the object read by its known id, the look-up by its planned identity, the
//! user.

use weft_state::{Attempt, Evidence, FailureKind, OpIndex, Opaque, Outcome, Resolution, StoreStep};

use super::answers::{Doubted, Kept, Resolved, Step};
use super::reports::{NO_OBJECT, failure_kind, lacks_object};
use super::{Coordinator, Phase, Position, WorkerIndex};
use crate::event::{Decision, ProgressKind, UserResolution};
use crate::result::JournalledResult;
use crate::status::Status;
use crate::worker::{Order, Task, TaskDone, TaskResult, Verdict};

/// Why an attempt of an earlier term is in doubt.
const GONE: &str = "a worker that is gone held it";

impl Coordinator {
    /// An open intent becomes a doubt, and evidence is sought.
    pub(super) fn doubt(&mut self, position: Position, reason: String) {
        self.push_doubt(position, reason.clone(), Doubted::Seek(reason));
    }

    /// An open intent whose call is known not to have been made.
    pub(super) fn never_called(&mut self, position: Position, reason: &str) {
        self.push_doubt(position, reason.to_owned(), Doubted::Resolving);
        self.resolve(position, Evidence::Worker, Outcome::Pending, Resolved::Pending);
        self.ops[position as usize].phase = Phase::DoubtInStore;
    }

    fn push_doubt(&mut self, position: Position, reason: String, doubted: Doubted) {
        let op = OpIndex(self.operation(position).index);
        let attempt = Attempt(self.ops[position as usize].attempt);
        self.ops[position as usize].phase = Phase::DoubtInStore;
        self.store(Step::Doubt(position, doubted), StoreStep::Doubt { op, attempt, reason });
    }

    fn resolve(&mut self, position: Position, evidence: Evidence, outcome: Outcome, resolved: Resolved) {
        let op = OpIndex(self.operation(position).index);
        let attempt = Attempt(self.ops[position as usize].attempt);
        self.leave_doubt(position);
        self.ops[position as usize].phase = Phase::ResolveInStore;
        let resolution = Resolution { op, attempt, evidence, outcome };
        self.store(Step::Resolve(position, resolved), StoreStep::Resolve(resolution));
    }

    /// It is in doubt in the store: what can be done about it?
    pub(super) fn seek_evidence(&mut self, position: Position, reason: String) {
        if let Some(holder) = self.ops[position as usize].holder {
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

    /// In doubt since an earlier term. The worker that made the attempt may live and have the result, so its word is
    /// waited for first: as long as it may take to come back, and as long as the call goes on there.
    pub(super) fn await_holder(&mut self, position: Position) {
        let holder = self.ops[position as usize].holder.filter(|holder| !self.roster.workers[*holder].is_dead());
        // In one process the worker is a new one: no earlier one can come.
        let Some(holder) =
            holder.filter(|_| !self.options.fixed_workers && !self.doubts.decisions.contains_key(&position))
        else {
            self.seek_evidence(position, GONE.to_owned());
            return;
        };
        self.ops[position as usize].phase = Phase::AwaitsHolder;
        self.roster.workers[holder].doubts.insert(position);
        let reason = format!("worker {} is asked what came of it", self.roster.workers[holder].id);
        self.tell(position, ProgressKind::Settling { reason }, Opaque::default());
    }

    /// The worker that is waited for has nothing to say, or does not come.
    pub(super) fn holder_is_silent(&mut self, position: Position) {
        if self.stands(position, Status::InDoubt, Phase::AwaitsHolder) {
            self.seek_evidence(position, GONE.to_owned());
        }
    }

    fn queue_settle(&mut self, position: Position) {
        let shard = self.operation(position).shard;
        self.ops[position as usize].phase = Phase::SettleQueued;
        self.backlog.shards[shard as usize].settles.insert(position);
        self.shard_has_work(shard);
    }

    /// The worker that was seeking evidence is gone.
    pub(super) fn requeue_settle(&mut self, position: Position) {
        if matches!(self.ops[position as usize].phase, Phase::AtSettler(_)) {
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
        let task = Task { operation: index, attempt: Attempt(self.ops[position as usize].attempt) };
        let order = Order::Settle {
            shard,
            task,
            holder: self.holder_name(position),
            holder_dead: self.attempt_is_dead(position),
            adopt,
        };
        self.ops[position as usize].phase = Phase::AtSettler(worker);
        self.tally.settling += 1;
        self.roster.workers[worker].settling.insert(position);
        self.order(worker, order);
    }

    /// Nobody seeks evidence for it any more.
    fn stop_settling(&mut self, position: Position) {
        if let Phase::AtSettler(worker) = self.ops[position as usize].phase {
            self.tally.settling -= 1;
            self.roster.workers[worker].settling.remove(&position);
            let shard = self.operation(position).shard;
            if !self.backlog.shards[shard as usize].settles.is_empty() {
                self.shard_has_work(shard);
            }
        }
        self.ops[position as usize].phase = Phase::Idle;
    }

    /// Out of whatever it waits for as a doubt.
    fn leave_doubt(&mut self, position: Position) {
        match self.ops[position as usize].phase {
            Phase::SettleQueued => {
                let shard = self.operation(position).shard;
                self.backlog.shards[shard as usize].settles.remove(&position);
                self.ops[position as usize].phase = Phase::Idle;
            }
            Phase::AtSettler(_) => self.stop_settling(position),
            Phase::Unsettled => {
                self.tally.unsettled -= 1;
                let shard = self.operation(position).shard;
                self.rests(shard, false);
                self.ops[position as usize].phase = Phase::Idle;
            }
            _ => {}
        }
        if let Some(holder) = self.ops[position as usize].holder {
            self.roster.workers[holder].doubts.remove(&position);
        }
    }

    fn attempt_is_dead(&self, position: Position) -> bool {
        let holder = self.ops[position as usize].holder;
        holder.is_some_and(|holder| {
            let worker = &self.roster.workers[holder];
            worker.is_dead() || worker.dead_attempts.contains(&position)
        })
    }

    /// No evidence: it stays in doubt, and so does what depends on it.
    pub(super) fn unsettled(&mut self, position: Position, reason: String) {
        self.leave_doubt(position);
        if let Some(holder) = self.ops[position as usize].holder {
            self.roster.workers[holder].doubts.insert(position);
        }
        self.doubts.decisions.remove(&position);
        self.ops[position as usize].phase = Phase::Unsettled;
        self.tally.unsettled += 1;
        self.tell(position, ProgressKind::InDoubt { reason: reason.clone() }, Opaque::default());
        self.doubts.reasons.insert(position, reason);
        let shard = self.operation(position).shard;
        self.rests(shard, true);
        if !self.options.only_resolve {
            self.spoil(position);
        }
    }

    /// The process that made attempts in doubt is dead now: what was not found may count as not having happened.
    pub(super) fn holder_died(&mut self, holder: WorkerIndex) {
        for position in self.roster.workers[holder].doubts.clone() {
            self.holder_is_silent(position);
            let idle = self.stands(position, Status::InDoubt, Phase::Unsettled);
            if idle && self.operation(position).can_settle() && !self.options.only_resolve {
                self.leave_doubt(position);
                self.mend(position);
                let reason = self.doubts.reasons.get(&position).cloned().unwrap_or_default();
                self.seek_evidence(position, reason);
            }
        }
    }

    /// What a settling worker found.
    pub(super) fn verdict_came(&mut self, worker: WorkerIndex, position: Position, task: Task, verdict: Verdict) {
        let op = &self.ops[position as usize];
        let asked = op.phase == Phase::AtSettler(worker) && op.attempt == task.attempt.0;
        if !asked || op.status != Status::InDoubt {
            return;
        }
        let evidence = match self.doubts.decisions.get(&position) {
            Some(decision) => Evidence::User(decision.word()),
            None if self.operation(position).reads_first => Evidence::Read,
            None => Evidence::Probe,
        };
        match verdict {
            Verdict::Applied(done) => self.resolve_done(position, *done, evidence, Some(worker)),
            Verdict::NotApplied { .. } if matches!(evidence, Evidence::User(_)) => {
                self.unsettled(position, "no object with the id that was given was found".to_owned());
            }
            Verdict::NotApplied { holder_dead } if holder_dead || self.attempt_is_dead(position) => {
                self.resolve(position, evidence, Outcome::Pending, Resolved::Pending);
            }
            Verdict::NotApplied { .. } => {
                let holder = self.holder_name(position);
                let reason = format!(
                    "the object was not found as it should be, but worker {holder}, which made the call, is not known \
                     to be dead, so the call may still take effect"
                );
                self.unsettled(position, reason);
            }
            Verdict::Unknown(reason) => self.unsettled(position, reason),
        }
    }

    /// The late word of the worker that made the attempt.
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
                        self.ops[position as usize].keeps = kind == FailureKind::ObjectKept;
                        let failure = self.failure(position, writes, diagnostics.clone(), kind, true);
                        let resolved = Resolved::Failed(diagnostics);
                        self.resolve(position, Evidence::Worker, Outcome::Failed(failure), resolved);
                    }
                    Err(error) => self.unsettled(position, format!("what was reported cannot be recorded: {error}")),
                }
            }
            TaskResult::NotCalled { .. } => {
                self.acknowledge(position);
                self.resolve(position, Evidence::Worker, Outcome::Pending, Resolved::Pending);
            }
            TaskResult::InDoubt { reason, provider_dead, .. } => {
                self.ops[position as usize].reported = true;
                self.acknowledge(position);
                if provider_dead && let Some(holder) = self.ops[position as usize].holder {
                    self.roster.workers[holder].dead_attempts.insert(position);
                }
                let phase = self.ops[position as usize].phase;
                if phase == Phase::Unsettled {
                    self.leave_doubt(position);
                    self.mend(position);
                    self.seek_evidence(position, reason);
                } else if !matches!(phase, Phase::AtSettler(_)) {
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
        let TaskDone { writes, local, exports, diagnostics } = done;
        match self.results.records.write(writes) {
            Ok(writes) => {
                let kept = Kept { result: JournalledResult { local, exports }, diagnostics, intended: true, by };
                let commit = self.commit_record(position, writes, &kept, true);
                self.resolve(position, evidence, Outcome::Done(commit), Resolved::Done(Box::new(kept)));
            }
            Err(error) => self.unsettled(position, format!("what was found cannot be recorded: {error}")),
        }
    }

    pub(super) fn user_resolves(&mut self, resolution: UserResolution) {
        let Some(position) = self.outline.position(resolution.operation).map(|position| position as u32) else {
            return;
        };
        let op = &self.ops[position as usize];
        let doubtful = matches!(op.status, Status::InDoubt | Status::Intended);
        if !doubtful || op.phase == Phase::ResolveInStore {
            return;
        }
        let waits = op.status == Status::InDoubt && op.phase != Phase::DoubtInStore;
        self.doubts.decisions.insert(position, resolution.decision);
        if waits {
            self.decide(position);
        }
    }

    /// Carries out what the user said of an operation that is in doubt.
    fn decide(&mut self, position: Position) {
        let Some(decision) = self.doubts.decisions.get(&position).cloned() else { return };
        let evidence = Evidence::User(decision.word());
        match decision {
            Decision::Adopt(_) => {
                self.leave_doubt(position);
                if let Some(holder) = self.ops[position as usize].holder {
                    self.roster.workers[holder].doubts.insert(position);
                }
                self.queue_settle(position);
            }
            Decision::Absent | Decision::Retry => {
                self.doubts.decisions.remove(&position);
                self.resolve(position, evidence, Outcome::Pending, Resolved::Pending);
            }
            Decision::Forget => {
                self.doubts.decisions.remove(&position);
                let diagnostics = Opaque::default();
                let failure =
                    self.failure(position, Default::default(), diagnostics.clone(), FailureKind::GivenUp, true);
                self.resolve(position, evidence, Outcome::Failed(failure), Resolved::Failed(diagnostics));
            }
        }
    }
}
