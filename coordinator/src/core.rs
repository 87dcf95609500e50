//! A run's coordinator as one deciding machine. [`Coordinator::step`] takes an event and returns commands.
//!
//! It has no clock, network, store or randomness. Time is a number of milliseconds that comes with each event and never
//! decreases, every collection is ordered, and equal histories give equal commands.
//!
//! Invariants:
//! - A status changes only through [`crate::status::transition`], and only after the store has answered. Skips and
//!   reopens are exceptions, since they follow from other operations alone.
//! - [`Order::Granted`] is sent only after its intent is durable, and only to the worker and attempt of that intent.
//! - [`Order::Acknowledged`] is sent only after the result is durable, or is known to be superfluous.
//! - An operation is retried only when the last attempt left no intent, when its call is known not to have been made,
//!   or when evidence shows that it took no effect.
//! - The store answers in the order of the steps, so one queue maps answers to steps.
//! - The work of a step is proportional to what it changes, and independent of the size of the plan.

mod ahead;
mod answers;
mod cancel;
mod checks;
mod dispatch;
mod doubts;
mod ending;
mod nodes;
mod operation;
mod options;
mod parts;
mod records;
mod recovery;
mod reports;
mod roster;

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weft_state::{
    CheckRecord, InstanceRecord, OpCounts, OpIndex, Opaque, Revision, RunView, StoreStep, Subject, WorkerId,
};

use crate::event::{Cancel, Command, Event, FinishReason};
use crate::outline::{Outline, OutlineError, OutlineOperation};
use crate::progress::{Progress, ProgressKind};
use crate::status::{Happening, Status, transition};
use crate::table::{ExportIndex, Position, ShardIndex, Table, WorkerIndex};
use ahead::Ahead;
use answers::StepInStore;
use nodes::Nodes;
use operation::{Doubt, Intended, Leased, Op, State};
use parts::{Backlog, Checks, Clock, Course, Doubts, OperationResults, Outbox, Roster, RunCounters};
use weft_protocol::Order;

pub use options::RunOptions;

/// The input of a term.
#[derive(Clone, Debug)]
pub struct Beginning {
    /// The run's operations in the store.
    pub view: RunView,
    /// The state's records of the instances that the run changes.
    pub records: Vec<InstanceRecord>,
    /// Revisions of the subjects that the run changes.
    pub revisions: BTreeMap<Subject, Revision>,
    /// The state's results of checks.
    pub checks: Option<Vec<CheckRecord>>,
}

/// The state of a shard.
#[derive(Clone, Debug, Default)]
struct Shard {
    /// Operations that may start, those with the longest path to the end first.
    ready: BTreeSet<(Reverse<u32>, Position)>,
    /// Operations that need evidence.
    settles: BTreeSet<Position>,
    /// The worker that holds it.
    worker: Option<WorkerIndex>,
    /// The worker that held it last.
    last: Option<WorkerIndex>,
    /// Operations that are not at rest.
    open: u32,
    /// Available results of other shards: operation and export.
    foreign: Vec<(Position, ExportIndex)>,
    /// Own results that later operations of the shard may read.
    locals: Vec<Position>,
    /// Workers that could not open it, and the diagnostics of the last one.
    refused_by: BTreeSet<WorkerIndex>,
    refusal: Option<Opaque>,
}

/// One term of one run.
#[derive(Debug)]
pub struct Coordinator {
    outline: Arc<Outline>,
    options: RunOptions,
    nodes: Nodes,
    ops: Table<Position, Op>,
    backlog: Backlog,
    roster: Roster,
    results: OperationResults,
    doubts: Doubts,
    checks: Checks,
    tally: RunCounters,
    ahead: Ahead,
    course: Course,
    clock: Clock,
    outbox: Outbox,
}

impl Coordinator {
    /// Begins a term.
    ///
    /// # Errors
    /// When the outline is inconsistent.
    pub fn begin(
        now: u64,
        outline: Arc<Outline>,
        options: RunOptions,
        beginning: Beginning,
    ) -> Result<(Coordinator, Vec<Command>), OutlineError> {
        check(&outline)?;
        let nodes = Nodes::new(&outline)?;
        let count = outline.operations.len();
        let mut shards = Table::new(vec![Shard::default(); outline.shards.len()]);
        for operation in &outline.operations {
            shards[operation.shard].open += 1;
        }
        let mut coordinator = Coordinator {
            nodes,
            ops: Table::new(vec![Op::new(now); count]),
            backlog: Backlog { shards, ..Backlog::default() },
            roster: Roster::default(),
            results: OperationResults::new(beginning.records, beginning.revisions),
            doubts: Doubts::default(),
            checks: Checks::new(beginning.checks),
            tally: RunCounters::new(count as u32),
            ahead: Ahead::default(),
            course: Course::default(),
            clock: Clock { now, begun: now },
            outbox: Outbox::default(),
            outline,
            options,
        };
        for resolution in std::mem::take(&mut coordinator.options.resolutions) {
            if let Some(position) = coordinator.outline.position(resolution.operation) {
                coordinator.doubts.decisions.insert(position, resolution.decision);
            }
        }
        coordinator.recover(beginning.view);
        let commands = coordinator.settle_down();
        Ok((coordinator, commands))
    }

