//! Workers that join, leave, reconnect, fall silent or die, and their tasks.

use std::collections::{BTreeMap, BTreeSet};

use weft_state::WorkerId;

use super::{Coordinator, Doubt, Intended, Leased, Position, ShardIndex, State, Table, WorkerIndex};
use crate::event::Hello;
use crate::plan::HOME;
use crate::progress::ProgressKind;
use crate::status::Happening;
use crate::timing::WINDOW;
use weft_protocol::{HeldPhase, HeldTask, Order, TaskResult};
use weft_state::Opaque;

/// All workers that this term knows, in the order in which they became known. No worker is ever removed.
pub(super) type Workers = Table<WorkerIndex, Worker>;

/// Whether a worker is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    /// Connected.
    Here,
    /// Connected and about to leave: it finishes what it began.
    Leaving,
    /// Disconnected since this time. It may reconnect with its results.
    Away { since: u64 },
    /// Disconnected for so long that its tasks were given up.
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
    /// The maximum number of concurrent tasks.
    pub(super) window: u32,
    presence: Presence,
    /// Its leased tasks and open intents.
    pub(super) tasks: BTreeSet<Position>,
    /// Those of its tasks whose intents are in the store or wait for a slot.
    pub(super) ahead: BTreeSet<Position>,
    /// Doubts for which it looks for evidence.
    pub(super) settling: BTreeSet<Position>,
    /// Its attempts that are in doubt.
    pub(super) doubts: BTreeSet<Position>,
    pub(super) shards: BTreeSet<ShardIndex>,
    /// The number of operations in its shards that are not at rest.
    load: u64,
    /// Its shards that have something to start.
    pub(super) busy_shards: BTreeSet<ShardIndex>,
    pub(super) cursor: ShardIndex,
    /// Its attempts whose provider process is known to be dead, although the worker is alive.
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
            ahead: BTreeSet::new(),
            settling: BTreeSet::new(),
            doubts: BTreeSet::new(),
            shards: BTreeSet::new(),
            load: 0,
            busy_shards: BTreeSet::new(),
            cursor: ShardIndex::default(),
            dead_attempts: BTreeSet::new(),
        }
    }

    /// Whether it may hold a shard with these demands.
    pub(super) fn fits(&self, labels: &BTreeMap<String, String>, packages: &[String]) -> bool {
        // A command line's own worker carries out only what must run where its user is.
        if self.labels.contains_key(HOME) && !labels.contains_key(HOME) {
            return false;
        }
        let labelled = labels.iter().all(|(name, value)| self.labels.get(name) == Some(value));
        let equipped = packages.is_empty()
            || self.packages.is_empty()
            || packages.iter().any(|package| self.packages.contains(package));
        self.presence == Presence::Here && labelled && equipped
    }

    /// Whether it may prepare or carry out another operation.
    pub(super) fn has_slot(&self) -> bool {
        self.tasks.len() - self.ahead.len() < self.window as usize
    }

    /// Whether its stream is open.
    pub(super) fn is_connected(&self) -> bool {
        matches!(self.presence, Presence::Here | Presence::Leaving)
    }

    /// Whether it is known to be dead.
    pub(super) fn is_dead(&self) -> bool {
        self.presence == Presence::Dead
    }

    /// The number of operations in its shards that are not at rest.
    pub(super) fn load(&self) -> u64 {
        self.load
    }

    /// Adds a shard, `open` operations of which are not at rest.
    pub(super) fn hold(&mut self, shard: ShardIndex, open: u32) {
        if self.shards.insert(shard) {
            self.load += u64::from(open);
        }
    }

    /// Removes a shard, `open` operations of which are not at rest.
    pub(super) fn release(&mut self, shard: ShardIndex, open: u32) {
        if self.shards.remove(&shard) {
            self.load -= u64::from(open);
        }
    }

    /// Counts an operation of its shards that came to rest, or left its rest.
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

    /// The entry of a worker that may be known by name only.
    pub(super) fn absent_worker(&mut self, id: &WorkerId) -> WorkerIndex {
        if let Some(index) = self.roster.names.get(id) {
            return *index;
        }
        let index = self.roster.workers.push(Worker::absent(id.clone(), self.clock.now));
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

    /// Compares the tasks that a worker reports after a reconnect with those that it should have.
    fn compare_tasks(&mut self, index: WorkerIndex, held: Vec<HeldTask>) {
        let held: BTreeMap<u32, HeldTask> = held.into_iter().map(|held| (held.task.operation, held)).collect();
        for position in self.roster.workers[index].tasks.clone() {
            let op = &self.ops[position];
            let operation = self.operation(position).index;
            let has = held.get(&operation).filter(|held| held.task.attempt.0 == op.last.number).map(|held| held.phase);
            match (op.state, has) {
                // The order was lost on the way.
                (State::Leased(Leased::AtWorker), None) => self.unlease(position),
                // The worker never received the grant, and will not act on a later one.
                (State::Intended(Intended::AtWorker), None) => {
                    self.never_called(position, "the worker never had the grant");
                }
                (State::Intended(Intended::AtWorker), Some(HeldPhase::Preparing)) => {
                    self.never_called(position, "the worker had not asked for the intent");
                }
                _ => {}
            }
        }
        // The worker is alive and does not know these: it was never told to call, or was told to forget them.
        for position in self.roster.workers[index].doubts.clone() {
            let op = &self.ops[position];
            let has = held.get(&self.operation(position).index);
            let knows =
                has.is_some_and(|held| held.task.attempt.0 == op.last.number && held.phase > HeldPhase::Preparing);
            let State::InDoubt(doubt) = op.state else { continue };
            if knows {
                continue;
            }
            match (op.last.reported, doubt) {
                (false, Doubt::ResolveInStore) => {}
                (false, _) => self.worker_settles(position, TaskResult::NotCalled { reason: String::new() }),
                (true, Doubt::AwaitsHolder) => self.holder_is_silent(position),
                (true, _) => {}
            }
        }
        for held in held.into_values() {
            let position = self.outline.position(held.task.operation);
            let known = position.is_some_and(|position| {
                let op = &self.ops[position];
                op.last.holder == Some(index) && op.last.number == held.task.attempt.0
            });
            if let Some(position) = position {
                let floor = &mut self.ops[position].floor;
                *floor = held.task.attempt.0.max(*floor);
            }
            if !known && held.phase < HeldPhase::Called {
                self.order(index, Order::Drop(held.task));
            }
        }
    }

    /// The worker is about to leave. Its shards go to others, but it finishes what it began, and its results count.
    pub(super) fn leaving(&mut self, id: &WorkerId) {
        let Some(index) = self.roster.names.get(id).copied() else { return };
        let worker = &mut self.roster.workers[index];
        if worker.presence != Presence::Here {
            return;
        }
        worker.presence = Presence::Leaving;
        self.take_shards(index);
    }

    /// Gives the shards of a worker, and the doubts that it settles, to others.
    fn take_shards(&mut self, index: WorkerIndex) {
        for shard in std::mem::take(&mut self.roster.workers[index].shards) {
            self.backlog.shards[shard].worker = None;
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

    /// The stream broke. The worker may reconnect with its results, so nothing is given up yet.
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

    /// The worker did not reconnect in time. What it had not begun is free, and what it may have done is in doubt.
    fn give_up(&mut self, index: WorkerIndex) {
        self.take_shards(index);
        for position in self.roster.workers[index].tasks.clone() {
            let op = &self.ops[position];
            match op.state {
                State::Leased(Leased::AtWorker) => self.unlease(position),
                State::Intended(Intended::AtWorker) if self.ahead.waits(position) => {
                    self.never_called(position, "its worker is gone, and its call was not allowed yet");
                }
                State::Intended(Intended::AtWorker) => {
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

    /// Frees a leased task. Nothing can have happened.
    pub(super) fn unlease(&mut self, position: Position) {
        if self.happen(position, Happening::Unlease) {
            self.tell(position, ProgressKind::Returned, Opaque::default());
            self.let_go(position);
            self.ready_if_free(position);
        }
    }

    /// The result of a task is on its way to the store. The worker may begin its next task meanwhile: the next intent
    /// follows this result in the journal, so there are never more open intents than tasks.
    pub(super) fn result_is_here(&mut self, position: Position) {
        let state = &mut self.ops[position].state;
        match state {
            State::Leased(leased) => *leased = Leased::ResultInStore,
            State::Intended(intended) => *intended = Intended::ResultInStore,
            State::Pending | State::Done | State::Failed { .. } | State::Skipped | State::InDoubt(_) => {}
        }
        self.let_go(position);
    }

    /// Takes an operation out of its worker's tasks.
    pub(super) fn let_go(&mut self, position: Position) {
        let Some(holder) = self.ops[position].last.holder else { return };
        if self.roster.workers[holder].tasks.remove(&position) {
            self.leave_slot(holder, position);
            self.tally.in_flight -= 1;
            self.refresh(holder);
        }
    }

    /// Checks that every worker's load equals the count over its shards.
    ///
    /// # Panics
    /// When it is not.
    #[cfg(any(test, feature = "simulation"))]
    pub fn check_loads(&self) {
        for worker in self.roster.workers.iter() {
            let open = worker.shards.iter().map(|shard| u64::from(self.backlog.shards[*shard].open));
            assert_eq!(worker.load, open.sum::<u64>(), "the load of {}", worker.id);
        }
    }
}
