//! Assigns shards to workers, and operations to the workers of their shards.

use std::sync::Arc;

use tracing::warn;

use super::backlog::Work;
use super::operation::{Leased, State};
use super::{Coordinator, Handled, Position, ShardIndex, WorkerIndex, problems};
use crate::operation_event::OperationEventKind;
use crate::outline::OutlineShard;
use crate::process::in_words;
use crate::status::Happening;
use weft_protocol::diagnostics::{decode_diagnostics, first_error};
use weft_protocol::{OpenShard, Order};
use weft_state::Opaque;

/// The result of trying to give a worker a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dispatched {
    /// The worker received one operation or doubt.
    One,
    /// The worker received nothing, and cannot receive anything now.
    Nothing,
    /// The limit of concurrent operations is reached.
    Full,
}

impl Coordinator {
    /// Records that a shard has a task to begin. If the shard has no worker, offers the shard to workers.
    pub(super) fn shard_has_work(&mut self, shard: ShardIndex) {
        match self.backlog.worker(shard) {
            Some(worker) => {
                self.roster.set_busy(worker, shard, true);
                self.refresh(worker);
            }
            None => self.backlog.offer(shard),
        }
    }

    /// Gives workers the tasks that they can begin.
    pub(super) fn dispatch(&mut self) -> Handled {
        if !self.course.may_begin() {
            return Ok(());
        }
        for position in self.pace.retries.take_due(self.clock.now()) {
            self.ready_if_free(position);
        }
        self.assign_shards()?;
        loop {
            while let Some(worker) = self.roster.next_worker() {
                if self.dispatch_one(worker)? == Dispatched::Full {
                    // Without a slot, tokens could not be used.
                    return Ok(());
                }
            }
            let ready = self.pace.budgets.take_ready(self.clock.now());
            if ready.is_empty() {
                break;
            }
            ready.into_iter().for_each(|shard| self.shard_has_work(shard));
            self.assign_shards()?;
        }
        let requests = self.pace.budgets.request(self.clock.now(), |shard| self.backlog.demand(shard));
        self.outbox.ask_for_tokens(requests);
        Ok(())
    }

    /// Leases shards with work. A shard goes to its previous worker if that worker is suitable. Otherwise it goes to
    /// the suitable worker that then has the fewest open operations for each of its slots.
    fn assign_shards(&mut self) -> Handled {
        let is_gathering = self.clock.age() < self.options.gather_ms;
        if !self.backlog.is_offering() || is_gathering || !self.roster.has_connected() {
            return Ok(());
        }
        let outline = Arc::clone(&self.outline);
        for shard in self.backlog.take_offered() {
            if self.backlog.worker(shard).is_some() {
                continue;
            }
            match outline.shard(shard).and_then(|demands| self.candidate(shard, demands)) {
                Some(worker) => {
                    let open = self.backlog.assign(shard, worker);
                    self.roster.hold(worker, shard, open);
                    self.open_shard(worker, shard);
                    self.shard_has_work(shard);
                }
                None => self.orphaned(shard)?,
            }
        }
        Ok(())
    }

    fn candidate(&self, shard: ShardIndex, demands: &OutlineShard) -> Option<WorkerIndex> {
        let fits = |index: WorkerIndex| self.is_suitable(index, shard, demands);
        let last = self.backlog.last_worker(shard).filter(|last| fits(*last));
        last.or_else(|| self.roster.least_loaded(self.backlog.open(shard), fits))
    }

    /// Whether a worker may get a shard.
    fn is_suitable(&self, worker: WorkerIndex, shard: ShardIndex, demands: &OutlineShard) -> bool {
        self.roster.fits(worker, &demands.labels, &demands.packages) && !self.backlog.was_refused_by(shard, worker)
    }

