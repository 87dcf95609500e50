//! Who is there: workers that join, leave, come back, fall silent or die, and the tasks that they take with them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Index, IndexMut};

use weft_state::WorkerId;

use super::{Coordinator, Phase, Position};
use crate::event::ProgressKind;
use crate::status::{Happening, Status};
use crate::timing::WINDOW;
use crate::worker::{HeldPhase, HeldTask, Hello, Order, TaskResult};
use weft_state::Opaque;

/// The position of a worker in [`Workers`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WorkerIndex(u32);

impl WorkerIndex {
    /// The position behind it.
    pub(super) fn next(self) -> WorkerIndex {
        WorkerIndex(self.0 + 1)
    }
}

/// Every worker that is or was there, in the order in which they became known. None is ever removed.
#[derive(Debug, Default)]
pub(super) struct Workers(Vec<Worker>);

impl Workers {
    /// Every position, in order.
    pub(super) fn positions(&self) -> impl Iterator<Item = WorkerIndex> + use<> {
        (0..self.0.len() as u32).map(WorkerIndex)
    }

    /// Every worker, in order.
    pub(super) fn iter(&self) -> std::slice::Iter<'_, Worker> {
        self.0.iter()
    }

    /// Adds a worker behind the others.
    fn add(&mut self, worker: Worker) -> WorkerIndex {
        let index = WorkerIndex(self.0.len() as u32);
        self.0.push(worker);
        index
    }
}

impl Index<WorkerIndex> for Workers {
    type Output = Worker;

    fn index(&self, index: WorkerIndex) -> &Worker {
        &self.0[index.0 as usize]
    }
}

impl IndexMut<WorkerIndex> for Workers {
    fn index_mut(&mut self, index: WorkerIndex) -> &mut Worker {
        &mut self.0[index.0 as usize]
    }
}

/// Whether a worker is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    /// Connected.
    Here,
    /// Connected, and about to leave: it ends what it has begun.
    Leaving,
    /// Disconnected since this time. It may come back with its results.
    Away { since: u64 },
    /// Away for so long that its tasks were given up.
    Lost,
    /// Known to be dead, and its providers with it.
    Dead,
}

/// A process that is or was a worker of this run.
#[derive(Clone, Debug)]
pub(super) struct Worker {
    pub(super) id: WorkerId,
    labels: BTreeMap<String, String>,
    packages: Vec<String>,
    /// Most tasks at once.
    pub(super) window: u32,
    presence: Presence,
    /// Leased tasks and open intents of its.
    pub(super) tasks: BTreeSet<Position>,
    /// What it seeks evidence for.
    pub(super) settling: BTreeSet<Position>,
    /// Attempts of its that are in doubt.
    pub(super) doubts: BTreeSet<Position>,
    pub(super) shards: BTreeSet<u32>,
    /// How many operations of its shards are not at rest.
    load: u64,
    /// Shards of its that have something to start.
    pub(super) busy_shards: BTreeSet<u32>,
    pub(super) cursor: u32,
    /// Attempts of its whose provider process is known to be dead, though the worker lives.
    pub(super) dead_attempts: BTreeSet<Position>,
}

impl Worker {
    fn absent(id: WorkerId, now: u64) -> Worker {
        Worker {
            id,
            labels: BTreeMap::new(),
            packages: Vec::new(),
            window: 0,
            presence: Presence::Away { since: now },
            tasks: BTreeSet::new(),
            settling: BTreeSet::new(),
            doubts: BTreeSet::new(),
            shards: BTreeSet::new(),
            load: 0,
            busy_shards: BTreeSet::new(),
            cursor: 0,
            dead_attempts: BTreeSet::new(),
        }
    }

    /// Whether it may hold a shard with these demands.
    pub(super) fn fits(&self, labels: &BTreeMap<String, String>, packages: &[String]) -> bool {
        let labelled = labels.iter().all(|(name, value)| self.labels.get(name) == Some(value));
        let equipped = packages.is_empty()
            || self.packages.is_empty()
            || packages.iter().any(|package| self.packages.contains(package));
        self.presence == Presence::Here && labelled && equipped
    }

    /// Whether its stream is open.
    pub(super) fn is_connected(&self) -> bool {
        matches!(self.presence, Presence::Here | Presence::Leaving)
    }

    /// Whether it is known to be dead.
    pub(super) fn is_dead(&self) -> bool {
        self.presence == Presence::Dead
    }

    /// How many operations of its shards are not at rest.
    pub(super) fn load(&self) -> u64 {
        self.load
    }

