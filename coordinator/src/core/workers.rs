//! Workers that join, leave, reconnect, fall silent or die, and their tasks.

use std::collections::BTreeMap;

use tracing::warn;
use weft_state::{Opaque, WorkerId};

use super::operation::{Doubt, Intended, Leased, State};
use super::operations::Maker;
use super::problems::{self, Cause};
use super::roster::Abilities;
use super::{Coordinator, Handled, Position, WorkerIndex};
use crate::event::Hello;
use crate::operation_event::OperationEventKind;
use crate::plan::is_of_command_line;
use crate::process::{has_spool, in_words, worker_id, worker_name};
use crate::status::Happening;
use crate::timing::WINDOW;
use weft_protocol::{HeldPhase, HeldTask, Order, Task, TaskResult};

impl Coordinator {
    pub(super) fn joined(&mut self, hello: Hello) -> Handled {
        let Hello { worker, connection: _, labels, capacity, packages, held } = hello;
        let index = self.roster.enlist(&worker, self.clock.now());
        let only_home = is_of_command_line(worker_name(&worker), &labels);
        self.roster.join(index, Abilities { labels, only_home, packages, window: capacity.clamp(1, WINDOW) });
        if self.course.is_draining() {
            self.order(index, Order::Drain);
        }
        if self.course.is_stopping() {
            self.order(index, Order::Stop);
        }
        let (own, inherited): (Vec<HeldTask>, Vec<HeldTask>) = held.into_iter().partition(|held| held.maker.is_none());
        self.compare_tasks(index, own)?;
        self.inherits(index, worker_name(&worker), inherited)?;
        for shard in self.roster.shards(index) {
            self.open_shard(index, shard);
        }
        for position in self.roster.settling(index) {
            self.requeue_settle(position)?;
        }
        self.backlog.offer_orphans();
        self.refresh(index);
        Ok(())
    }

    /// Handles a worker that has results of earlier processes of its name. If the worker lacks the result of a task of
    /// such a process, the run stops waiting for this result now.
    fn inherits(&mut self, heir: WorkerIndex, name: &str, results: Vec<HeldTask>) -> Handled {
        let mut made: Vec<(Task, WorkerIndex)> = Vec::new();
        for HeldTask { task, maker, .. } in results {
            let (Some(maker), Some(position)) = (maker, self.position_of(task)) else { continue };
            self.attempt_exists(heir, position, task);
            let id = worker_id(name, &maker);
            // A process is added to the workers of the term only if it may have made the attempt.
            let maker = match self.operations.maker(position, task.attempt.0) {
                Maker::Unrecorded => Some(self.roster.enlist(&id, self.clock.now())),
                Maker::Known(_) | Maker::NotMade => self.roster.find(&id),
            };
            made.extend(maker.map(|maker| (task, maker)));
        }
        self.roster.heirs.connected(heir, made);
        for maker in self.roster.heirs.awaited() {
            if worker_name(self.roster.id(maker)) == name {
                self.roster.heirs.came(maker);
                self.no_heir(maker)?;
            }
        }
        Ok(())
    }

    /// Records that a worker has an attempt, unless its number is impossible.
    fn attempt_exists(&mut self, worker: WorkerIndex, position: Position, task: Task) {
        if !self.operations.attempt_exists(position, task.attempt.0) {
            let (address, name) = (&self.outline.at(position).address, in_words(self.roster.id(worker)));
            warn!(attempt = task.attempt.0, "{name} named an impossible attempt of {address}");
        }
    }

    /// Whether a connected worker has the result of an attempt that an earlier process of its name made. The connected
    /// worker is about to report the result.
    pub(super) fn is_handed_over(&self, position: Position, maker: WorkerIndex) -> bool {
        self.roster.heirs.have(maker, self.task(position))
    }

    /// Handles a worker whose heir did not come: its operations may have been carried out or not.
    fn no_heir(&mut self, index: WorkerIndex) -> Handled {
        self.give_up(index)?;
        if self.roster.is_dead(index) { self.holder_died(index) } else { Ok(()) }
    }

    /// Whether another process may come with the results of a dead worker.
    fn may_have_heir(&self, index: WorkerIndex) -> bool {
        let is_open = |position: Position| {
            let state = self.operations.state(position);
            matches!(state, State::Intended(Intended::AtWorker) | State::InDoubt(Doubt::AwaitsHolder))
        };
        let mut held = self.roster.tasks(index).into_iter().chain(self.roster.doubts(index));
        !self.options.fixed_workers && has_spool(self.roster.id(index)) && held.any(is_open)
    }

