//! Shards: which operations of each shard can start, which worker has each shard, and which shards need a worker.
//!
//! Invariant: a shard with work is assigned to a worker, or is offered to workers, or is an orphan: no connected worker
//! is suitable for it. Each change preserves this invariant for the shards that the change affects, so no step visits
//! all shards.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use weft_state::Opaque;

use super::{ExportIndex, Position, ShardIndex, Table, WorkerIndex};
use crate::outline::Outline;

/// The state of a shard.
#[derive(Clone, Debug, Default)]
struct Shard {
    /// Operations that may start, in descending order of the length of their path to the end.
    ready: BTreeSet<(Reverse<u32>, Position)>,
    /// Operations that need evidence.
    settles: BTreeSet<Position>,
    /// The worker to which the shard is assigned.
    worker: Option<WorkerIndex>,
    /// The worker to which the shard was last assigned.
    last: Option<WorkerIndex>,
    /// The number of operations that are not at rest.
    open: u32,
    /// The number of tasks of the shard at workers, and the maximum of this number.
    tasks: u32,
    most_tasks: Option<u32>,
    /// Whether the shard has a budget of calls, and its worker has not finished a task of the shard yet. Such a shard
    /// has one task at a time. Otherwise several calls would wait for the provider to open, then run together, and
    /// exceed the rate of the budget.
    is_cold: bool,
    has_budget: bool,
    /// Available results of other shards.
    foreign: Vec<(Position, ExportIndex)>,
    /// Own results that later operations of the shard may read.
    locals: Vec<Position>,
    /// Workers that could not open the shard, and do not get it again in this term. `refusal` has the diagnostics of
    /// the last of these workers.
    refused_by: BTreeSet<WorkerIndex>,
    refusal: Option<Opaque>,
}

impl Shard {
    fn has_work(&self) -> bool {
        !(self.ready.is_empty() && self.settles.is_empty())
    }

    /// Whether the shard has the maximum number of tasks.
    fn is_full(&self) -> bool {
        self.is_cold && self.tasks > 0 || self.most_tasks.is_some_and(|most| self.tasks >= most)
    }
}

/// A task that a worker can begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// An operation that may start.
    Start(Position),
    /// An operation that needs evidence.
    Settle(Position),
}

/// All shards of a run, and which of these shards need a worker.
#[derive(Debug)]
pub(super) struct Backlog {
    shards: Table<ShardIndex, Shard>,
    /// Shards that are assigned to no worker and offered to workers.
    offered: BTreeSet<ShardIndex>,
    /// Shards with work that may be assigned to no connected worker.
    orphans: BTreeSet<ShardIndex>,
}

impl Backlog {
    /// The shards of a plan. All operations are open.
    pub(super) fn new(outline: &Outline) -> Backlog {
        let mut shards: Table<ShardIndex, Shard> = Table::new(vec![Shard::default(); outline.shards.len()]);
        for operation in &outline.operations {
            shards[operation.shard].open += 1;
        }
        for index in shards.positions() {
            shards[index].most_tasks = outline.shard(index).and_then(|shard| shard.concurrency);
            shards[index].has_budget = outline.shard(index).is_some_and(|shard| !shard.budgets.is_empty());
        }
        Backlog { shards, offered: BTreeSet::new(), orphans: BTreeSet::new() }
    }

    /// The worker to which a shard is assigned.
    pub(super) fn worker(&self, shard: ShardIndex) -> Option<WorkerIndex> {
        self.shards[shard].worker
    }

    /// The worker to which a shard was last assigned, unless this worker could not open the shard.
    pub(super) fn last_worker(&self, shard: ShardIndex) -> Option<WorkerIndex> {
        self.shards[shard].last
    }

    /// Whether a worker could not open a shard. The worker does not get the shard again in this term.
    pub(super) fn was_refused_by(&self, shard: ShardIndex, worker: WorkerIndex) -> bool {
        self.shards[shard].refused_by.contains(&worker)
    }