    /// It holds a shard from now on; `open` of its operations are not at rest.
    pub(super) fn hold(&mut self, shard: u32, open: u32) {
        if self.shards.insert(shard) {
            self.load += u64::from(open);
        }
    }

    /// It no longer holds a shard; `open` of its operations are not at rest.
    pub(super) fn release(&mut self, shard: u32, open: u32) {
        if self.shards.remove(&shard) {
            self.load -= u64::from(open);
        }
    }

    /// An operation of one of its shards came to rest, or left its rest.
    pub(super) fn rests(&mut self, rests: bool) {
        if rests {
            self.load -= 1;
        } else {
            self.load += 1;
        }
    }
}

impl Coordinator {
    pub(super) fn connected_workers(&self) -> Vec<WorkerIndex> {
        let workers = &self.roster.workers;
        workers.positions().filter(|index| workers[*index].is_connected()).collect()
    }

    /// The entry of a worker that is known by name only so far.
    pub(super) fn absent_worker(&mut self, id: &WorkerId) -> WorkerIndex {
        if let Some(index) = self.roster.names.get(id) {
            return *index;
        }
        let index = self.roster.workers.add(Worker::absent(id.clone(), self.clock.now));
        self.roster.names.insert(id.clone(), index);
        index
    }

    pub(super) fn joined(&mut self, hello: Hello) {
        let index = self.absent_worker(&hello.worker);
        self.roster.visited = true;
        let worker = &mut self.roster.workers[index];
        worker.labels = hello.labels;
        worker.packages = hello.packages;
        worker.window = hello.capacity.clamp(1, WINDOW);
        worker.presence = Presence::Here;
        if self.course.draining {
            self.order(index, Order::Drain);
        }
        if self.course.stopping.is_some() {
            self.order(index, Order::Stop);
        }
        self.compare_tasks(index, hello.held);
        for shard in self.roster.workers[index].shards.clone() {
            self.open_shard(index, shard);
        }
        let queued: Vec<Position> = self.roster.workers[index].settling.iter().copied().collect();
        for position in queued {
            self.requeue_settle(position);
        }
        self.backlog.wanting.append(&mut self.backlog.orphans);
        self.refresh(index);
    }

    /// After a reconnect: what the worker holds against what we believe that it holds.
    fn compare_tasks(&mut self, index: WorkerIndex, held: Vec<HeldTask>) {
        let held: BTreeMap<u32, HeldTask> = held.into_iter().map(|held| (held.task.operation, held)).collect();
        for position in self.roster.workers[index].tasks.clone() {
            let op = &self.ops[position as usize];
            let operation = self.operation(position).index;
            let has = held.get(&operation).filter(|held| held.task.attempt.0 == op.attempt).map(|held| held.phase);
            match (op.status, op.phase, has) {
                // The order got lost on the way.
                (Status::Leased, Phase::AtWorker, None) => self.unlease(position),
                // The worker never got the grant, and will not act on a later one.
                (Status::Intended, Phase::AtWorker, None) => {
                    self.never_called(position, "the worker never had the grant");
                }
                (Status::Intended, Phase::AtWorker, Some(HeldPhase::Preparing)) => {
                    self.never_called(position, "the worker had not asked for the intent");
                }
                _ => {}
            }
        }
        // It is alive and knows nothing of these: it was never told to call, or was told to forget them.
        for position in self.roster.workers[index].doubts.clone() {
            let op = &self.ops[position as usize];
            let has = held.get(&self.operation(position).index);
            let knows = has.is_some_and(|held| held.task.attempt.0 == op.attempt && held.phase > HeldPhase::Preparing);
            if knows || op.status != Status::InDoubt {
                continue;
            }
            match (op.reported, op.phase) {
                (false, Phase::ResolveInStore) => {}
                (false, _) => self.worker_settles(position, TaskResult::NotCalled { reason: String::new() }),
                (true, Phase::AwaitsHolder) => self.holder_is_silent(position),
                (true, _) => {}
            }
        }
        for held in held.into_values() {
            let position = self.outline.position(held.task.operation).map(|position| position as u32);
            let known = position.is_some_and(|position| {
                let op = &self.ops[position as usize];
                op.holder == Some(index) && op.attempt == held.task.attempt.0
            });
            if let Some(position) = position {
                let floor = &mut self.ops[position as usize].floor;
                *floor = held.task.attempt.0.max(*floor);
            }
            if !known && held.phase < HeldPhase::Called {
                self.order(index, Order::Drop(held.task));
            }
        }
    }

