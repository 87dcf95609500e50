//! Operations whose outcome is unknown, and the evidence that settles them. The kinds of evidence, in the order of the
//! run protocol: a late report of the worker itself, the object with the known id, the object with the planned
//! identity, and the decision of the user.

use weft_mutants::mutant;
use weft_state::{DoubtOutcome, Evidence, FailureKind, OpIndex, Opaque, Resolution, StoreStep};

use super::answers::{CommittedResult, Doubted, ResolveOutcome, StepInStore};
use super::operation::{Doubt, Intended, State};
use super::problems::{self, Cause};
use super::reports::{failure_kind, lacks_object};
use super::{Coordinator, Handled, Position, WorkerIndex};
use crate::event::{Decision, UserResolution};
use crate::operation_event::OperationEventKind;
use crate::result::JournalledResult;
use weft_protocol::diagnostics::{decode_diagnostics, first_error};
use weft_protocol::{Candidate, Order, SettleOrder, SettleVerdict, Task, TaskDone, TaskResult};

impl Coordinator {
    /// Turns an open intent into a doubt, and looks for evidence.
    pub(super) fn doubt(&mut self, position: Position, reason: String) -> Handled {
        if mutant!(DoubtDropped) {
            return self.never_called(position, reason);
        }
        self.push_doubt(position, reason.clone(), Doubted::Seek(reason))
    }

    /// Resolves an open intent whose call is known not to have been made.
    pub(super) fn never_called(&mut self, position: Position, reason: String) -> Handled {
        self.push_doubt(position, reason, Doubted::Resolving)?;
        self.push_resolve(position, Evidence::Worker, DoubtOutcome::Pending, ResolveOutcome::Pending);
        Ok(())
    }

    fn push_doubt(&mut self, position: Position, reason: String, doubted: Doubted) -> Handled {
        self.enter(position, State::Intended(Intended::DoubtInStore), Cause::OutcomeUnknown)?;
        // A drain in the meantime must not report the same doubt again.
        self.ahead.stop_waiting(position);
        let Task { operation, attempt } = self.task(position);
        let step = StoreStep::Doubt { op: OpIndex(operation), attempt, reason };
        self.outbox.store(StepInStore::Doubt(position, doubted), step);
        Ok(())
    }

    fn resolve(
        &mut self,
        position: Position,
        evidence: Evidence,
        outcome: DoubtOutcome,
        resolved: ResolveOutcome,
    ) -> Handled {
        self.leave_doubt(position)?;
        self.enter(position, State::InDoubt(Doubt::ResolveInStore), Cause::OutcomeKnown)?;
        self.push_resolve(position, evidence, outcome, resolved);
        Ok(())
    }

    fn push_resolve(
        &mut self,
        position: Position,
        evidence: Evidence,
        outcome: DoubtOutcome,
        resolved: ResolveOutcome,
    ) {
        let Task { operation, attempt } = self.task(position);
        let resolution = Resolution { op: OpIndex(operation), attempt, evidence, outcome };
        self.outbox.store(StepInStore::Resolve(position, resolved), StoreStep::Resolve(resolution));
    }

    /// Decides how to settle a doubt that the store has recorded.
    pub(super) fn seek_evidence(&mut self, position: Position, reason: String) -> Handled {
        self.holder_doubts(position);
        if self.doubts.decision(position).is_some() {
            self.decide(position)
        } else if self.outline.at(position).can_look() && (!self.options.only_resolve || self.options.look_up) {
            self.doubts.keep_reason(position, reason.clone());
            self.queue_settle(position)?;
            self.tell(position, OperationEventKind::Settling { reason }, Opaque::default());
            Ok(())
        } else {
            self.unsettled(position, reason)
        }
    }

    /// Records the doubt at the worker of the last attempt, which may still report the outcome.
    fn holder_doubts(&mut self, position: Position) {
        if let Some(holder) = self.operations.holder(position) {
            self.roster.add_doubt(holder, position);
        }
    }

