//! Assigns shards to workers, and operations to the workers that hold their shards.

use std::cmp::Reverse;
use std::sync::Arc;

use super::{Coordinator, Leased, Position, ShardIndex, State, WorkerIndex};
use crate::outline::OutlineShard;
use crate::progress::ProgressKind;
use crate::status::Happening;
use crate::timing::SETTLE_WINDOW;
use weft_protocol::{OpenShard, Order, Task};
use weft_state::{Attempt, Opaque};

/// What became of an attempt to give a worker something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dispatched {
    /// It received one operation or doubt.
    One,
    /// It received nothing, and cannot receive anything now.
    Nothing,
    /// The limit of concurrent operations is reached.
    Full,
}

impl Coordinator {
    /// Announces that something of a shard can start, to its worker or to the assignment of shards.
    pub(super) fn shard_has_work(&mut self, shard: ShardIndex) {
        match self.backlog.shards[shard].worker {
            Some(worker) => {
                self.roster.workers[worker].busy_shards.insert(shard);
                self.refresh(worker);
            }
            None if !self.backlog.orphans.contains(&shard) => {
                self.backlog.wanting.insert(shard);
            }
            None => {}
        }
    }

    /// After the loss of a worker, offers every shard with work that no worker holds.
    pub(super) fn offer_shards_with_work(&mut self) {
        for (index, shard) in self.backlog.shards.entries() {
            if shard.worker.is_none() && !(shard.ready.is_empty() && shard.settles.is_empty()) {
                self.backlog.wanting.insert(index);
            }
        }
    }

    /// Updates whether a worker can receive something.
    pub(super) fn refresh(&mut self, index: WorkerIndex) {
        let worker = &self.roster.workers[index];
        let room = self.has_room(worker);
        let able = worker.is_connected() && room && !worker.busy_shards.is_empty();
        if able {
            self.roster.dispatchable.insert(index)
        } else {
            self.roster.dispatchable.remove(&index)
        };
    }

    pub(super) fn dispatch(&mut self) {
        if self.course.draining || self.course.paused {
            return;
        }
        self.assign_shards();
        while let Some(worker) = self.next_worker() {
            if self.dispatch_one(worker) == Dispatched::Full {
                break;
            }
        }
    }

    /// Leases shards with work: to the worker that held the shard last, or to the fitting worker with the least work.
    fn assign_shards(&mut self) {
        let gathering = self.clock.now < self.clock.begun + self.options.gather_ms;
        let nobody = !self.roster.workers.iter().any(|worker| worker.is_connected());
        if self.backlog.wanting.is_empty() || gathering || nobody {
            return;
        }
        let outline = Arc::clone(&self.outline);
        for shard in std::mem::take(&mut self.backlog.wanting) {
            let state = &self.backlog.shards[shard];
            if state.worker.is_some() {
                continue;
            }
            match outline.shard(shard).and_then(|demands| self.candidate(shard, demands)) {
                Some(worker) => {
                    let state = &mut self.backlog.shards[shard];
                    state.worker = Some(worker);
                    state.last = Some(worker);
                    self.roster.workers[worker].hold(shard, state.open);
                    self.open_shard(worker, shard);
                    self.shard_has_work(shard);
                }
                None => self.orphaned(shard),
            }
        }
    }

    fn candidate(&self, shard: ShardIndex, demands: &OutlineShard) -> Option<WorkerIndex> {
        let state = &self.backlog.shards[shard];
        let fits = |index: WorkerIndex| {
            let worker = &self.roster.workers[index];
            worker.fits(&demands.labels, &demands.packages) && !state.refused_by.contains(&index)
        };
        if let Some(last) = state.last.filter(|last| fits(*last)) {
            return Some(last);
        }
        let load = |index: &WorkerIndex| self.roster.workers[*index].load();
        self.roster.workers.positions().filter(|index| fits(*index)).min_by_key(load)
    }

    /// No connected worker may hold the shard. If a worker failed to open it, its operations fail with that worker's
    /// diagnostics; otherwise they wait.
    fn orphaned(&mut self, shard: ShardIndex) {
        self.backlog.orphans.insert(shard);
        let state = &self.backlog.shards[shard];
        let first = state.ready.first().map(|(_, position)| *position).or(state.settles.first().copied());
        match state.refusal.clone() {
            Some(refusal) => self.fail_shard(shard, refusal),
            None => {
                if let Some(position) = first {
                    self.tell(position, ProgressKind::Waiting, Opaque::default());
                }
            }
        }
    }

    /// No worker can open the shard. Its ready operations fail, and its doubts stay doubts.
    fn fail_shard(&mut self, shard: ShardIndex, refusal: Opaque) {
        for (_, position) in std::mem::take(&mut self.backlog.shards[shard].ready) {
            self.start(position, None);
            self.fail_unintended(position, refusal.clone());
        }
        for position in std::mem::take(&mut self.backlog.shards[shard].settles) {
            self.unsettled(position, "its provider could not be opened".to_owned());
        }
        self.backlog.orphans.remove(&shard);
    }