    /// Handles a shard for which no connected worker is suitable. If the last worker of the shard could not open it,
    /// the ready operations of the shard fail with the diagnostics of that worker. Otherwise the operations wait for a
    /// worker. The event then has the diagnostics of the worker that could not open the shard earlier, if there is one.
    fn orphaned(&mut self, shard: ShardIndex) -> Handled {
        let refusal = self.backlog.refusal(shard);
        if self.backlog.last_worker(shard).is_none()
            && let Some(refusal) = refusal
        {
            return self.fail_shard(shard, refusal);
        }
        self.backlog.orphan(shard);
        if let Some(refusal) = &refusal {
            let reason = first_error(&decode_diagnostics(refusal));
            warn!(provider = self.provider_of(shard), "a part of the plan waits for another worker: {reason}");
        }
        if let Some(position) = self.backlog.first(shard) {
            self.tell(position, OperationEventKind::Waiting, refusal.unwrap_or_default());
        }
        Ok(())
    }

    /// Handles a shard that no worker can open. Its ready operations fail, and its doubts stay doubts.
    fn fail_shard(&mut self, shard: ShardIndex, refusal: Opaque) -> Handled {
        let (ready, settles) = self.backlog.give_up(shard);
        for position in ready {
            self.happen(position, Happening::Lease)?;
            self.begin_attempt(position, None);
            self.fail_unintended(position, refusal.clone())?;
        }
        let reason = first_error(&decode_diagnostics(&refusal));
        for position in settles {
            self.unsettled(position, problems::cannot_settle(&reason))?;
        }
        Ok(())
    }

    /// Sends a shard to its worker, with the available results of this shard and of other shards. Also used after a
    /// reconnect.
    pub(super) fn open_shard(&mut self, worker: WorkerIndex, shard: ShardIndex) {
        let index = |position: Position| self.outline.at(position).index;
        let locals = self.backlog.locals(shard).iter();
        let restored = locals.filter_map(|position| Some((index(*position), self.results.local(*position)?))).collect();
        let mut orders = vec![Order::Open(Box::new(OpenShard { shard: shard.0, restored, package: None }))];
        for (position, export) in self.backlog.foreign(shard) {
            if let Some(value) = self.results.export(*position, *export) {
                orders.push(Order::Foreign { shard: shard.0, operation: index(*position), export: export.0, value });
            }
        }
        for order in orders {
            self.order(worker, order);
        }
    }

    /// Gives a worker one operation of its next shard, or one doubt to settle.
    fn dispatch_one(&mut self, index: WorkerIndex) -> Handled<Dispatched> {
        let Some(shard) = self.roster.next_shard(index) else {
            self.refresh(index);
            return Ok(Dispatched::Nothing);
        };
        let Some(work) = self.backlog.next(shard, self.roster.may_settle(index)) else {
            // The shard has the maximum number of tasks, or it has only doubts and the worker already settles the
            // maximum number of doubts. So the worker cannot begin anything of this shard now, and the shard does not
            // count as busy. When a task or a search for evidence ends, the shard counts as busy again.
            self.roster.set_busy(index, shard, false);
            self.refresh(index);
            return Ok(Dispatched::Nothing);
        };
        if let Work::Start(position) = work {
            if !self.may_begin(position) {
                return Ok(Dispatched::Full);
            }
            if !self.fits_at(index, position) {
                self.roster.is_full(index);
                return Ok(Dispatched::Nothing);
            }
        }
        if !self.pace.budgets.take(shard, self.calls(work), self.clock.now()) {
            // The shard waits for tokens. When the tokens arrive, the shard is marked as busy again.
            self.roster.set_busy(index, shard, false);
            self.refresh(index);
            return Ok(Dispatched::Nothing);
        }
        self.backlog.begin(shard, work);
        match work {
            Work::Start(position) => self.start(position, index)?,
            Work::Settle(position) => self.start_settling(position, index)?,
        }
        if !self.backlog.has_work(shard) {
            self.roster.set_busy(index, shard, false);
        }
        self.refresh(index);
        Ok(Dispatched::One)
    }

    /// The number of provider calls of a task.
    fn calls(&self, work: Work) -> u32 {
        match work {
            Work::Start(position) => self.outline.at(position).calls(self.reads_first(position)),
            // Evidence is found by reading the object: one call.
            Work::Settle(_) => 1,
        }
    }