    /// Whether a connected worker has the same name as this worker.
    fn has_successor(&self, index: WorkerIndex) -> bool {
        let name = worker_name(self.roster.id(index));
        self.roster.connected().into_iter().any(|other| worker_name(self.roster.id(other)) == name)
    }

    /// Compares the tasks that a worker reports after a reconnect with the tasks that it should have.
    fn compare_tasks(&mut self, index: WorkerIndex, held: Vec<HeldTask>) -> Handled {
        let held: BTreeMap<u32, HeldTask> = held.into_iter().map(|held| (held.task.operation, held)).collect();
        for position in self.roster.tasks(index) {
            let attempt = self.operations.last(position).number;
            let task = held.get(&self.outline.at(position).index).filter(|held| held.task.attempt.0 == attempt);
            match (self.operations.state(position), task.map(|task| task.phase)) {
                // The order to start the operation never reached the worker.
                (State::Leased(Leased::AtWorker), None) => self.unlease(position)?,
                // The worker never received the grant, and will not act on a later grant.
                (State::Intended(Intended::AtWorker), None) => {
                    self.never_called(position, problems::permission_lost())?;
                }
                (State::Intended(Intended::AtWorker), Some(HeldPhase::Preparing)) => {
                    self.never_called(position, problems::permission_not_wanted())?;
                }
                _ => {}
            }
        }
        self.compare_doubts(index, &held)?;
        for held in held.into_values() {
            let position = self.outline.position(held.task.operation);
            let known = position.is_some_and(|position| self.is_current(position, index, held.task.attempt));
            if let Some(position) = position {
                self.attempt_exists(index, position, held.task);
            }
            if !known && held.phase < HeldPhase::Called {
                self.order(index, Order::Drop(held.task));
            }
        }
        Ok(())
    }

    /// Handles doubts about tasks that a reconnected worker does not have: the list in its greeting lacks the task, or
    /// has it only in preparation. There are two cases:
    ///
    /// - The worker never reported the doubt. Then it made no call, which settles the doubt.
    /// - The worker reported the doubt, and was later ordered to forget the task. If the doubt still waits for this
    ///   worker, it now needs other evidence.
    fn compare_doubts(&mut self, index: WorkerIndex, held: &BTreeMap<u32, HeldTask>) -> Handled {
        for position in self.roster.doubts(index) {
            let last = self.operations.last(position);
            let task = held.get(&self.outline.at(position).index);
            let knows =
                task.is_some_and(|held| held.task.attempt.0 == last.number && held.phase > HeldPhase::Preparing);
            let State::InDoubt(doubt) = self.operations.state(position) else { continue };
            if knows {
                continue;
            }
            match (last.reported, doubt) {
                (false, Doubt::ResolveInStore) => {}
                (false, _) => self.worker_settles(position, TaskResult::NotCalled { reason: String::new() })?,
                (true, Doubt::AwaitsHolder) => self.holder_is_silent(position)?,
                (true, _) => {}
            }
        }
        Ok(())
    }

    /// Handles a worker that is about to leave. Its shards go to other workers. The worker finishes the operations that
    /// it began, and their results count.
    pub(super) fn leaving(&mut self, id: &WorkerId) -> Handled {
        match self.roster.find(id) {
            Some(index) if self.roster.begin_to_leave(index) => self.take_shards(index),
            _ => Ok(()),
        }
    }

    /// Lets a worker that was about to leave receive shards again.
    pub(super) fn stays(&mut self, id: &WorkerId) {
        if let Some(index) = self.roster.find(id)
            && self.roster.stay(index)
        {
            self.backlog.offer_orphans();
            self.refresh(index);
        }
    }

    /// Gives the shards of a worker, and the doubts that it settles, to other workers. The cost is proportional to the
    /// number of these shards and doubts.
    fn take_shards(&mut self, index: WorkerIndex) -> Handled {
        let held = self.roster.take_shards(index);
        self.backlog.lose(held);
        for position in self.roster.settling(index) {
            self.requeue_settle(position)?;
        }
        self.refresh(index);
        Ok(())
    }

    /// Handles a broken stream. The worker may reconnect with its results, so its tasks stay assigned to it for now.
    pub(super) fn left(&mut self, id: &WorkerId) {
        if let Some(index) = self.roster.find(id)
            && self.roster.disconnect(index, self.clock.now())
        {
            self.outbox.drop_orders(index);
            for maker in self.roster.heirs.disconnected(index) {
                self.roster.heirs.wait_for(maker, self.clock.now());
            }
        }
    }

