//! Answers of the store, and what follows from them.

use weft_state::{Attempt, OpStatus, Opaque, StoreAnswer};

use super::{Coordinator, Doubt, Leased, Position, State, WorkerIndex};
use crate::event::FinishReason;
use crate::problems::refusal;
use crate::progress::ProgressKind;
use crate::result::JournalledResult;
use crate::status::{Happening, Status};
use weft_protocol::diagnostics::encode_diagnostics;
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
    /// The worker that produced it and already has the values.
    pub(super) by: Option<WorkerIndex>,
}

/// A step in the store.
#[derive(Clone, Debug)]
pub(super) enum StepInStore {
    /// Nothing waits for the answer: skips, reopens, strays.
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

/// What follows a DOUBT.
#[derive(Clone, Debug)]
pub(super) enum Doubted {
    /// Look for evidence.
    Seek(String),
    /// Its RESOLVE is already sent.
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
    pub(super) fn stored(&mut self, answers: Vec<StoreAnswer>) {
        for answer in answers {
            let Some(step) = self.outbox.in_store.pop_front() else { return };
            if matches!(answer, StoreAnswer::Fenced(_)) {
                self.outbox.end = Some(FinishReason::Fenced);
                return;
            }
            match step {
                StepInStore::Told => {}
                StepInStore::Intent(position) => self.intent_stored(position, answer),
                StepInStore::Commit(position, kept) => {
                    if self.took(position, answer) {
                        self.done(position, *kept);
                    }
                }
                StepInStore::Fail { position, diagnostics, keeps } => {
                    if self.took(position, answer) {
                        self.failed(position, diagnostics, keeps);
                    }
                }
                StepInStore::Doubt(position, doubted) => self.doubt_stored(position, answer, doubted),
                StepInStore::Resolve(position, resolved) => {
                    if self.took(position, answer) {
                        self.resolved(position, resolved);
                    }
                }
            }
        }
    }

    /// Whether a step took effect. A refusal of a step that must not be refused ends the term: the store then differs
    /// from the memory, and a new term begins from the store.
    fn took(&mut self, position: Position, answer: StoreAnswer) -> bool {
        match answer {
            StoreAnswer::Ok { revisions, .. } => {
                self.results.records.set_revisions(revisions);
                true
            }
            refused => {
                self.tell_refusal(position, &refused);
                self.outbox.end = Some(FinishReason::StoreRefused);
                false
            }
        }
    }

    fn tell_refusal(&mut self, position: Position, answer: &StoreAnswer) -> Opaque {
        let words = encode_diagnostics(&[refusal(answer).about(self.operation(position).address.clone())]);
        let reason = "the store refused to record it".to_owned();
        self.tell(position, ProgressKind::InDoubt { reason }, words.clone());
        words
    }

    fn intent_stored(&mut self, position: Position, answer: StoreAnswer) {
        let task = Task { operation: self.operation(position).index, attempt: Attempt(self.ops[position].last.number) };
        let holder = self.ops[position].last.holder;
        match answer {
            StoreAnswer::Ok { .. } => {
                self.happen(position, Happening::Intend);
                if let Some((_, _, result)) = self.results.late.remove(&position) {
                    self.take_result(position, result);
                    return;
                }
                let there = holder.is_some_and(|holder| self.roster.workers[holder].is_connected());
                match holder {
                    Some(_) if there && !self.course.draining && !self.course.paused => {
                        self.intent_is_durable(position);
                    }
                    _ => {
                        if let Some(holder) = holder {
                            self.order(holder, Order::IntentRefused(task));
                        }
                        self.never_called(position, "the call was not allowed any more when the intent was durable");
                    }
                }
            }
            refused @ (StoreAnswer::Stale(_) | StoreAnswer::NotClaimed(_) | StoreAnswer::Doubtful(_)) => {
                self.results.late.remove(&position);
                if let Some(holder) = holder {
                    self.order(holder, Order::IntentRefused(task));
                }
                let words = refusal(&refused).about(self.operation(position).address.clone());
                self.ops[position].state = State::Leased(Leased::AtWorker);
                self.fail_unintended(position, encode_diagnostics(&[words]));
            }
            refused => {
                self.tell_refusal(position, &refused);
                self.outbox.end = Some(FinishReason::StoreRefused);
            }
        }
    }