    /// Handles a doubt from an earlier term. The worker that made the attempt may be alive and have the result, so the
    /// run first waits for a report of this worker. The wait ends when the worker has not reconnected in time. The wait
    /// does not end while the worker is connected and its call still runs.
    pub(super) fn await_holder(&mut self, position: Position) -> Handled {
        let holder = self.operations.holder(position).filter(|holder| !self.roster.is_dead(*holder));
        // In one process every worker is new, so no worker of an earlier term can reconnect.
        let can_report = !self.options.fixed_workers && self.doubts.decision(position).is_none();
        let Some(holder) = holder.filter(|_| can_report) else {
            return self.seek_evidence(position, problems::holder_gone());
        };
        self.enter(position, State::InDoubt(Doubt::AwaitsHolder), Cause::HolderMayReport)?;
        self.roster.add_doubt(holder, position);
        let reason = problems::holder_asked(self.roster.id(holder));
        self.tell(position, OperationEventKind::Settling { reason }, Opaque::default());
        Ok(())
    }

    /// Handles a worker that reports nothing about an awaited doubt, or that does not reconnect.
    pub(super) fn holder_is_silent(&mut self, position: Position) -> Handled {
        if self.operations.state(position) != State::InDoubt(Doubt::AwaitsHolder) {
            return Ok(());
        }
        self.leave_doubt(position)?;
        self.seek_evidence(position, problems::holder_gone())
    }

    fn queue_settle(&mut self, position: Position) -> Handled {
        let shard = self.outline.at(position).shard;
        self.enter(position, State::InDoubt(Doubt::Queued), Cause::CanSettle)?;
        self.backlog.queue_settle(shard, position);
        self.shard_has_work(shard);
        Ok(())
    }

    /// Queues a doubt again, because the worker that looked for evidence was lost or could not open the shard.
    pub(super) fn requeue_settle(&mut self, position: Position) -> Handled {
        if !matches!(self.operations.state(position), State::InDoubt(Doubt::AtSettler(_))) {
            return Ok(());
        }
        self.stop_settling(position)?;
        self.queue_settle(position)
    }

    pub(super) fn start_settling(&mut self, position: Position, worker: WorkerIndex) -> Handled {
        self.enter(position, State::InDoubt(Doubt::AtSettler(worker)), Cause::Settles)?;
        let adopt = match self.doubts.decision(position) {
            Some(Decision::Adopt(id)) => Some(id.clone()),
            _ => None,
        };
        let order = Order::Settle(SettleOrder {
            shard: self.outline.at(position).shard.0,
            task: self.task(position),
            holder: self.holder_name(position),
            holder_dead: self.is_attempt_dead(position),
            adopt,
            planned: self.operations.last(position).planned,
        });
        self.roster.begin_settling(worker, position);
        self.order(worker, order);
        Ok(())
    }

    /// Ends the search for evidence.
    fn stop_settling(&mut self, position: Position) -> Handled {
        let State::InDoubt(Doubt::AtSettler(worker)) = self.operations.state(position) else { return Ok(()) };
        self.enter(position, State::InDoubt(Doubt::Open), Cause::SearchEnded)?;
        self.roster.end_settling(worker, position);
        let shard = self.outline.at(position).shard;
        if self.backlog.has_settles(shard) {
            self.shard_has_work(shard);
        }
        Ok(())
    }

    /// Removes a doubt from all queues, and sets it to open.
    fn leave_doubt(&mut self, position: Position) -> Handled {
        match self.operations.state(position) {
            State::InDoubt(Doubt::Queued) => {
                self.backlog.unqueue_settle(self.outline.at(position).shard, position);
                self.enter(position, State::InDoubt(Doubt::Open), Cause::SearchNotNeeded)?;
            }
            State::InDoubt(Doubt::AtSettler(_)) => self.stop_settling(position)?,
            State::InDoubt(Doubt::Unsettled | Doubt::AwaitsHolder) => {
                self.enter(position, State::InDoubt(Doubt::Open), Cause::NewReport)?;
            }
            _ => {}
        }
        if let Some(holder) = self.operations.holder(position) {
            self.roster.remove_doubt(holder, position);
        }
        Ok(())
    }

    fn is_attempt_dead(&self, position: Position) -> bool {
        self.operations.holder(position).is_some_and(|holder| self.roster.is_attempt_dead(holder, position))
    }

    /// Handles a doubt for which no evidence was found. The operation stays in doubt, and its dependents are blocked.
    pub(super) fn unsettled(&mut self, position: Position, reason: String) -> Handled {
        self.unsettled_beside(position, reason, None)
    }

