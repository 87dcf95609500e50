//! Answers of the store, and their consequences.

use weft_state::{OpStatus, Opaque, StoreAnswer};

use super::operation::{Doubt, State};
use super::problems::{Cause, refused_by_store};
use super::results::LateResult;
use super::{Coordinator, Handled, Position, WorkerIndex};
use crate::event::FinishReason;
use crate::operation_event::OperationEventKind;
use crate::outline::OperationKind;
use crate::problems::refusal;
use crate::result::JournalledResult;
use crate::retry::RetryRule;
use crate::status::Happening;
use weft_protocol::diagnostics::{decode_diagnostics, encode_diagnostics};
use weft_protocol::{Order, ShownName, Task};

/// A result whose COMMIT is in the store.
#[derive(Clone, Debug)]
pub(super) struct CommittedResult {
    pub(super) result: JournalledResult,
    pub(super) diagnostics: Opaque,
    /// Whether the operation had an intent.
    pub(super) intended: bool,
    /// How progress lines name the object.
    pub(super) shown: Option<ShownName>,
    /// The worker that produced the result. This worker already has the values of the result.
    pub(super) by: Option<WorkerIndex>,
}

/// A step that the store has not answered yet.
#[derive(Clone, Debug)]
pub(super) enum StepInStore {
    /// A step that needs no reaction to its answer: a skip, a reopen, a stray.
    Told,
    Intent(Position),
    Commit(Position, Box<CommittedResult>),
    Fail {
        position: Position,
        diagnostics: Opaque,
        keeps: bool,
    },
    Doubt(Position, Doubted),
    Resolve(Position, ResolveOutcome),
}

/// The next step after a DOUBT.
#[derive(Clone, Debug)]
pub(super) enum Doubted {
    /// Look for evidence.
    Seek(String),
    /// Nothing: the RESOLVE of the doubt was already sent.
    Resolving,
}

/// The outcome of a RESOLVE.
#[derive(Clone, Debug)]
pub(super) enum ResolveOutcome {
    Done(Box<CommittedResult>),
    Pending,
    Failed { diagnostics: Opaque, keeps: bool },
}

