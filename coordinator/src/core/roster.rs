//! The workers that a term knows. For each worker: whether it is connected, its tasks and shards, and whether it may
//! receive more tasks.

use std::collections::{BTreeMap, BTreeSet};

use weft_state::WorkerId;

use super::absence::Absence;
use super::ahead::Ahead;
use super::clock::Clock;
use super::heirs::Heirs;
use super::{Position, ShardIndex, Table, WorkerIndex};
use crate::outline::HOME;
use crate::plan::has_labels;
use crate::timing::SETTLE_WINDOW;

/// Whether a worker is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    /// Connected.
    Here,
    /// Connected and about to leave. The worker finishes the operations that it began.
    Leaving,
    /// Disconnected since this time. The worker may reconnect with its results.
    Away { since: u64 },
    /// Disconnected for too long. Its operations are free again or in doubt.
    Lost,
    /// The worker and its provider processes are known to be dead.
    Dead,
}

/// The abilities that a worker announces when it connects.
#[derive(Clone, Debug, Default)]
pub(super) struct Abilities {
    pub(super) labels: BTreeMap<String, String>,
    /// Whether the worker belongs to a command line that watches a run. It carries out only home operations.
    pub(super) only_home: bool,
    /// Checksums of its provider packages. Empty if the worker listed none.
    pub(super) packages: Vec<String>,
    /// The maximum number of concurrent tasks; at least 1 for a worker that has connected.
    pub(super) window: u32,
}

/// A process that is or was a worker of this run.
#[derive(Clone, Debug)]
struct Worker {
    id: WorkerId,
    abilities: Abilities,
    presence: Presence,
    /// The worker's leased tasks and open intents.
    tasks: BTreeSet<Position>,
    /// The tasks whose intents are in the store, or that wait for a slot.
    ahead: BTreeSet<Position>,
    /// Doubts for which the worker looks for evidence.
    settling: BTreeSet<Position>,
    /// The worker's attempts that are in doubt.
    doubts: BTreeSet<Position>,
    shards: BTreeSet<ShardIndex>,
    /// The number of operations in the worker's shards that are not at rest.
    load: u64,
    /// The worker's shards that have a task to begin.
    busy_shards: BTreeSet<ShardIndex>,
    /// The shard of the last turn. The next turn continues after this shard.
    cursor: ShardIndex,
    /// The worker's attempts whose provider process is known to be dead, although the worker is alive.
    dead_attempts: BTreeSet<Position>,
}