    /// The diagnostics of the last worker that could not open a shard.
    pub(super) fn refusal(&self, shard: ShardIndex) -> Option<Opaque> {
        self.shards[shard].refusal.clone()
    }

    /// Whether a shard has an operation to start or a doubt to settle.
    pub(super) fn has_work(&self, shard: ShardIndex) -> bool {
        self.shards[shard].has_work()
    }

    /// The number of operations of a shard that may start.
    pub(super) fn ready(&self, shard: ShardIndex) -> u32 {
        u32::try_from(self.shards[shard].ready.len()).unwrap_or(u32::MAX)
    }

    /// The number of operations of a shard that may start soon, as far as its own limits allow.
    pub(super) fn demand(&self, index: ShardIndex) -> u32 {
        let shard = &self.shards[index];
        let most = if shard.is_cold { Some(1) } else { shard.most_tasks };
        self.ready(index).min(most.unwrap_or(u32::MAX))
    }

    /// Whether an operation of a shard needs evidence.
    pub(super) fn has_settles(&self, shard: ShardIndex) -> bool {
        !self.shards[shard].settles.is_empty()
    }

    /// Queues an operation that may start. `height` is the length of its path to the end.
    pub(super) fn queue(&mut self, shard: ShardIndex, height: u32, position: Position) {
        self.shards[shard].ready.insert((Reverse(height), position));
    }

    /// Removes an operation that may no longer start.
    pub(super) fn unqueue(&mut self, shard: ShardIndex, height: u32, position: Position) {
        self.shards[shard].ready.remove(&(Reverse(height), position));
    }

    /// Queues an operation that needs evidence.
    pub(super) fn queue_settle(&mut self, shard: ShardIndex, position: Position) {
        self.shards[shard].settles.insert(position);
    }

    /// Removes an operation that no longer needs evidence.
    pub(super) fn unqueue_settle(&mut self, shard: ShardIndex, position: Position) {
        self.shards[shard].settles.remove(&position);
    }

    /// The next task of a shard. If `with_doubts` is `false`, no doubt is returned, because the worker already settles
    /// the maximum number of doubts. No operation is returned if the shard has the maximum number of tasks.
    pub(super) fn next(&self, shard: ShardIndex, with_doubts: bool) -> Option<Work> {
        let shard = &self.shards[shard];
        let settle = shard.settles.first().filter(|_| with_doubts).copied().map(Work::Settle);
        let ready = shard.ready.first().filter(|_| !shard.is_full());
        settle.or_else(|| ready.map(|(_, position)| Work::Start(*position)))
    }

    /// An operation of the shard that waits for a worker, for messages.
    pub(super) fn first(&self, shard: ShardIndex) -> Option<Position> {
        let shard = &self.shards[shard];
        let ready = shard.ready.first().map(|(_, position)| *position);
        ready.or_else(|| shard.settles.first().copied())
    }

    /// Records that a task of a shard begins.
    pub(super) fn begin(&mut self, shard: ShardIndex, work: Work) {
        let shard = &mut self.shards[shard];
        match work {
            Work::Start(position) => {
                if shard.ready.first().is_some_and(|(_, first)| *first == position) {
                    shard.ready.pop_first();
                }
            }
            Work::Settle(position) => {
                shard.settles.remove(&position);
            }
        }
    }

    /// Records that a task of a shard is at a worker.
    pub(super) fn task_began(&mut self, shard: ShardIndex) {
        self.shards[shard].tasks += 1;
    }

    /// Records that a task of a shard is no longer at a worker. Returns whether the shard may begin another task now.
    pub(super) fn task_ended(&mut self, shard: ShardIndex) -> bool {
        let shard = &mut self.shards[shard];
        let was_full = shard.is_full();
        shard.tasks = shard.tasks.saturating_sub(1);
        shard.is_cold = false;
        was_full && !shard.is_full() && shard.has_work()
    }

