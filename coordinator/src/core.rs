//! The coordinator of a run as one state machine. [`Coordinator::step`] takes an event and returns instructions.
//!
//! The state machine has no clock, network, store or randomness. Time is a number of milliseconds that comes with each
//! event and never decreases, every collection is ordered, and equal histories give equal instructions.
//!
//! Invariants:
//! - A status changes only through [`crate::status::transition`], and only after the store has answered. Leases, skips
//!   and reopens do not wait: a lease needs no record, and a later term derives skips and reopens again.
//! - An illegal transition ends the term at once. No output of the step with this transition is sent, and the workers
//!   are ordered to leave the run.
//! - [`Order::Granted`] is sent only after its intent is durable, and only to the worker and attempt of that intent.
//! - [`Order::Acknowledged`] is sent only after the result is durable, or is known to be unnecessary.
//! - An operation whose last attempt has an intent is retried only if its failure is durable, if the attempt is known
//!   to have made no call, if evidence shows that the call had no effect, or if the user accepts a duplicate.
//! - The store answers in the order of the steps, so one queue maps answers to steps.
//! - The work of a step is proportional to what it changes, and independent of the size of the plan.
//!
//! The memory of the state machine consists of parts with private fields, each in its own file: [`operations`] (the
//! states of operations), [`backlog`] (shards), [`budgets`] (tokens for calls), [`retries`] (refused calls), [`roster`]
//! (workers), [`heirs`] (results from spools), [`ahead`] (intents ahead of free slots), [`nodes`] (dependencies),
//! [`records`] and [`results`], [`doubts`], [`checks`], [`course`], [`clock`], [`meter`] (figures) and [`outbox`]. The
//! other files handle events, and change the parts through their methods.

mod absence;
mod ahead;
mod answers;
mod backlog;
mod bare;
mod budgets;
mod cancel;
mod checks;
mod clock;
mod course;
mod dispatch;
mod doubts;
mod ending;
mod heirs;
mod intents;
#[cfg(any(test, feature = "simulation"))]
mod invariants;
mod meter;
mod nodes;
mod operation;
mod operations;
mod options;
mod outbox;
mod problems;
mod records;
mod recovery;
mod reports;
mod results;
mod retries;
mod roster;
mod settling;
mod workers;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_graph_format::bare::BareResource;
use weft_protocol::Order;
use weft_state::{
    CheckRecord, InstanceRecord, OpCounts, OpIndex, Opaque, Revision, RunView, StoreStep, Subject, WorkerId,
};

use crate::event::{Cancel, Defect, Event, FinishReason, Instruction};
use crate::figures::{Counted, RunFigures};
use crate::operation_event::{OperationEvent, OperationEventKind};
use crate::outline::{Outline, OutlineError};
use crate::status::{Happening, Status, transition};
use crate::table::{ExportIndex, Position, ShardIndex, Table, TableIndex, WorkerIndex};
use ahead::Ahead;
use answers::StepInStore;
use backlog::Backlog;
use bare::BareResources;
use budgets::Budgets;
use checks::Checks;
use clock::Clock;
use course::Course;
use doubts::Doubts;
use meter::Meter;
use nodes::Nodes;
use operation::State;
use operations::{Operations, Rest};
use outbox::Outbox;
use problems::Cause;
use records::Records;
use results::OperationResults;
use retries::Retries;
use roster::Roster;

pub use options::RunOptions;

/// The outcome of handling an event or a part of one. A defect ends the term at once.
type Handled<T = ()> = Result<T, Box<Defect>>;

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
    /// The resources that the state lists without instances.
    pub bare: Vec<BareResource>,
}

/// What delays operations that could start (budgets and retries), and the counts for metrics.
#[derive(Debug)]
struct Pace {
    budgets: Budgets,
    retries: Retries,
    meter: Meter,
}

/// What a term writes to the state when it ends.
#[derive(Debug)]
struct AtEnd {
    checks: Checks,
    bare: BareResources,
}