impl Worker {
    fn absent(id: WorkerId, now: u64) -> Worker {
        Worker {
            id,
            abilities: Abilities::default(),
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

    fn is_connected(&self) -> bool {
        matches!(self.presence, Presence::Here | Presence::Leaving)
    }

    fn has_slot(&self) -> bool {
        self.tasks.len() - self.ahead.len() < self.abilities.window as usize
    }

    fn has_room(&self, ahead: &Ahead) -> bool {
        let tasks = u32::try_from(self.tasks.len()).unwrap_or(u32::MAX);
        let window = self.abilities.window;
        tasks < window.saturating_add(ahead.room(window))
    }
}

/// All workers that a term knows, in the order in which they became known. No worker is ever removed.
#[derive(Debug, Default)]
pub(super) struct Roster {
    workers: Table<WorkerIndex, Worker>,
    names: BTreeMap<WorkerId, WorkerIndex>,
    /// Workers that can receive a task.
    dispatchable: BTreeSet<WorkerIndex>,
    /// The worker of the last turn. The next turn continues after this worker.
    cursor: WorkerIndex,
    /// The number of tasks at all workers.
    in_flight: u32,
    /// Whether a worker connected in this term.
    visited: bool,
    /// How long work has waited while no worker was connected.
    absence: Absence,
    /// The workers that hand over results of earlier processes.
    pub(super) heirs: Heirs,
}

/// The connected workers.
impl Roster {
    /// The worker with this identity, if the term knows it.
    pub(super) fn find(&self, id: &WorkerId) -> Option<WorkerIndex> {
        self.names.get(id).copied()
    }

    /// The worker with this identity. An unknown worker is added as absent from now on.
    pub(super) fn enlist(&mut self, id: &WorkerId, now: u64) -> WorkerIndex {
        if let Some(index) = self.find(id) {
            return index;
        }
        let index = self.workers.push(Worker::absent(id.clone(), now));
        self.names.insert(id.clone(), index);
        index
    }

    /// The identity of a worker.
    pub(super) fn id(&self, worker: WorkerIndex) -> &WorkerId {
        &self.workers[worker].id
    }

    /// Records that a worker connected.
    pub(super) fn join(&mut self, worker: WorkerIndex, abilities: Abilities) {
        let worker = &mut self.workers[worker];
        worker.abilities = abilities;
        worker.presence = Presence::Here;
        self.visited = true;
    }

    /// Records that a connected worker is about to leave. Returns whether this is a change.
    pub(super) fn begin_to_leave(&mut self, worker: WorkerIndex) -> bool {
        let presence = &mut self.workers[worker].presence;
        let is_news = *presence == Presence::Here;
        if is_news {
            *presence = Presence::Leaving;
        }
        is_news
    }

    /// Records that a worker that was about to leave stays. Returns whether this is a change.
    pub(super) fn stay(&mut self, worker: WorkerIndex) -> bool {
        let presence = &mut self.workers[worker].presence;
        let is_news = *presence == Presence::Leaving;
        if is_news {
            *presence = Presence::Here;
        }
        is_news
    }

    /// The connected workers with the numbers of their tasks.
    pub(super) fn loads(&self) -> BTreeMap<WorkerId, u32> {
        let connected = self.workers.iter().filter(|worker| worker.is_connected());
        connected.map(|worker| (worker.id.clone(), u32::try_from(worker.tasks.len()).unwrap_or(u32::MAX))).collect()
    }

    /// Records that the stream of a worker broke. Returns whether the worker was connected.
    pub(super) fn disconnect(&mut self, worker: WorkerIndex, now: u64) -> bool {
        let was_connected = self.is_connected(worker);
        if was_connected {
            self.workers[worker].presence = Presence::Away { since: now };
            self.dispatchable.remove(&worker);
        }
        was_connected
    }

    /// Records that a worker is dead. Returns whether the worker still had its tasks: it was connected, or had
    /// disconnected only a short time ago.
    pub(super) fn bury(&mut self, worker: WorkerIndex) -> bool {
        self.dispatchable.remove(&worker);
        let before = std::mem::replace(&mut self.workers[worker].presence, Presence::Dead);
        !matches!(before, Presence::Lost | Presence::Dead)
    }

    /// Marks the workers that have been disconnected for `grace` milliseconds as lost, and returns them.
    pub(super) fn lose_absent(&mut self, now: u64, grace: u64) -> Vec<WorkerIndex> {
        let mut lost = Vec::new();
        for index in self.workers.positions() {
            let presence = &mut self.workers[index].presence;
            if matches!(presence, Presence::Away { since } if now.saturating_sub(*since) >= grace) {
                *presence = Presence::Lost;
                lost.push(index);
            }
        }
        lost
    }

    /// Whether the stream of a worker is open.
    pub(super) fn is_connected(&self, worker: WorkerIndex) -> bool {
        self.workers[worker].is_connected()
    }

    /// Whether a worker is known to be dead.
    pub(super) fn is_dead(&self, worker: WorkerIndex) -> bool {
        self.workers[worker].presence == Presence::Dead
    }

    /// All workers.
    pub(super) fn everyone(&self) -> impl Iterator<Item = WorkerIndex> + use<> {
        self.workers.positions()
    }

    /// The connected workers.
    pub(super) fn connected(&self) -> Vec<WorkerIndex> {
        self.workers.positions().filter(|index| self.is_connected(*index)).collect()
    }

    /// Whether a worker is connected.
    pub(super) fn has_connected(&self) -> bool {
        self.workers.iter().any(Worker::is_connected)
    }

    /// Whether to report now that no worker is connected. `is_needed` says whether there is work for a worker.
    pub(super) fn is_absence_news(&mut self, is_needed: bool, clock: &Clock) -> bool {
        if !is_needed || self.has_connected() {
            self.absence.ends();
            return false;
        }
        self.absence.is_news(clock)
    }

    /// Whether a worker connected in this term.
    pub(super) fn was_visited(&self) -> bool {
        self.visited
    }

    /// Workers that are neither connected nor known to be dead.
    pub(super) fn absent(&self) -> Vec<WorkerId> {
        let absent = |worker: &&Worker| !worker.is_connected() && worker.presence != Presence::Dead;
        self.workers.iter().filter(absent).map(|worker| worker.id.clone()).collect()
    }
}

/// The tasks of the workers.
impl Roster {
    /// Gives a task to a worker. Returns `false` if the worker already had the task.
    pub(super) fn add_task(&mut self, worker: WorkerIndex, position: Position) -> bool {
        let is_new = self.workers[worker].tasks.insert(position);
        self.in_flight += u32::from(is_new);
        is_new
    }

    /// Takes a task from a worker. Returns whether the worker had the task.
    pub(super) fn remove_task(&mut self, worker: WorkerIndex, position: Position) -> bool {
        let worker = &mut self.workers[worker];
        let had = worker.tasks.remove(&position);
        if had {
            worker.ahead.remove(&position);
            self.in_flight -= 1;
        }
        had
    }

    /// The tasks of a worker.
    pub(super) fn tasks(&self, worker: WorkerIndex) -> Vec<Position> {
        self.workers[worker].tasks.iter().copied().collect()
    }

    /// The number of tasks at all workers.
    pub(super) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// Frees the slot of a task for another task while the intent of the first task is on its way to the store.
    pub(super) fn leave_slot(&mut self, worker: WorkerIndex, position: Position) {
        let worker = &mut self.workers[worker];
        if worker.tasks.contains(&position) {
            worker.ahead.insert(position);
        }
    }

    /// Takes a slot for the call of a task.
    pub(super) fn take_slot(&mut self, worker: WorkerIndex, position: Position) {
        self.workers[worker].ahead.remove(&position);
    }

    /// Whether a worker may prepare or carry out another operation.
    pub(super) fn has_slot(&self, worker: WorkerIndex) -> bool {
        self.workers[worker].has_slot()
    }

    /// Whether a worker may receive another operation that asks for an intent. The worker needs no free slot for it:
    /// the intent may be written ahead, and the call then waits for a slot.
    pub(super) fn has_room(&self, worker: WorkerIndex, ahead: &Ahead) -> bool {
        self.workers[worker].has_room(ahead)
    }
}

/// The doubts of the workers: those for which a worker looks for evidence, and those that a worker's attempt caused.
impl Roster {
    /// Records that a worker looks for evidence.
    pub(super) fn begin_settling(&mut self, worker: WorkerIndex, position: Position) {
        self.workers[worker].settling.insert(position);
    }

    /// Records that a worker no longer looks for evidence.
    pub(super) fn end_settling(&mut self, worker: WorkerIndex, position: Position) {
        self.workers[worker].settling.remove(&position);
    }

    /// The doubts for which a worker looks for evidence.
    pub(super) fn settling(&self, worker: WorkerIndex) -> Vec<Position> {
        self.workers[worker].settling.iter().copied().collect()
    }

    /// Whether a worker may look for evidence about another doubt.
    pub(super) fn may_settle(&self, worker: WorkerIndex) -> bool {
        self.workers[worker].settling.len() < SETTLE_WINDOW as usize
    }

    /// Records that an attempt of a worker is in doubt.
    pub(super) fn add_doubt(&mut self, worker: WorkerIndex, position: Position) {
        self.workers[worker].doubts.insert(position);
    }

    /// Records that an attempt of a worker is no longer in doubt.
    pub(super) fn remove_doubt(&mut self, worker: WorkerIndex, position: Position) {
        self.workers[worker].doubts.remove(&position);
    }

    /// The attempts of a worker that are in doubt.
    pub(super) fn doubts(&self, worker: WorkerIndex) -> Vec<Position> {
        self.workers[worker].doubts.iter().copied().collect()
    }

    /// Records that the provider process of an attempt is dead, although its worker is alive.
    pub(super) fn attempt_died(&mut self, worker: WorkerIndex, position: Position) {
        self.workers[worker].dead_attempts.insert(position);
    }

    /// Removes what is known about the last attempt, because a new attempt begins.
    pub(super) fn forget_attempt(&mut self, worker: WorkerIndex, position: Position) {
        self.workers[worker].dead_attempts.remove(&position);
    }

    /// Whether the provider process of an attempt is known to be dead.
    pub(super) fn is_attempt_dead(&self, worker: WorkerIndex, position: Position) -> bool {
        self.is_dead(worker) || self.workers[worker].dead_attempts.contains(&position)
    }
}

/// The shards of the workers, and the order in which workers and shards take turns.
impl Roster {
    /// Whether a shard that requires these labels and packages may be assigned to a worker.
    pub(super) fn fits(&self, worker: WorkerIndex, labels: &BTreeMap<String, String>, packages: &[String]) -> bool {
        let Worker { abilities, presence, .. } = &self.workers[worker];
        if abilities.only_home && !labels.contains_key(HOME) {
            return false;
        }
        let labelled = has_labels(&abilities.labels, labels);
        let equipped = packages.is_empty()
            || abilities.packages.is_empty()
            || packages.iter().any(|package| abilities.packages.contains(package));
        *presence == Presence::Here && labelled && equipped
    }

    /// Among the workers that fit, the worker for a shard with `open` operations: the one whose shards would then have
    /// the fewest open operations for each of its slots.
    pub(super) fn least_loaded(&self, open: u32, fits: impl Fn(WorkerIndex) -> bool) -> Option<WorkerIndex> {
        let fitting = self.workers.positions().filter(|index| fits(*index));
        fitting.min_by(|one, other| {
            let (one, other) = (&self.workers[*one], &self.workers[*other]);
            // Comparing products avoids a division of each load by the number of slots.
            let crossed =
                |of: &Worker, with: &Worker| u128::from(of.load + u64::from(open)) * u128::from(with.abilities.window);
            crossed(one, other).cmp(&crossed(other, one))
        })
    }

    /// Gives a shard to a worker. `open` operations of the shard are not at rest.
    pub(super) fn hold(&mut self, worker: WorkerIndex, shard: ShardIndex, open: u32) {
        let worker = &mut self.workers[worker];
        if worker.shards.insert(shard) {
            worker.load += u64::from(open);
        }
    }

    /// Takes a shard from a worker. `open` operations of the shard are not at rest.
    pub(super) fn release(&mut self, worker: WorkerIndex, shard: ShardIndex, open: u32) {
        let worker = &mut self.workers[worker];
        worker.busy_shards.remove(&shard);
        if worker.shards.remove(&shard) {
            worker.load -= u64::from(open);
        }
    }

    /// Takes all shards from a worker.
    pub(super) fn take_shards(&mut self, worker: WorkerIndex) -> BTreeSet<ShardIndex> {
        self.dispatchable.remove(&worker);
        let worker = &mut self.workers[worker];
        worker.load = 0;
        worker.busy_shards.clear();
        std::mem::take(&mut worker.shards)
    }

    /// The shards of a worker.
    pub(super) fn shards(&self, worker: WorkerIndex) -> Vec<ShardIndex> {
        self.workers[worker].shards.iter().copied().collect()
    }

    /// Records that an operation in a shard of a worker came to rest.
    pub(super) fn rest_began(&mut self, worker: WorkerIndex) {
        self.workers[worker].load -= 1;
    }

    /// Records that an operation in a shard of a worker became active again.
    pub(super) fn rest_ended(&mut self, worker: WorkerIndex) {
        self.workers[worker].load += 1;
    }

    /// Records whether a shard of a worker has a task to begin.
    pub(super) fn set_busy(&mut self, worker: WorkerIndex, shard: ShardIndex, busy: bool) {
        let shards = &mut self.workers[worker].busy_shards;
        if busy {
            shards.insert(shard)
        } else {
            shards.remove(&shard)
        };
    }

    /// Updates whether a worker can receive a task.
    pub(super) fn refresh(&mut self, index: WorkerIndex, ahead: &Ahead) {
        let worker = &self.workers[index];
        let able = worker.is_connected() && worker.has_room(ahead) && !worker.busy_shards.is_empty();
        if able {
            self.dispatchable.insert(index)
        } else {
            self.dispatchable.remove(&index)
        };
    }

    /// Records that a worker cannot receive a task until one of its operations ends.
    pub(super) fn is_full(&mut self, worker: WorkerIndex) {
        self.dispatchable.remove(&worker);
    }

    /// Whether no worker can receive a task.
    pub(super) fn is_idle(&self) -> bool {
        self.dispatchable.is_empty()
    }

    /// The next worker, in turn, that can receive a task.
    pub(super) fn next_worker(&mut self) -> Option<WorkerIndex> {
        let behind = self.dispatchable.range(self.cursor..).next();
        let next = behind.or_else(|| self.dispatchable.first()).copied()?;
        self.cursor = next.next();
        Some(next)
    }

    /// The next shard of a worker, in turn, that has a task to begin.
    pub(super) fn next_shard(&mut self, worker: WorkerIndex) -> Option<ShardIndex> {
        let worker = &mut self.workers[worker];
        let behind = worker.busy_shards.range(worker.cursor..).next();
        let next = behind.or_else(|| worker.busy_shards.first()).copied()?;
        worker.cursor = next.next();
        Some(next)
    }

    /// The workers with their shards and their counted loads.
    #[cfg(any(test, feature = "simulation"))]
    pub(super) fn shares(&self) -> impl Iterator<Item = (&WorkerId, &BTreeSet<ShardIndex>, u64)> {
        self.workers.iter().map(|worker| (&worker.id, &worker.shards, worker.load))
    }

    /// Checks that the number of tasks is correct, and that only tasks are ahead.
    #[cfg(any(test, feature = "simulation"))]
    pub(super) fn check_tasks(&self) {
        let tasks: usize = self.workers.iter().map(|worker| worker.tasks.len()).sum();
        assert_eq!(self.in_flight as usize, tasks, "tasks at workers");
        assert!(self.workers.iter().all(|worker| worker.ahead.is_subset(&worker.tasks)), "only tasks are ahead");
    }

    /// The number of workers that were visited so far.
    #[cfg(test)]
    pub(super) fn steps(&self) -> usize {
        self.workers.steps()
    }
}

#[cfg(test)]
mod tests;