    /// Like `unsettled`, with an object that the attempt may have created.
    fn unsettled_beside(&mut self, position: Position, reason: String, candidate: Option<Box<Candidate>>) -> Handled {
        self.leave_doubt(position)?;
        self.holder_doubts(position);
        self.doubts.end_decision(position);
        self.enter(position, State::InDoubt(Doubt::Unsettled), Cause::NoEvidence)?;
        self.tell(position, OperationEventKind::InDoubt { reason: reason.clone(), candidate }, Opaque::default());
        self.doubts.keep_reason(position, reason);
        if self.options.only_resolve { Ok(()) } else { self.spoil(position) }
    }

    /// Handles the death of a worker process, whose calls are no longer under way. Another worker looks for evidence
    /// about the doubts of the dead worker, even if an earlier search found nothing. For example, an object that is
    /// still absent now counts as not created.
    pub(super) fn holder_died(&mut self, holder: WorkerIndex) -> Handled {
        for position in self.roster.doubts(holder) {
            if self.is_handed_over(position, holder) {
                continue;
            }
            self.holder_is_silent(position)?;
            let idle = self.operations.state(position) == State::InDoubt(Doubt::Unsettled);
            if idle && self.outline.at(position).can_look() && !self.options.only_resolve {
                let reason = self.doubts.reason(position);
                self.seek_again(position, reason)?;
            }
        }
        Ok(())
    }

    /// Looks for evidence again, because there is news about a doubt that waited for the user.
    fn seek_again(&mut self, position: Position, reason: String) -> Handled {
        self.leave_doubt(position)?;
        self.mend(position)?;
        self.seek_evidence(position, reason)
    }

    /// Handles the verdict of a worker that looked for evidence.
    pub(super) fn verdict_came(
        &mut self,
        worker: WorkerIndex,
        position: Position,
        task: Task,
        verdict: SettleVerdict,
    ) -> Handled {
        let is_asked = self.operations.state(position) == State::InDoubt(Doubt::AtSettler(worker));
        if !is_asked || self.task(position) != task {
            return Ok(());
        }
        let evidence = match self.doubts.decision(position) {
            Some(decision) => Evidence::User(decision.word()),
            None if self.outline.at(position).reads_first => Evidence::Read,
            None => Evidence::Probe,
        };
        match verdict {
            SettleVerdict::Applied(done) => self.resolve_done(position, *done, evidence, Some(worker)),
            SettleVerdict::NotApplied { .. } if matches!(evidence, Evidence::User(_)) => {
                self.unsettled(position, problems::no_object_with_id())
            }
            SettleVerdict::NotApplied { holder_dead }
                if holder_dead || self.is_attempt_dead(position) || mutant!(RetryOfBegunCall) =>
            {
                self.resolve(position, evidence, DoubtOutcome::Pending, ResolveOutcome::Pending)
            }
            SettleVerdict::NotApplied { .. } => {
                let reason = problems::call_may_take_effect(&self.holder_name(position));
                self.unsettled(position, reason)
            }
            SettleVerdict::Unknown(reason) if reason.is_empty() => {
                let known = self.doubts.reason(position);
                self.unsettled(position, known)
            }
            SettleVerdict::Unknown(reason) => self.unsettled(position, reason),
            SettleVerdict::Unopened(diagnostics) => self.evidence_refused(worker, position, &diagnostics),
            SettleVerdict::Found(found) => self.unsettled_beside(position, found.reason.clone(), Some(found)),
        }
    }

    /// Handles the verdict of a worker that could not open the provider. If another worker is suitable for the shard,
    /// that worker looks for the evidence.
    fn evidence_refused(&mut self, worker: WorkerIndex, position: Position, diagnostics: &Opaque) -> Handled {
        let shard = self.outline.at(position).shard;
        if self.moves_on(shard, worker, diagnostics) {
            return self.requeue_settle(position);
        }
        self.unsettled(position, first_error(&decode_diagnostics(diagnostics)))
    }