    /// It is about to leave: its shards are for others from now on, but what it has begun is still its own, and its
    /// results count as ever.
    pub(super) fn leaving(&mut self, id: &WorkerId) {
        let Some(index) = self.roster.names.get(id).copied() else { return };
        let worker = &mut self.roster.workers[index];
        if worker.presence != Presence::Here {
            return;
        }
        worker.presence = Presence::Leaving;
        self.take_shards(index);
    }

    /// Its shards, and what it seeks evidence for, are for others.
    fn take_shards(&mut self, index: WorkerIndex) {
        for shard in std::mem::take(&mut self.roster.workers[index].shards) {
            self.backlog.shards[shard as usize].worker = None;
        }
        self.roster.workers[index].load = 0;
        self.roster.workers[index].busy_shards.clear();
        let queued: Vec<Position> = self.roster.workers[index].settling.iter().copied().collect();
        for position in queued {
            self.requeue_settle(position);
        }
        self.offer_shards_with_work();
        self.refresh(index);
    }

    /// The stream broke: it may come back with its results, so nothing is given up yet.
    pub(super) fn left(&mut self, id: &WorkerId) {
        let Some(index) = self.roster.names.get(id).copied() else { return };
        if self.roster.workers[index].is_connected() {
            self.disconnect(index);
        }
    }

    fn disconnect(&mut self, index: WorkerIndex) {
        let now = self.clock.now;
        let worker = &mut self.roster.workers[index];
        worker.presence = Presence::Away { since: now };
        self.outbox.orders.remove(&index);
        self.refresh(index);
    }

    pub(super) fn dead(&mut self, id: &WorkerId) {
        let Some(index) = self.roster.names.get(id).copied() else { return };
        if self.roster.workers[index].is_connected() {
            self.disconnect(index);
        }
        let before = std::mem::replace(&mut self.roster.workers[index].presence, Presence::Dead);
        if matches!(before, Presence::Away { .. }) {
            self.give_up(index);
        }
        self.holder_died(index);
    }

    pub(super) fn tick(&mut self) {
        self.tick_stopping();
        for index in self.roster.workers.positions() {
            let worker = &mut self.roster.workers[index];
            let Presence::Away { since } = worker.presence else { continue };
            if self.clock.now.saturating_sub(since) >= self.options.grace_ms {
                worker.presence = Presence::Lost;
                self.give_up(index);
            }
        }
    }

    /// It does not come back in time: what it had not begun is free, what it may have done is in doubt.
    fn give_up(&mut self, index: WorkerIndex) {
        self.take_shards(index);
        for position in self.roster.workers[index].tasks.clone() {
            let op = &self.ops[position as usize];
            match (op.status, op.phase) {
                (Status::Leased, Phase::AtWorker) => self.unlease(position),
                (Status::Intended, Phase::AtWorker) => {
                    let reason = format!("worker {} is gone", self.roster.workers[index].id);
                    self.doubt(position, reason);
                }
                // The store's answer decides.
                _ => {}
            }
        }
        for position in self.roster.workers[index].doubts.clone() {
            self.holder_is_silent(position);
        }
        self.refresh(index);
    }

    /// A leased task is free again; nothing can have happened.
    pub(super) fn unlease(&mut self, position: Position) {
        if self.happen(position, Happening::Unlease) {
            self.tell(position, ProgressKind::Returned, Opaque::default());
            self.let_go(position);
            self.ready_if_free(position);
        }
    }

    /// An operation is no longer a task of its worker.
    pub(super) fn let_go(&mut self, position: Position) {
        self.ops[position as usize].phase = Phase::Idle;
        self.has_hands_free(position);
    }

    /// The result of a task is on its way to the store. The worker may begin its next task meanwhile: the intent of that
    /// one stands behind this result in the journal, so there are never more open intents than tasks.
    pub(super) fn result_is_here(&mut self, position: Position) {
        self.ops[position as usize].phase = Phase::ResultInStore;
        self.has_hands_free(position);
    }

    fn has_hands_free(&mut self, position: Position) {
        let Some(holder) = self.ops[position as usize].holder else { return };
        if self.roster.workers[holder].tasks.remove(&position) {
            self.tally.in_flight -= 1;
            self.refresh(holder);
        }
    }

    /// Every worker's load is what a count of its shards gives.
    #[cfg(test)]
    pub(super) fn check_loads(&self) {
        for worker in self.roster.workers.iter() {
            let open = worker.shards.iter().map(|shard| u64::from(self.backlog.shards[*shard as usize].open));
            assert_eq!(worker.load, open.sum::<u64>(), "the load of {}", worker.id);
        }
    }
}