impl Coordinator {
    /// Handles answers of the store to the oldest steps. Answers after the end of the term are ignored.
    pub(super) fn stored(&mut self, answers: Vec<StoreAnswer>) -> Handled {
        for answer in answers {
            let Some(step) = self.outbox.answered().filter(|_| self.outbox.end().is_none()) else { return Ok(()) };
            if matches!(answer, StoreAnswer::Fenced(_)) {
                self.outbox.finish(FinishReason::Fenced);
                return Ok(());
            }
            match step {
                StepInStore::Told => {}
                StepInStore::Intent(position) => self.intent_stored(position, answer)?,
                StepInStore::Commit(position, kept) => {
                    if self.took(position, answer) {
                        self.done(position, *kept)?;
                    }
                }
                StepInStore::Fail { position, diagnostics, keeps } => {
                    if self.took(position, answer) {
                        self.failed(position, diagnostics, keeps)?;
                    }
                }
                StepInStore::Doubt(position, doubted) => self.doubt_stored(position, answer, doubted)?,
                StepInStore::Resolve(position, resolved) => {
                    if self.took(position, answer) {
                        self.resolved(position, resolved)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether a step took effect. If the store refuses a step that it must accept, the content of the store differs
    /// from the memory of the coordinator. The term ends, and a new term begins with the content of the store.
    fn took(&mut self, position: Position, answer: StoreAnswer) -> bool {
        match answer {
            StoreAnswer::Ok { revisions, .. } => {
                self.records.set_revisions(revisions);
                true
            }
            refused => {
                self.tell_refusal(position, &refused);
                self.outbox.finish(FinishReason::StoreRefused);
                false
            }
        }
    }

    /// Reports that the store refused a step.
    pub(super) fn tell_refusal(&mut self, position: Position, answer: &StoreAnswer) {
        let problem = refusal(answer).about(self.outline.at(position).address.clone());
        let doubt = OperationEventKind::InDoubt { reason: refused_by_store(), candidate: None };
        self.tell(position, doubt, encode_diagnostics(&[problem]));
    }

    fn doubt_stored(&mut self, position: Position, answer: StoreAnswer, doubted: Doubted) -> Handled {
        // A DOUBT that is sent again together with its RESOLVE finds the doubt already resolved.
        let known = match &answer {
            StoreAnswer::Ok { .. } => true,
            StoreAnswer::Illegal { status, attempt, .. } => {
                matches!(doubted, Doubted::Resolving)
                    && *status == OpStatus::Pending
                    && attempt.0 == self.operations.last(position).number
            }
            _ => false,
        };
        if !known {
            self.took(position, answer);
            return Ok(());
        }
        self.happen(position, Happening::Doubt)?;
        self.let_go(position);
        match doubted {
            Doubted::Resolving => self.enter(position, State::InDoubt(Doubt::ResolveInStore), Cause::ResolvedAtOnce),
            Doubted::Seek(reason) => {
                if self.operations.last(position).reported {
                    self.acknowledge(position);
                }
                match self.results.take_late(position) {
                    Some(late) => self.worker_settles(position, late.result),
                    None => self.seek_evidence(position, reason),
                }
            }
        }
    }

    /// Handles a durable result.
    pub(super) fn done(&mut self, position: Position, kept: CommittedResult) -> Handled {
        self.happen(position, Happening::Commit)?;
        self.finished_well(position, kept);
        Ok(())
    }

    /// Completes a done operation: its dependents may start.
    fn finished_well(&mut self, position: Position, kept: CommittedResult) {
        let unread = self.at_end.checks.note(self.outline.at(position).kind, position, &kept.diagnostics);
        self.at_end.bare.done(&self.outline, position, unread);
        self.let_go(position);
        self.acknowledge(position);
        self.tell(position, OperationEventKind::Done { intended: kept.intended, shown: kept.shown }, kept.diagnostics);
        self.keep_result(position, kept.result, kept.by);
        for freed in self.nodes.done(position) {
            self.ready_if_free(freed);
        }
    }

    /// Handles a durable failure.
    pub(super) fn failed(&mut self, position: Position, diagnostics: Opaque, keeps: bool) -> Handled {
        if let Some(pause) = self.pause_before_retry(position, &diagnostics, keeps) {
            return self.try_again(position, diagnostics, pause);
        }
        self.happen_as(position, Happening::Fail, State::Failed { keeps })?;
        self.finished_badly(position, diagnostics)
    }

    /// The pause in milliseconds before a failed operation is retried, or `None` if the failure is final. An operation
    /// is retried only if the provider returned an error saying that it refused the call temporarily. A create is not
    /// retried if it created an object or may have created an object. A provisioner is never retried.
    fn pause_before_retry(&mut self, position: Position, diagnostics: &Opaque, keeps: bool) -> Option<u64> {
        let operation = self.outline.at(position);
        if keeps || self.course.is_draining() || self.options.only_resolve || operation.kind == OperationKind::Provision
        {
            return None;
        }
        let rule = self.outline.shard(operation.shard)?.retry.clone()?;
        let problems = decode_diagnostics(diagnostics);
        let may_exist = operation.kind == OperationKind::Create && RetryRule::is_after_create(&problems);
        if may_exist || !rule.is_refusal(&problems) {
            return None;
        }
        self.pace.retries.refused(position, &rule, self.clock.now())
    }

    /// Schedules the next attempt of a failed operation, as a resume would. The failure of the last attempt is durable.
    fn try_again(&mut self, position: Position, diagnostics: Opaque, pause: u64) -> Handled {
        self.happen_as(position, Happening::Fail, State::Refused)?;
        self.pace.meter.refused();
        self.let_go(position);
        self.acknowledge(position);
        self.operations.was_in_vain(position);
        self.tell(position, OperationEventKind::Refused { pause }, diagnostics);
        self.reopen(position)
    }

    fn finished_badly(&mut self, position: Position, diagnostics: Opaque) -> Handled {
        self.at_end.checks.note(self.outline.at(position).kind, position, &diagnostics);
        self.let_go(position);
        self.acknowledge(position);
        self.tell(position, OperationEventKind::Failed, diagnostics);
        self.spoil(position)
    }

    fn resolved(&mut self, position: Position, resolved: ResolveOutcome) -> Handled {
        self.doubts.resolved(position);
        match resolved {
            ResolveOutcome::Done(kept) => {
                self.happen(position, Happening::SettleDone)?;
                self.mend(position)?;
                self.finished_well(position, *kept);
            }
            ResolveOutcome::Failed { diagnostics, keeps } => {
                self.happen_as(position, Happening::SettleFailed, State::Failed { keeps })?;
                self.finished_badly(position, diagnostics)?;
            }
            ResolveOutcome::Pending => self.is_pending_again(position)?,
        }
        if let Some(late) = self.results.take_late(position) {
            let task = Task { operation: self.outline.at(position).index, attempt: late.attempt };
            self.order(late.worker, Order::Acknowledged(task));
        }
        Ok(())
    }

    /// Makes an operation pending again: the last attempt took no effect, or the user accepts a duplicate.
    fn is_pending_again(&mut self, position: Position) -> Handled {
        self.happen(position, Happening::SettlePending)?;
        self.let_go(position);
        self.operations.was_in_vain(position);
        self.tell(position, OperationEventKind::Returned, Opaque::default());
        self.mend(position)?;
        if let Some(LateResult { worker, attempt, result }) = self.results.take_late(position) {
            let task = Task { operation: self.outline.at(position).index, attempt };
            self.superseded(worker, position, task, result);
        }
        if self.nodes.is_blocked(position) {
            // An input failed when it was computed again.
            self.skip(position, position)
        } else {
            self.ready_if_free(position);
            Ok(())
        }
    }
}