    /// Handles the late report of the worker that made the attempt.
    pub(super) fn worker_settles(&mut self, position: Position, result: TaskResult) -> Handled {
        match result {
            TaskResult::Done(done) => {
                let by = self.operations.last(position).maker();
                self.resolve_done(position, done, Evidence::Worker, by)
            }
            TaskResult::Failed { writes, diagnostics, absence_unproven, .. } => {
                let kind = failure_kind(self.outline.at(position), &writes, absence_unproven);
                match self.records.write(writes) {
                    Ok(writes) => {
                        let failure = self.failure(position, writes, diagnostics.clone(), kind, true);
                        let resolved = ResolveOutcome::Failed { diagnostics, keeps: kind == FailureKind::ObjectKept };
                        self.resolve(position, Evidence::Worker, DoubtOutcome::Failed(failure), resolved)
                    }
                    Err(error) => self.unsettled(position, problems::reported_object_unrecordable(&error)),
                }
            }
            TaskResult::NotCalled { .. } => {
                self.acknowledge(position);
                self.resolve(position, Evidence::Worker, DoubtOutcome::Pending, ResolveOutcome::Pending)
            }
            TaskResult::InDoubt { reason, provider_dead, .. } => {
                self.acknowledge(position);
                self.outcome_is_unknown(position, provider_dead);
                match self.operations.state(position) {
                    State::InDoubt(Doubt::Unsettled) => self.seek_again(position, reason),
                    State::InDoubt(Doubt::AtSettler(_)) => Ok(()),
                    _ => {
                        self.leave_doubt(position)?;
                        self.seek_evidence(position, reason)
                    }
                }
            }
        }
    }

    fn resolve_done(
        &mut self,
        position: Position,
        done: TaskDone,
        evidence: Evidence,
        by: Option<WorkerIndex>,
    ) -> Handled {
        if lacks_object(self.outline.at(position), &done.writes) {
            return self.unsettled(position, problems::no_object());
        }
        let TaskDone { writes, local, exports, diagnostics, shown } = done;
        let operation = self.outline.at(position);
        let by_name = evidence == Evidence::Probe && !operation.probe_by_identity;
        if by_name && let Some(owner) = self.records.other_owner(&writes) {
            return self.unsettled(position, problems::found_object_owned(&owner));
        }
        match self.records.write(writes) {
            Ok(writes) => {
                let result = JournalledResult { local, exports };
                let kept = CommittedResult { result, diagnostics, intended: true, shown, by };
                let commit = self.commit_record(position, writes, &kept, true);
                self.resolve(position, evidence, DoubtOutcome::Done(commit), ResolveOutcome::Done(Box::new(kept)))
            }
            Err(error) => self.unsettled(position, problems::found_object_unrecordable(&error)),
        }
    }

    /// Carries out the user's decision on an operation. If the call is still open, stores the decision for later.
    pub(super) fn user_resolves(&mut self, resolution: UserResolution) -> Handled {
        let Some(position) = self.outline.position(resolution.operation) else { return Ok(()) };
        let waits = match self.operations.state(position) {
            State::Intended(_) => false,
            State::InDoubt(Doubt::ResolveInStore) => return Ok(()),
            State::InDoubt(_) => true,
            State::Pending
            | State::Leased(_)
            | State::Done
            | State::Failed { .. }
            | State::Refused
            | State::Skipped => return Ok(()),
        };
        self.doubts.decide(position, resolution.decision);
        if waits { self.decide(position) } else { Ok(()) }
    }

    /// Carries out the user's decision on a doubt.
    fn decide(&mut self, position: Position) -> Handled {
        let Some(decision) = self.doubts.decision(position).cloned() else { return Ok(()) };
        let evidence = Evidence::User(decision.word());
        match decision {
            Decision::Adopt(_) => {
                self.leave_doubt(position)?;
                self.holder_doubts(position);
                self.queue_settle(position)
            }
            Decision::Absent | Decision::Retry => {
                self.doubts.end_decision(position);
                self.resolve(position, evidence, DoubtOutcome::Pending, ResolveOutcome::Pending)
            }
            Decision::Forget => {
                self.doubts.end_decision(position);
                let diagnostics = Opaque::default();
                let failure =
                    self.failure(position, Default::default(), diagnostics.clone(), FailureKind::GivenUp, true);
                let resolved = ResolveOutcome::Failed { diagnostics, keeps: false };
                self.resolve(position, evidence, DoubtOutcome::Failed(failure), resolved)
            }
        }
    }
}