    /// Sends a shard to its worker, with its own results and those of other shards. Also after a reconnect.
    pub(super) fn open_shard(&mut self, worker: WorkerIndex, shard: ShardIndex) {
        let outline = Arc::clone(&self.outline);
        let state = &self.backlog.shards[shard];
        let index = |position: &Position| outline.at(*position).index;
        let restored = state
            .locals
            .iter()
            .filter_map(|position| Some((index(position), Arc::clone(self.results.locals.get(position)?))))
            .collect();
        let mut orders = vec![Order::Open(Box::new(OpenShard { shard: shard.0, restored, package: None }))];
        for (position, export) in &state.foreign {
            if let Some(value) = self.results.exports.get(&(*position, *export)) {
                let value = Arc::clone(value);
                orders.push(Order::Foreign { shard: shard.0, operation: index(position), export: export.0, value });
            }
        }
        for order in orders {
            self.order(worker, order);
        }
    }

    /// The next worker that can receive something, in turn.
    fn next_worker(&mut self) -> Option<WorkerIndex> {
        let next = self
            .roster
            .dispatchable
            .range(self.roster.cursor..)
            .next()
            .or_else(|| self.roster.dispatchable.first())
            .copied()?;
        self.roster.cursor = next.next();
        Some(next)
    }

    /// Gives a worker one operation of its next shard, or one doubt to settle.
    fn dispatch_one(&mut self, index: WorkerIndex) -> Dispatched {
        let worker = &self.roster.workers[index];
        let behind = worker.busy_shards.range(worker.cursor..).next().or_else(|| worker.busy_shards.first());
        let Some(shard) = behind.copied() else {
            self.roster.dispatchable.remove(&index);
            return Dispatched::Nothing;
        };
        self.roster.workers[index].cursor = shard.next();
        let settles = self.roster.workers[index].settling.len() < SETTLE_WINDOW as usize;
        let state = &mut self.backlog.shards[shard];
        if settles && let Some(position) = state.settles.pop_first() {
            self.start_settling(position, index);
        } else if let Some((_, position)) = state.ready.first().copied() {
            if !self.may_begin(position) {
                return Dispatched::Full;
            }
            if !self.fits_at(index, position) {
                // It can receive something when one of its operations ends.
                self.roster.dispatchable.remove(&index);
                return Dispatched::Nothing;
            }
            self.backlog.shards[shard].ready.pop_first();
            self.start(position, Some(index));
        } else {
            // Only doubts are left, and the worker already settles as many as it may. Its answers bring the shard back.
            self.roster.workers[index].busy_shards.remove(&shard);
            self.refresh(index);
            return Dispatched::Nothing;
        }
        let state = &self.backlog.shards[shard];
        if state.ready.is_empty() && state.settles.is_empty() {
            self.roster.workers[index].busy_shards.remove(&shard);
        }
        self.refresh(index);
        Dispatched::One
    }

    /// Leases an operation.
    fn start(&mut self, position: Position, worker: Option<WorkerIndex>) {
        if !self.happen(position, Happening::Lease) {
            return;
        }
        let now = self.clock.now;
        let operation = self.operation(position);
        let (shard, index, can_settle) = (operation.shard, operation.index, operation.can_settle());
        if let Some(before) = self.ops[position].last.holder {
            self.roster.workers[before].dead_attempts.remove(&position);
        }
        let op = &mut self.ops[position];
        op.begin(worker, now);
        let task = Task { operation: index, attempt: Attempt(op.last.number) };
        let read_first = op.tried && can_settle;
        let Some(worker) = worker else { return };
        self.roster.workers[worker].tasks.insert(position);
        self.tally.in_flight += 1;
        self.order(worker, Order::Start { shard: shard.0, task, read_first });
        self.tell(position, ProgressKind::Started, Opaque::default());
    }

    /// A worker could not open a shard. Its tasks there are free again, and another worker may try.
    pub(super) fn shard_refused(&mut self, index: WorkerIndex, shard: ShardIndex, diagnostics: Opaque) {
        let Some(state) = self.backlog.shards.get_mut(shard) else { return };
        if state.worker != Some(index) {
            return;
        }
        state.worker = None;
        state.last = None;
        state.refused_by.insert(index);
        state.refusal = Some(diagnostics);
        self.roster.workers[index].release(shard, state.open);
        self.roster.workers[index].busy_shards.remove(&shard);
        let of_shard = |position: &Position| self.outline.at(*position).shard == shard;
        let tasks: Vec<Position> = self.roster.workers[index].tasks.iter().copied().filter(of_shard).collect();
        let settling: Vec<Position> = self.roster.workers[index].settling.iter().copied().filter(of_shard).collect();
        for position in tasks {
            let op = &self.ops[position];
            if op.state == State::Leased(Leased::AtWorker) {
                self.unlease(position);
            }
        }
        for position in settling {
            self.roster.workers[index].settling.remove(&position);
            self.requeue_settle(position);
        }
        let state = &self.backlog.shards[shard];
        if !(state.ready.is_empty() && state.settles.is_empty()) {
            self.backlog.wanting.insert(shard);
        }
        self.refresh(index);
    }

    /// Takes an operation out of the ready ones.
    pub(super) fn unready(&mut self, position: Position) {
        let shard = self.operation(position).shard;
        let entry = (Reverse(self.nodes.height(position)), position);
        self.backlog.shards[shard].ready.remove(&entry);
    }
}