    pub(super) fn dead(&mut self, id: &WorkerId) -> Handled {
        let Some(index) = self.roster.find(id) else { return Ok(()) };
        if self.roster.is_dead(index) {
            // The worker is already known to be dead. Another search for evidence would reopen the dependents of its
            // doubts and skip them again, without end.
            return Ok(());
        }
        self.outbox.drop_orders(index);
        let had = self.roster.bury(index);
        if self.roster.heirs.is_awaited(index) {
            return Ok(());
        }
        if had && self.may_have_heir(index) && !self.has_successor(index) {
            self.roster.heirs.wait_for(index, self.clock.now());
            return self.take_unbegun(index);
        }
        if had {
            self.give_up(index)?;
        }
        self.holder_died(index)
    }

    pub(super) fn tick(&mut self) -> Handled {
        self.tick_stopping()?;
        for index in self.roster.lose_absent(self.clock.now(), self.options.grace_ms) {
            self.give_up(index)?;
        }
        for index in self.roster.heirs.overdue(self.clock.now(), self.options.grace_ms) {
            self.no_heir(index)?;
        }
        self.tell_of_absence();
        Ok(())
    }

    /// Reports that work waits while no worker is connected. Each such period is reported once, after a few seconds.
    /// Does nothing in a single process, because its worker is about to connect.
    fn tell_of_absence(&mut self) {
        let waiting = self.backlog.first_waiting().filter(|_| !self.options.fixed_workers);
        if !self.roster.is_absence_news(waiting.is_some(), &self.clock) {
            return;
        }
        if let Some(position) = waiting.and_then(|shard| self.backlog.first(shard)) {
            self.tell(position, OperationEventKind::NoWorker, Opaque::default());
        }
    }

    /// Stops waiting for a worker that did not reconnect in time. Operations that the worker had not begun can be
    /// leased again, and calls that it may have made are in doubt.
    fn give_up(&mut self, index: WorkerIndex) -> Handled {
        self.take_unbegun(index)?;
        for position in self.roster.tasks(index) {
            let is_called = self.operations.state(position) == State::Intended(Intended::AtWorker);
            // In any other state, the answer of the store decides.
            if is_called && !self.is_handed_over(position, index) {
                self.doubt(position, problems::worker_gone(self.roster.id(index)))?;
            }
        }
        for position in self.roster.doubts(index) {
            if !self.is_handed_over(position, index) {
                self.holder_is_silent(position)?;
            }
        }
        self.refresh(index);
        Ok(())
    }

    /// Frees the operations that a lost worker had not begun.
    fn take_unbegun(&mut self, index: WorkerIndex) -> Handled {
        self.take_shards(index)?;
        for position in self.roster.tasks(index) {
            match self.operations.state(position) {
                State::Leased(Leased::AtWorker) => self.unlease(position)?,
                State::Intended(Intended::AtWorker) if self.ahead.waits(position) => {
                    self.never_called(position, problems::worker_lost_before_call())?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Frees a leased task. No call can have been made.
    pub(super) fn unlease(&mut self, position: Position) -> Handled {
        self.unlease_because(position, Opaque::default())
    }

    /// Frees a leased task whose worker reported these diagnostics. No call can have been made.
    pub(super) fn unlease_because(&mut self, position: Position, diagnostics: Opaque) -> Handled {
        self.happen(position, Happening::Unlease)?;
        self.tell(position, OperationEventKind::Returned, diagnostics);
        self.let_go(position);
        self.ready_if_free(position);
        Ok(())
    }

    /// Handles a result that is on its way to the store. The worker may already begin its next task. If the intent of
    /// that task is written now, it follows this result in the journal. So the intents of the two tasks are never open
    /// together.
    pub(super) fn result_is_here(&mut self, position: Position) -> Handled {
        let state = match self.operations.state(position) {
            State::Intended(_) => State::Intended(Intended::ResultInStore),
            _ => State::Leased(Leased::ResultInStore),
        };
        self.enter(position, state, Cause::ResultArrived)?;
        self.let_go(position);
        Ok(())
    }

    /// Removes an operation from the tasks of its worker.
    pub(super) fn let_go(&mut self, position: Position) {
        if let Some(holder) = self.operations.holder(position)
            && self.roster.remove_task(holder, position)
        {
            self.ahead.end(position, self.clock.now());
            let shard = self.outline.at(position).shard;
            if self.backlog.task_ended(shard) {
                self.shard_has_work(shard);
            }
            self.refresh(holder);
        }
    }

    /// Gives a task to a worker.
    pub(super) fn hold_task(&mut self, worker: WorkerIndex, position: Position) {
        if self.roster.add_task(worker, position) {
            self.backlog.task_began(self.outline.at(position).shard);
        }
    }

    /// Updates whether a worker can receive a task.
    pub(super) fn refresh(&mut self, worker: WorkerIndex) {
        self.roster.refresh(worker, &self.ahead);
    }
}