    /// Whether the next attempt reads the object before the change.
    fn reads_first(&self, position: Position) -> bool {
        self.operations.was_tried(position) && self.outline.at(position).can_settle()
    }

    /// Leases an operation to a worker.
    fn start(&mut self, position: Position, worker: WorkerIndex) -> Handled {
        self.happen(position, Happening::Lease)?;
        self.begin_attempt(position, Some(worker));
        self.hold_task(worker, position);
        self.pace.meter.dispatched(position, self.clock.now());
        let operation = self.outline.at(position);
        let read_first = self.reads_first(position);
        let (shard, task) = (operation.shard.0, self.task(position));
        self.order(worker, Order::Start { shard, task, read_first });
        self.tell(position, OperationEventKind::Started, Opaque::default());
        Ok(())
    }

    fn begin_attempt(&mut self, position: Position, worker: Option<WorkerIndex>) {
        if let Some(before) = self.operations.holder(position) {
            self.roster.forget_attempt(before, position);
        }
        self.operations.begin_attempt(position, worker, self.clock.now());
    }

    /// Handles an operation that ended without a call, because its worker could not open the provider. Returns `false`
    /// if no other worker is suitable for the shard: then the operation fails.
    pub(super) fn goes_to_another(&mut self, position: Position, diagnostics: &Opaque) -> Handled<bool> {
        let shard = self.outline.at(position).shard;
        let Some(holder) = self.operations.holder(position) else { return Ok(false) };
        if !self.moves_on(shard, holder, diagnostics) {
            return Ok(false);
        }
        self.acknowledge(position);
        self.unlease_because(position, diagnostics.clone())?;
        Ok(true)
    }

    /// Takes a shard from a worker that could not open its provider, so that another worker gets it. Each worker is
    /// tried once. Returns `false`, and changes nothing, if no other worker is suitable for the shard. The caller makes
    /// the worker's task available again, which offers the shard to the other workers.
    pub(super) fn moves_on(&mut self, shard: ShardIndex, worker: WorkerIndex, diagnostics: &Opaque) -> bool {
        // Several tasks of the shard may report the same failure. The first report takes the shard from the worker, and
        // the other tasks follow the shard.
        if self.backlog.worker(shard) != Some(worker) {
            return true;
        }
        let outline = Arc::clone(&self.outline);
        let Some(demands) = outline.shard(shard) else { return false };
        let others = |index: WorkerIndex| index != worker && self.is_suitable(index, shard, demands);
        if !self.roster.everyone().any(others) {
            return false;
        }
        self.take_refused(shard, worker, diagnostics.clone());
        self.order(worker, Order::Close(shard.0));
        true
    }

    /// Takes a shard from a worker that could not open it, and writes the reason to the log. Returns `false` if the
    /// worker does not have the shard.
    fn take_refused(&mut self, shard: ShardIndex, worker: WorkerIndex, diagnostics: Opaque) -> bool {
        let reason = first_error(&decode_diagnostics(&diagnostics));
        let Some(open) = self.backlog.refuse(shard, worker, diagnostics) else { return false };
        let name = in_words(self.roster.id(worker));
        warn!(provider = self.provider_of(shard), "{name} cannot open a part of the plan: {reason}");
        self.roster.release(worker, shard, open);
        self.refresh(worker);
        if self.backlog.has_work(shard) {
            self.backlog.offer(shard);
        }
        true
    }

    /// Handles the report that a worker could not open a shard. The tasks that this worker had from the shard can be
    /// leased again, and another worker may try to open the shard.
    pub(super) fn shard_refused(&mut self, index: WorkerIndex, shard: ShardIndex, diagnostics: Opaque) -> Handled {
        if !self.take_refused(shard, index, diagnostics.clone()) {
            return Ok(());
        }
        for position in self.roster.tasks(index) {
            let is_leased = self.operations.state(position) == State::Leased(Leased::AtWorker);
            if is_leased && self.outline.at(position).shard == shard {
                self.unlease_because(position, diagnostics.clone())?;
            }
        }
        for position in self.roster.settling(index) {
            if self.outline.at(position).shard == shard {
                self.requeue_settle(position)?;
            }
        }
        Ok(())
    }
}