/// One term of one run. Each field is a part of the memory, and maintains its own invariants.
#[derive(Debug)]
pub struct Coordinator {
    outline: Arc<Outline>,
    options: RunOptions,
    nodes: Nodes,
    operations: Operations,
    backlog: Backlog,
    pace: Pace,
    roster: Roster,
    records: Records,
    results: OperationResults,
    doubts: Doubts,
    at_end: AtEnd,
    ahead: Ahead,
    course: Course,
    clock: Clock,
    outbox: Outbox,
}

impl Coordinator {
    /// Begins a term.
    ///
    /// # Errors
    /// Returns an error if the outline is inconsistent.
    pub fn begin(
        now: u64,
        outline: Arc<Outline>,
        mut options: RunOptions,
        beginning: Beginning,
    ) -> Result<(Coordinator, Vec<Instruction>), OutlineError> {
        check(&outline)?;
        let Beginning { view, records, revisions, checks, bare } = beginning;
        let mut doubts = Doubts::default();
        for resolution in std::mem::take(&mut options.resolutions) {
            if let Some(position) = outline.position(resolution.operation) {
                doubts.decide(position, resolution.decision);
            }
        }
        let mut coordinator = Coordinator {
            nodes: Nodes::new(&outline)?,
            operations: Operations::new(outline.operations.len(), now),
            backlog: Backlog::new(&outline),
            pace: Pace {
                budgets: Budgets::new(&outline),
                retries: Retries::new(options.spread),
                meter: Meter::new(outline.operations.len()),
            },
            roster: Roster::default(),
            records: Records::new(records, revisions),
            results: OperationResults::default(),
            doubts,
            at_end: AtEnd { checks: Checks::new(checks), bare: BareResources::new(bare) },
            ahead: Ahead::default(),
            course: Course::default(),
            clock: Clock::new(now),
            outbox: Outbox::default(),
            outline,
            options,
        };
        let handled = coordinator.recover(view).and_then(|()| coordinator.settle_down());
        let instructions = coordinator.instructions(handled);
        Ok((coordinator, instructions))
    }

    /// Handles an event at a time in milliseconds, and returns the instructions.
    pub fn step(&mut self, now: u64, event: Event) -> Vec<Instruction> {
        if self.outbox.is_finished() {
            return Vec::new();
        }
        self.clock.advance(now);
        let handled = self.handle(event).and_then(|()| self.settle_down());
        self.instructions(handled)
    }

    fn handle(&mut self, event: Event) -> Handled {
        match event {
            Event::Joined(hello) => self.joined(hello)?,
            Event::Leaving(worker) => self.leaving(&worker)?,
            Event::Stays(worker) => self.stays(&worker),
            Event::Left(worker) => self.left(&worker),
            Event::Dead(worker) => self.dead(&worker)?,
            Event::Said(worker, message) => self.said(&worker, message)?,
            Event::Line(_) => {}
            Event::Stored(answers) => self.stored(answers)?,
            Event::Fenced => self.outbox.finish(FinishReason::Fenced),
            Event::Paused(paused) => self.course.pause(paused),
            Event::Cancel(Cancel::Drain) => self.drain()?,
            Event::Cancel(Cancel::Stop) => self.stop()?,
            Event::Cancel(Cancel::Leave) => self.leave()?,
            Event::Resolve(resolution) => self.user_resolves(resolution)?,
            Event::Tokens(grants) => self.pace.budgets.granted(grants, self.clock.now()),
            Event::Due => {}
            Event::Tick => self.tick()?,
        }
        Ok(())
    }

    /// The number of operations by status.
    pub fn counts(&self) -> OpCounts {
        self.operations.counts()
    }

    /// The status of one operation.
    pub fn status(&self, operation: u32) -> Option<Status> {
        self.outline.position(operation).map(|position| self.operations.status(position))
    }

    /// Disconnected workers that are not known to be dead. At the start of a term, these are the workers with open
    /// intents or doubts from earlier terms. The caller sends [`Event::Dead`] for each worker that it finds dead.
    pub fn absent_holders(&self) -> Vec<WorkerId> {
        self.roster.absent()
    }