    fn doubt_stored(&mut self, position: Position, answer: StoreAnswer, doubted: Doubted) {
        // A DOUBT that is sent again with its RESOLVE finds the doubt already resolved.
        let known = match &answer {
            StoreAnswer::Ok { .. } => true,
            StoreAnswer::Illegal { status, attempt, .. } => {
                matches!(doubted, Doubted::Resolving)
                    && *status == OpStatus::Pending
                    && attempt.0 == self.ops[position].last.number
            }
            _ => false,
        };
        if !known {
            self.took(position, answer);
            return;
        }
        self.happen(position, Happening::Doubt);
        self.let_go(position);
        match doubted {
            Doubted::Resolving => self.ops[position].state = State::InDoubt(Doubt::ResolveInStore),
            Doubted::Seek(reason) => {
                if self.ops[position].last.reported {
                    self.acknowledge(position);
                }
                match self.results.late.remove(&position) {
                    Some((_, _, result)) => self.worker_settles(position, result),
                    None => self.seek_evidence(position, reason),
                }
            }
        }
    }

    /// The result is durable.
    pub(super) fn done(&mut self, position: Position, kept: CommittedResult) {
        self.happen(position, Happening::Commit);
        self.finished_well(position, kept);
    }

    /// The operation is done: its dependents may start.
    pub(super) fn finished_well(&mut self, position: Position, kept: CommittedResult) {
        self.note_check(position, &kept.diagnostics);
        self.let_go(position);
        self.acknowledge(position);
        self.tell(position, ProgressKind::Done { intended: kept.intended, shown: kept.shown }, kept.diagnostics);
        self.keep_result(position, kept.result, kept.by);
        for freed in self.nodes.done(position) {
            self.ready_if_free(freed);
        }
    }

    /// The failure is durable.
    pub(super) fn failed(&mut self, position: Position, diagnostics: Opaque, keeps: bool) {
        if self.happen(position, Happening::Fail) {
            self.ops[position].state = State::Failed { keeps };
        }
        self.finished_badly(position, diagnostics);
    }

    pub(super) fn finished_badly(&mut self, position: Position, diagnostics: Opaque) {
        self.note_check(position, &diagnostics);
        self.let_go(position);
        self.acknowledge(position);
        self.tell(position, ProgressKind::Failed, diagnostics);
        self.spoil(position);
    }

    fn resolved(&mut self, position: Position, resolved: ResolveOutcome) {
        self.doubts.decisions.remove(&position);
        self.doubts.reasons.remove(&position);
        match resolved {
            ResolveOutcome::Done(kept) => {
                self.happen(position, Happening::SettleDone);
                self.mend(position);
                self.finished_well(position, *kept);
            }
            ResolveOutcome::Failed { diagnostics, keeps } => {
                if self.happen(position, Happening::SettleFailed) {
                    self.ops[position].state = State::Failed { keeps };
                }
                self.finished_badly(position, diagnostics);
            }
            ResolveOutcome::Pending => {
                self.happen(position, Happening::SettlePending);
                self.let_go(position);
                self.ops[position].tried = true;
                self.tell(position, ProgressKind::Returned, Opaque::default());
                self.mend(position);
                let late = self.results.late.remove(&position);
                if let Some((worker, attempt, result)) = late {
                    let task = Task { operation: self.operation(position).index, attempt };
                    self.superseded(worker, position, task, result);
                }
                if self.nodes.is_blocked(position) {
                    self.ready_or_skip(position);
                } else {
                    self.ready_if_free(position);
                }
            }
        }
        if let Some((worker, attempt, _)) = self.results.late.remove(&position) {
            let task = Task { operation: self.operation(position).index, attempt };
            self.order(worker, Order::Acknowledged(task));
        }
        debug_assert!(self.ops[position].status() != Status::InDoubt);
    }

    /// Skips a pending operation whose input failed when it was computed again.
    fn ready_or_skip(&mut self, position: Position) {
        self.unready(position);
        self.skip(position, position);
    }
}
