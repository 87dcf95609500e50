//! Which worker holds which shard, and which operation goes to a worker next.

use std::cmp::Reverse;
use std::sync::Arc;

use super::{Coordinator, Phase, Position, WorkerIndex};
use crate::event::ProgressKind;
use crate::outline::OutlineShard;
use crate::status::{Happening, Status};
use crate::timing::SETTLE_WINDOW;
use crate::worker::{Order, Task};
use weft_state::{Attempt, Opaque};

impl Coordinator {
    /// Something of a shard can be begun: its worker, or whoever assigns shards, has to know.
    pub(super) fn shard_has_work(&mut self, shard: u32) {
        match self.backlog.shards[shard as usize].worker {
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

    /// After a worker was lost: every shard with work that nobody holds.
    pub(super) fn offer_shards_with_work(&mut self) {
        for (index, shard) in self.backlog.shards.iter().enumerate() {
            if shard.worker.is_none() && !(shard.ready.is_empty() && shard.settles.is_empty()) {
                self.backlog.wanting.insert(index as u32);
            }
        }
    }

    /// Whether a worker is among those that can be given something.
    pub(super) fn refresh(&mut self, index: WorkerIndex) {
        let worker = &self.roster.workers[index];
        let room = worker.tasks.len() < worker.window as usize;
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
        let most = self.options.parallelism.unwrap_or(u32::MAX);
        while let Some(worker) = self.next_worker() {
            if !self.dispatch_one(worker, self.tally.in_flight < most) && self.tally.in_flight >= most {
                break;
            }
        }
    }

    /// Leases shards that have work to workers that may hold them: the one that held it last, else the one with the
    /// least left to do.
    fn assign_shards(&mut self) {
        let gathering = self.clock.now < self.clock.begun + self.options.gather_ms;
        let nobody = !self.roster.workers.iter().any(|worker| worker.is_connected());
        if self.backlog.wanting.is_empty() || gathering || nobody {
            return;
        }
        let outline = Arc::clone(&self.outline);
        for shard in std::mem::take(&mut self.backlog.wanting) {
            let state = &self.backlog.shards[shard as usize];
            if state.worker.is_some() {
                continue;
            }
            match self.candidate(shard, &outline.shards[shard as usize]) {
                Some(worker) => {
                    let state = &mut self.backlog.shards[shard as usize];
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

    fn candidate(&self, shard: u32, demands: &OutlineShard) -> Option<WorkerIndex> {
        let state = &self.backlog.shards[shard as usize];
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

    /// Nobody connected may hold the shard. If somebody could but for having failed to open it, its work fails with
    /// what that worker said; else it waits.
    fn orphaned(&mut self, shard: u32) {
        self.backlog.orphans.insert(shard);
        let state = &self.backlog.shards[shard as usize];
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

    /// Nobody can open the shard: what is ready in it fails, what is in doubt stays so.
    fn fail_shard(&mut self, shard: u32, refusal: Opaque) {
        for (_, position) in std::mem::take(&mut self.backlog.shards[shard as usize].ready) {
            self.start(position, None);
            self.fail_unintended(position, refusal.clone());
        }
        for position in std::mem::take(&mut self.backlog.shards[shard as usize].settles) {
            self.unsettled(position, "its provider could not be opened".to_owned());
        }
        self.backlog.orphans.remove(&shard);
    }

    /// Sends a shard to its worker (again, after a reconnect): own results and those of other shards with it.
    pub(super) fn open_shard(&mut self, worker: WorkerIndex, shard: u32) {
        let outline = Arc::clone(&self.outline);
        let state = &self.backlog.shards[shard as usize];
        let index = |position: &Position| outline.operations[*position as usize].index;
        let restored = state
            .locals
            .iter()
            .filter_map(|position| Some((index(position), Arc::clone(self.results.locals.get(position)?))))
            .collect();
        let mut orders = vec![Order::Open { shard, restored }];
        for (position, export) in &state.foreign {
            if let Some(value) = self.results.exports.get(&(*position, *export)) {
                let value = Arc::clone(value);
                orders.push(Order::Foreign { shard, operation: index(position), export: *export, value });
            }
        }
        for order in orders {
            self.order(worker, order);
        }
    }

    /// The next worker that can be given something, in turn.
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

    /// Gives a worker one operation of its next shard, or evidence to seek. Says whether it did.
    fn dispatch_one(&mut self, index: WorkerIndex, may_start: bool) -> bool {
        let worker = &self.roster.workers[index];
        let behind = worker.busy_shards.range(worker.cursor..).next().or_else(|| worker.busy_shards.first());
        let Some(shard) = behind.copied() else {
            self.roster.dispatchable.remove(&index);
            return false;
        };
        self.roster.workers[index].cursor = shard + 1;
        let settles = self.roster.workers[index].settling.len() < SETTLE_WINDOW as usize;
        let state = &mut self.backlog.shards[shard as usize];
        if settles && let Some(position) = state.settles.pop_first() {
            self.start_settling(position, index);
        } else if let Some((_, position)) = state.ready.first().copied() {
            if !may_start {
                return false;
            }
            state.ready.pop_first();
            self.start(position, Some(index));
        } else {
            // Only evidence is left to seek, and the worker has its hands full with that: its answers wake the shard.
            self.roster.workers[index].busy_shards.remove(&shard);
            self.refresh(index);
            return false;
        }
        let state = &self.backlog.shards[shard as usize];
        if state.ready.is_empty() && state.settles.is_empty() {
            self.roster.workers[index].busy_shards.remove(&shard);
        }
        self.refresh(index);
        true
    }

    /// Leases an operation.
    fn start(&mut self, position: Position, worker: Option<WorkerIndex>) {
        if !self.happen(position, Happening::Lease) {
            return;
        }
        let now = self.clock.now;
        let operation = self.operation(position);
        let (shard, index, can_settle) = (operation.shard, operation.index, operation.can_settle());
        if let Some(before) = self.ops[position as usize].holder {
            self.roster.workers[before].dead_attempts.remove(&position);
        }
        let op = &mut self.ops[position as usize];
        op.phase = Phase::AtWorker;
        op.reported = false;
        op.begun_here = true;
        op.attempt = op.attempt.max(op.floor) + 1;
        op.holder = worker;
        op.since = now;
        let task = Task { operation: index, attempt: Attempt(op.attempt) };
        let read_first = op.tried && can_settle;
        let Some(worker) = worker else { return };
        self.roster.workers[worker].tasks.insert(position);
        self.tally.in_flight += 1;
        self.order(worker, Order::Start { shard, task, read_first });
        self.tell(position, ProgressKind::Started, Opaque::default());
    }

    /// A worker could not open a shard: its tasks there are free again, and another worker may try.
    pub(super) fn shard_refused(&mut self, index: WorkerIndex, shard: u32, diagnostics: Opaque) {
        let Some(state) = self.backlog.shards.get_mut(shard as usize) else { return };
        if state.worker != Some(index) {
            return;
        }
        state.worker = None;
        state.last = None;
        state.refused_by.insert(index);
        state.refusal = Some(diagnostics);
        self.roster.workers[index].release(shard, state.open);
        self.roster.workers[index].busy_shards.remove(&shard);
        let of_shard = |position: &Position| self.outline.operations[*position as usize].shard == shard;
        let tasks: Vec<Position> = self.roster.workers[index].tasks.iter().copied().filter(of_shard).collect();
        let settling: Vec<Position> = self.roster.workers[index].settling.iter().copied().filter(of_shard).collect();
        for position in tasks {
            let op = &self.ops[position as usize];
            if (op.status, op.phase) == (Status::Leased, Phase::AtWorker) {
                self.unlease(position);
            }
        }
        for position in settling {
            self.roster.workers[index].settling.remove(&position);
            self.requeue_settle(position);
        }
        let state = &self.backlog.shards[shard as usize];
        if !(state.ready.is_empty() && state.settles.is_empty()) {
            self.backlog.wanting.insert(shard);
        }
        self.refresh(index);
    }

    /// Puts a ready operation back in its place.
    pub(super) fn unready(&mut self, position: Position) {
        let shard = self.operation(position).shard;
        let entry = (Reverse(self.nodes.height(position)), position);
        self.backlog.shards[shard as usize].ready.remove(&entry);
    }
}