    /// The connected workers with the numbers of their tasks.
    pub fn loads(&self) -> BTreeMap<WorkerId, u32> {
        self.roster.loads()
    }

    /// The time in milliseconds of the next change that no event announces: a token becomes free, or an operation is
    /// retried. The caller sends [`Event::Due`] at that time.
    pub fn wakes_at(&self) -> Option<u64> {
        let is_over = self.outbox.is_finished() || !self.course.may_begin();
        let now = self.clock.now();
        let times = self.pace.budgets.wakes_at(now).into_iter().chain(self.pace.retries.wakes_at(now));
        times.min().filter(|_| !is_over)
    }

    /// The progress of the run, for metrics. The cost is linear in the number of shards.
    pub fn figures(&self) -> RunFigures {
        let counts = self.counts();
        let mut figures = RunFigures { counts, ..RunFigures::default() };
        for (number, shard) in self.outline.shards.iter().enumerate() {
            let index = ShardIndex::new(number);
            let ready = u64::from(self.backlog.ready(index));
            figures.ready += ready;
            self.pace.budgets.short_for(index).for_each(|budget| figures.waiting.add(budget, ready));
            if !self.pace.budgets.waits(index) {
                figures.add_ready(shard.pool(), ready);
            }
        }
        figures.leased = u64::from(self.roster.in_flight().saturating_sub(counts.running));
        figures.reserved = self.pace.budgets.reserved();
        figures.refused = self.pace.retries.len() as u64;
        figures
    }

    /// Returns the counts since the last call, and starts new counts.
    pub fn take_counted(&mut self) -> Counted {
        Counted { tokens: self.pace.budgets.take_used(), ..self.pace.meter.take() }
    }

    /// The outline of the plan.
    pub fn outline(&self) -> &Arc<Outline> {
        &self.outline
    }

    /// Moves an operation to the next status.
    ///
    /// # Errors
    /// Returns a defect if the current status of the operation does not allow this transition.
    fn happen(&mut self, position: Position, happening: Happening) -> Handled {
        self.happen_as(position, happening, State::entering(happening.leads_to()))
    }

    /// Moves an operation to the next status, in the given state.
    fn happen_as(&mut self, position: Position, happening: Happening, next: State) -> Handled {
        match transition(self.operations.status(position), happening) {
            Some(status) if status == next.status() => self.enter(position, next, Cause::Happened(happening)),
            _ => Err(self.defect(position, next, Cause::Happened(happening))),
        }
    }

    /// Moves an operation to another state. `cause` is for the message of a defect.
    ///
    /// # Errors
    /// Returns a defect if the operation cannot enter this state.
    fn enter(&mut self, position: Position, next: State, cause: Cause) -> Handled {
        match self.operations.change(position, next) {
            Ok(rest) => {
                self.rests(position, rest);
                Ok(())
            }
            Err(illegal) => Err(self.defect(position, illegal.to, cause)),
        }
    }

    fn defect(&self, position: Position, to: State, cause: Cause) -> Box<Defect> {
        let operation = self.outline.at(position);
        Box::new(Defect {
            operation: operation.index,
            address: operation.address.clone(),
            from: self.operations.state(position).to_string(),
            to: to.to_string(),
            message: cause.to_string(),
        })
    }

    /// Updates the counts after an operation came to rest or became active again. When all operations of a shard are at
    /// rest, its worker closes the shard.
    fn rests(&mut self, position: Position, rest: Rest) {
        let shard = self.outline.at(position).shard;
        let holder = self.backlog.worker(shard);
        match rest {
            Rest::Unchanged => {}
            Rest::Ended => {
                self.backlog.rest_ended(shard);
                if let Some(worker) = holder {
                    self.roster.rest_ended(worker);
                }
            }
            Rest::Began => {
                if let Some(worker) = holder {
                    self.roster.rest_began(worker);
                }
                if let Some(worker) = self.backlog.rest_began(shard) {
                    self.roster.release(worker, shard, 0);
                    self.order(worker, Order::Close(shard.0));
                }
            }
        }
    }