    /// Handles an event at a time in milliseconds, and returns the commands.
    pub fn step(&mut self, now: u64, event: Event) -> Vec<Command> {
        if self.outbox.finished {
            return Vec::new();
        }
        self.clock.now = self.clock.now.max(now);
        match event {
            Event::Joined(hello) => self.joined(hello),
            Event::Leaving(worker) => self.leaving(&worker),
            Event::Left(worker) => self.left(&worker),
            Event::Dead(worker) => self.dead(&worker),
            Event::Said(worker, message) => self.said(&worker, message),
            Event::Stored(answers) => self.stored(answers),
            Event::Fenced => self.outbox.end = Some(FinishReason::Fenced),
            Event::Paused(paused) => self.course.paused = paused,
            Event::Cancel(Cancel::Drain) => self.drain(),
            Event::Cancel(Cancel::Stop) => self.stop(),
            Event::Cancel(Cancel::Leave) => self.leave(),
            Event::Resolve(resolution) => self.user_resolves(resolution),
            Event::Tick => self.tick(),
        }
        self.settle_down()
    }

    /// The number of operations by status.
    pub fn counts(&self) -> OpCounts {
        self.tally.counts
    }

    /// The status of one operation.
    pub fn status(&self, operation: u32) -> Option<Status> {
        self.outline.position(operation).map(|position| self.ops[position].status())
    }

    /// Workers of earlier terms that hold open intents or doubts and are not connected. Send [`Event::Dead`] for each
    /// of these processes that is known to be dead.
    pub fn absent_holders(&self) -> Vec<WorkerId> {
        self.roster.absent()
    }

    /// The outline that this run follows.
    pub fn outline(&self) -> &Arc<Outline> {
        &self.outline
    }

    fn operation(&self, position: Position) -> &OutlineOperation {
        self.outline.at(position)
    }

    /// Moves an operation to the next status. An illegal transition changes nothing and ends the term: the memory then
    /// contradicts what happened, and nothing derived from it may reach the store.
    fn happen(&mut self, position: Position, happening: Happening) -> bool {
        match transition(self.ops[position].status(), happening) {
            Ok(status) => {
                self.enter(position, State::entering(status));
                true
            }
            Err(illegal) => {
                let operation = self.operation(position);
                self.outbox.defect = Some(format!("{} (operation {}): {illegal}", operation.address, operation.index));
                self.outbox.end = Some(FinishReason::Defect);
                false
            }
        }
    }

    /// Sets a state and keeps the counts.
    fn enter(&mut self, position: Position, state: State) {
        let before = std::mem::replace(&mut self.ops[position].state, state);
        let shard = self.outline.at(position).shard;
        match (before.is_at_rest(), state.is_at_rest()) {
            (false, true) => self.rests(shard, true),
            (true, false) => self.rests(shard, false),
            _ => {}
        }
        self.tally.moved(before.status(), state.status());
    }

    /// Counts an operation of a shard that came to rest, or left its rest.
    fn rests(&mut self, shard: ShardIndex, rests: bool) {
        let state = &mut self.backlog.shards[shard];
        if let Some(worker) = state.worker {
            self.roster.workers[worker].rests(rests);
        }
        if !rests {
            self.tally.open += 1;
            state.open += 1;
            return;
        }
        self.tally.open -= 1;
        state.open -= 1;
        if state.open == 0
            && let Some(worker) = state.worker.take()
        {
            self.roster.workers[worker].release(shard, 0);
            self.order(worker, Order::Close(shard.0));
        }
    }

    fn spoil(&mut self, position: Position) {
        for blocked in self.nodes.spoil(position) {
            if self.ops[blocked].status() == Status::Pending {
                self.skip(blocked, position);
            }
        }
    }

    fn mend(&mut self, position: Position) {
        for freed in self.nodes.mend(position) {
            if self.ops[freed].status() == Status::Skipped && !self.options.only_resolve {
                self.reopen(freed);
                self.ready_if_free(freed);
            }
        }
    }

    fn skip(&mut self, position: Position, because: Position) {
        let because = self.operation(because).index;
        if !self.happen(position, Happening::Skip) {
            return;
        }
        let index = OpIndex(self.operation(position).index);
        if !self.results.is_live(position) {
            self.store(StepInStore::Told, StoreStep::Skip { op: index, because: OpIndex(because) });
        }
        self.tell(position, ProgressKind::Skipped { because }, Opaque::default());
    }

    fn reopen(&mut self, position: Position) {
        if self.happen(position, Happening::Reopen) && !self.results.is_live(position) {
            let op = OpIndex(self.operation(position).index);
            self.store(StepInStore::Told, StoreStep::Reopen { op });
        }
    }

    fn store(&mut self, about: StepInStore, step: StoreStep) {
        self.outbox.store(about, step);
    }

    fn order(&mut self, worker: WorkerIndex, order: Order) {
        if self.roster.workers[worker].is_connected() {
            self.outbox.orders.entry(worker).or_default().push(order);
        }
    }

    fn tell(&mut self, position: Position, what: ProgressKind, diagnostics: Opaque) {
        let op = &self.ops[position];
        let operation = &self.outline.at(position);
        let shard = self.outline.shard(operation.shard).map_or("", |shard| shard.key.provider_instance());
        self.outbox.progress.push(Progress {
            operation: operation.index,
            address: operation.address.clone(),
            deposed: operation.deposed.clone(),
            action: operation.action.clone(),
            provider_instance: shard.to_owned(),
            attempt: op.last.number,
            worker: op.last.holder.map(|holder| self.roster.workers[holder].id.clone()).unwrap_or_default(),
            elapsed_ms: self.clock.now.saturating_sub(op.last.since),
            what,
            diagnostics,
        });
    }
}

fn check(outline: &Outline) -> Result<(), OutlineError> {
    for pair in outline.operations.windows(2) {
        if pair[1].index <= pair[0].index {
            return Err(OutlineError::Order(pair[1].index));
        }
    }
    for operation in &outline.operations {
        let named = operation.exports.iter().flat_map(|export| &export.readers).chain([&operation.shard]);
        for shard in named {
            if outline.shard(*shard).is_none() {
                return Err(OutlineError::UnknownShard { operation: operation.index, shard: *shard });
            }
        }
    }
    Ok(())
}