    /// Empties the queues of a shard that no worker can open. Returns the operations that could start, and the
    /// operations that need evidence.
    pub(super) fn give_up(&mut self, shard: ShardIndex) -> (Vec<Position>, Vec<Position>) {
        let shard = &mut self.shards[shard];
        let ready = std::mem::take(&mut shard.ready).into_iter().map(|(_, position)| position).collect();
        (ready, std::mem::take(&mut shard.settles).into_iter().collect())
    }

    /// Offers a shard that is assigned to no worker.
    pub(super) fn offer(&mut self, shard: ShardIndex) {
        if self.shards[shard].worker.is_none() && !self.orphans.contains(&shard) {
            self.offered.insert(shard);
        }
    }

    /// Takes the offered shards. The caller gives each shard to a worker or makes it an orphan.
    pub(super) fn take_offered(&mut self) -> BTreeSet<ShardIndex> {
        std::mem::take(&mut self.offered)
    }

    /// Whether any shard is offered.
    pub(super) fn is_offering(&self) -> bool {
        !self.offered.is_empty()
    }

    /// Whether any shard with work has no worker.
    pub(super) fn waits(&self) -> bool {
        !(self.offered.is_empty() && self.orphans.is_empty())
    }

    /// The first shard with work that has no worker.
    pub(super) fn first_waiting(&self) -> Option<ShardIndex> {
        self.offered.first().or(self.orphans.first()).copied()
    }

    /// Makes a shard an orphan: it may be assigned to no connected worker.
    pub(super) fn orphan(&mut self, shard: ShardIndex) {
        self.orphans.insert(shard);
    }

    /// Offers orphans again, because a worker joined.
    pub(super) fn offer_orphans(&mut self) {
        self.offered.append(&mut self.orphans);
    }

    /// Gives a shard to a worker. Returns the number of its open operations.
    pub(super) fn assign(&mut self, shard: ShardIndex, worker: WorkerIndex) -> u32 {
        let shard = &mut self.shards[shard];
        shard.worker = Some(worker);
        shard.last = Some(worker);
        shard.is_cold = shard.has_budget;
        shard.open
    }

    /// Removes the shards from a worker that was lost. Shards with work are offered to other workers.
    pub(super) fn lose(&mut self, held: impl IntoIterator<Item = ShardIndex>) {
        for index in held {
            let shard = &mut self.shards[index];
            shard.worker = None;
            if shard.has_work() {
                self.offered.insert(index);
            }
        }
    }

    /// Takes a shard from a worker that could not open it, so that another worker may try. Returns the number of the
    /// shard's operations that are not at rest, or `None` if the shard is not assigned to the worker.
    pub(super) fn refuse(&mut self, shard: ShardIndex, worker: WorkerIndex, diagnostics: Opaque) -> Option<u32> {
        let shard = self.shards.get_mut(shard).filter(|shard| shard.worker == Some(worker))?;
        shard.worker = None;
        shard.last = None;
        shard.refused_by.insert(worker);
        shard.refusal = Some(diagnostics);
        Some(shard.open)
    }

    /// Records that an operation of a shard became active again.
    pub(super) fn rest_ended(&mut self, shard: ShardIndex) {
        self.shards[shard].open += 1;
    }

    /// Records that an operation of a shard came to rest: it is done, failed or skipped, or its doubt waits for the
    /// user. If all operations of the shard are at rest, takes the shard from its worker and returns that worker.
    pub(super) fn rest_began(&mut self, shard: ShardIndex) -> Option<WorkerIndex> {
        let shard = &mut self.shards[shard];
        shard.open -= 1;
        if shard.open == 0 { shard.worker.take() } else { None }
    }

    /// Makes a result of the shard available to its later operations.
    pub(super) fn add_local(&mut self, shard: ShardIndex, position: Position) {
        self.shards[shard].locals.push(position);
    }

    /// The available results of the shard itself.
    pub(super) fn locals(&self, shard: ShardIndex) -> &[Position] {
        &self.shards[shard].locals
    }