    /// Skips the operations that depend on this operation, because this operation now blocks them.
    fn spoil(&mut self, position: Position) -> Handled {
        for blocked in self.nodes.spoil(position) {
            if self.operations.status(blocked) == Status::Pending {
                self.skip(blocked, position)?;
            }
        }
        Ok(())
    }

    /// Reopens the operations that this operation no longer blocks.
    fn mend(&mut self, position: Position) -> Handled {
        for freed in self.nodes.mend(position) {
            if self.operations.status(freed) == Status::Skipped && !self.options.only_resolve {
                self.reopen(freed)?;
                self.ready_if_free(freed);
            }
        }
        Ok(())
    }

    fn skip(&mut self, position: Position, because: Position) -> Handled {
        // An operation whose dependencies are done in the store may already be queued. Such an operation is skipped if
        // a live result that it reads cannot be computed again.
        self.backlog.unqueue(self.outline.at(position).shard, self.nodes.height(position), position);
        self.happen(position, Happening::Skip)?;
        self.at_end.bare.skipped(&self.outline, position, because);
        let because = self.outline.at(because).index;
        if !self.results.is_recomputed(position) {
            let op = OpIndex(self.outline.at(position).index);
            self.outbox.store(StepInStore::Told, StoreStep::Skip { op, because: OpIndex(because) });
        }
        self.tell(position, OperationEventKind::Skipped { because }, Opaque::default());
        Ok(())
    }

    fn reopen(&mut self, position: Position) -> Handled {
        self.happen(position, Happening::Reopen)?;
        if !self.results.is_recomputed(position) {
            let op = OpIndex(self.outline.at(position).index);
            self.outbox.store(StepInStore::Told, StoreStep::Reopen { op });
        }
        Ok(())
    }

    /// At the end of a term, sends changed results of checks and changed bare resources to the store. Sends nothing if
    /// the term was left, or only settles doubts. Returns whether the end of the term must wait for the answer of the
    /// store.
    fn write_ending(&mut self, reason: FinishReason) -> bool {
        if reason == FinishReason::Left || self.options.only_resolve {
            return false;
        }
        let mut writes = self.at_end.checks.take_write(&self.outline, &self.operations).unwrap_or_default();
        writes.outputs = self.at_end.bare.take_writes(&self.outline, &self.operations);
        let is_needed = !writes.is_empty();
        if is_needed {
            self.outbox.store(StepInStore::Told, StoreStep::Checks(writes));
        }
        is_needed
    }

    /// Queues an order, if the worker is connected. If an heir has the acknowledged result, the acknowledgement goes to
    /// the heir.
    fn order(&mut self, worker: WorkerIndex, order: Order) {
        let worker = match order {
            Order::Acknowledged(task) => self.roster.heirs.acknowledged(worker, task).unwrap_or(worker),
            _ => worker,
        };
        if self.roster.is_connected(worker) {
            self.outbox.order(worker, order);
        }
    }

    /// The provider instance of a shard as text; empty if there is none.
    fn provider_of(&self, shard: ShardIndex) -> &str {
        self.outline.shard(shard).map_or("", |shard| shard.key.provider_instance())
    }

    fn tell(&mut self, position: Position, what: OperationEventKind, diagnostics: Opaque) {
        let last = self.operations.last(position);
        let operation = self.outline.at(position);
        let provider = self.provider_of(operation.shard).to_owned();
        self.outbox.tell(OperationEvent {
            operation: operation.index,
            address: operation.address.clone(),
            deposed: operation.deposed.clone(),
            action: operation.action(),
            provider_instance: provider,
            attempt: last.number,
            worker: last.holder.map(|holder| self.roster.id(holder).clone()).unwrap_or_default(),
            elapsed_ms: self.clock.elapsed_since(last.since),
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