    /// Makes a result of another shard available. Returns the worker of this shard, which must receive the result.
    pub(super) fn add_foreign(
        &mut self,
        shard: ShardIndex,
        position: Position,
        export: ExportIndex,
    ) -> Option<WorkerIndex> {
        let shard = self.shards.get_mut(shard)?;
        shard.foreign.push((position, export));
        shard.worker
    }

    /// The available results of other shards.
    pub(super) fn foreign(&self, shard: ShardIndex) -> &[(Position, ExportIndex)] {
        &self.shards[shard].foreign
    }

    /// The number of operations of a shard that are not at rest.
    pub(super) fn open(&self, shard: ShardIndex) -> u32 {
        self.shards[shard].open
    }

    /// Whether a shard has work but is neither assigned nor offered nor an orphan.
    #[cfg(any(test, feature = "simulation"))]
    pub(super) fn is_forgotten(&self, index: ShardIndex) -> bool {
        let shard = &self.shards[index];
        let is_waiting = self.offered.contains(&index) || self.orphans.contains(&index);
        shard.has_work() && shard.worker.is_none() && !is_waiting
    }

    /// The number of shards that were visited so far.
    #[cfg(test)]
    pub(super) fn steps(&self) -> usize {
        self.shards.steps()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outline::{OperationKind, OutlineOperation, OutlineShard, ShardKey};
    use crate::table::BudgetIndex;

    const WORKER: WorkerIndex = WorkerIndex(0);

    /// Shards with one operation each.
    fn backlog(shards: u32) -> Backlog {
        let operation = |index| OutlineOperation::new(index, OperationKind::Read, format!("a.b{index}"), index);
        Backlog::new(&Outline {
            operations: (0..shards).map(operation).collect(),
            shards: (0..shards).map(|shard| OutlineShard::new(ShardKey::Provider(format!("p{shard}")))).collect(),
            ..Outline::default()
        })
    }

    #[test]
    fn doubts_come_before_operations_and_long_paths_before_short_ones() {
        let mut backlog = backlog(1);
        let shard = ShardIndex(0);
        backlog.queue(shard, 1, Position(1));
        backlog.queue(shard, 5, Position(2));
        backlog.queue_settle(shard, Position(3));
        assert_eq!(backlog.next(shard, true), Some(Work::Settle(Position(3))));
        assert_eq!(backlog.next(shard, false), Some(Work::Start(Position(2))));
        backlog.begin(shard, Work::Settle(Position(3)));
        backlog.begin(shard, Work::Start(Position(2)));
        assert_eq!(backlog.next(shard, true), Some(Work::Start(Position(1))));
        backlog.begin(shard, Work::Start(Position(1)));
        assert!(!backlog.has_work(shard) && backlog.next(shard, true).is_none());
    }

    #[test]
    fn a_shard_without_a_worker_is_offered_or_an_orphan() {
        let mut backlog = backlog(2);
        let (first, second) = (ShardIndex(0), ShardIndex(1));
        backlog.assign(second, WORKER);
        backlog.offer(first);
        backlog.offer(second);
        assert_eq!(backlog.take_offered(), BTreeSet::from([first]), "the other one has a worker");
        backlog.orphan(first);
        backlog.offer(first);
        assert!(!backlog.is_offering() && backlog.waits());
        backlog.offer_orphans();
        assert_eq!(backlog.take_offered(), BTreeSet::from([first]));
        assert!(!backlog.waits());
    }

    #[test]
    fn a_worker_gives_a_shard_back_when_all_operations_rest() {
        let mut backlog = backlog(1);
        let shard = ShardIndex(0);
        assert_eq!(backlog.assign(shard, WORKER), 1);
        assert_eq!(backlog.rest_began(shard), Some(WORKER));
        assert_eq!((backlog.worker(shard), backlog.last_worker(shard)), (None, Some(WORKER)));
        backlog.rest_ended(shard);
        assert_eq!(backlog.open(shard), 1);
    }

    #[test]
    fn a_shard_has_no_more_tasks_than_it_may() {
        let operation = |index| OutlineOperation::new(index, OperationKind::Read, format!("a.b{index}"), 0);
        let mut backlog = Backlog::new(&Outline {
            operations: (0..3).map(operation).collect(),
            shards: vec![OutlineShard { concurrency: Some(1), ..OutlineShard::new(ShardKey::Unplaced) }],
            ..Outline::default()
        });
        let shard = ShardIndex(0);
        (0..3).for_each(|position| backlog.queue(shard, 1, Position(position)));
        backlog.begin(shard, Work::Start(Position(0)));
        backlog.task_began(shard);
        assert_eq!(backlog.next(shard, true), None, "the shard is full");
        backlog.queue_settle(shard, Position(2));
        assert_eq!(backlog.next(shard, true), Some(Work::Settle(Position(2))), "looking for evidence is no task");
        assert!(backlog.task_ended(shard), "it may begin something again");
        assert_eq!(backlog.next(shard, false), Some(Work::Start(Position(1))));
    }

    #[test]
    fn a_shard_with_a_budget_begins_with_one_task() {
        let operation = |index| OutlineOperation::new(index, OperationKind::Read, format!("a.b{index}"), 0);
        let mut backlog = Backlog::new(&Outline {
            operations: (0..3).map(operation).collect(),
            shards: vec![OutlineShard { budgets: vec![BudgetIndex(0)], ..OutlineShard::new(ShardKey::Unplaced) }],
            ..Outline::default()
        });
        let shard = ShardIndex(0);
        backlog.assign(shard, WORKER);
        (0..3).for_each(|position| backlog.queue(shard, 1, Position(position)));
        backlog.begin(shard, Work::Start(Position(0)));
        backlog.task_began(shard);
        assert_eq!(backlog.next(shard, true), None, "its provider is not open yet");
        assert!(backlog.task_ended(shard));
        backlog.begin(shard, Work::Start(Position(1)));
        backlog.task_began(shard);
        assert_eq!(backlog.next(shard, true), Some(Work::Start(Position(2))), "now it is");
        backlog.lose([shard]);
        backlog.assign(shard, WorkerIndex(1));
        assert_eq!(backlog.next(shard, true), None, "the provider of another worker is not");
    }

    #[test]
    fn only_the_worker_of_a_shard_can_refuse_it() {
        let mut backlog = backlog(1);
        let shard = ShardIndex(0);
        backlog.assign(shard, WORKER);
        assert_eq!(backlog.refuse(shard, WorkerIndex(1), Opaque::default()), None);
        assert_eq!(backlog.refuse(ShardIndex(7), WORKER, Opaque::default()), None);
        assert_eq!(backlog.refuse(shard, WORKER, Opaque(vec![1])), Some(1));
        assert!(backlog.was_refused_by(shard, WORKER) && backlog.last_worker(shard).is_none());
        assert_eq!(backlog.refusal(shard), Some(Opaque(vec![1])));
        backlog.assign(shard, WorkerIndex(1));
        backlog.lose([shard]);
        assert_eq!(backlog.last_worker(shard), Some(WorkerIndex(1)), "a worker that opened it may come back");
        assert_eq!(backlog.refusal(shard), Some(Opaque(vec![1])), "the reason why the other one does not get it");
    }

    #[test]
    fn the_loss_of_a_worker_costs_what_it_held() {
        let mut backlog = backlog(10_000);
        let held = [ShardIndex(3), ShardIndex(700), ShardIndex(9_000)];
        for shard in held {
            backlog.assign(shard, WORKER);
        }
        backlog.queue(ShardIndex(3), 1, Position(3));
        backlog.queue_settle(ShardIndex(9_000), Position(9_000));
        let before = backlog.steps();
        backlog.lose(held);
        assert_eq!(backlog.steps() - before, held.len());
        assert_eq!(backlog.take_offered(), BTreeSet::from([ShardIndex(3), ShardIndex(9_000)]));
        assert!(held.iter().all(|shard| backlog.worker(*shard).is_none()));
    }
}
