//! A run's coordinator as one deciding machine: [`Coordinator::step`] takes what happened and says what is to be done.
//!
//! No clock, network, store or randomness in here: time is a number of milliseconds that comes with each event and
//! never goes back, everything is kept in order, and equal histories give equal commands.
//!
//! What always holds:
//! - a status changes through [`crate::status::transition`] only, and (but for skips and reopens, which rest on other
//!   operations alone) only when the store has answered;
//! - [`Order::Granted`] is sent only after its intent is durable, and at most to the worker and attempt of that intent;
//! - [`Order::Acknowledged`] is sent only after the result is durable or known to be superfluous;
//! - an operation is retried only when the last attempt left no intent, when its call is known not to have been made,
//!   or when evidence says that it took no effect;
//! - answers of the store come in the order of the steps, so one queue says what each is about;
//! - the work of a step is proportional to what it changes, never to the size of the plan.

mod answers;
mod cancel;
mod checks;
mod dispatch;
mod doubts;
mod ending;
mod nodes;
mod options;
mod parts;
mod records;
mod recovery;
mod reports;
mod roster;

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weft_state::{
    CheckRecord, InstanceRecord, OpCounts, OpIndex, Opaque, Revision, RunView, StoreStep, Subject, WorkerId,
};

use crate::event::{Cancel, Command, Event, FinishReason, Progress, ProgressKind};
use crate::outline::{Outline, OutlineError, OutlineOperation};
use crate::status::{Happening, Status, transition};
use crate::worker::Order;
use answers::Step;
use nodes::Nodes;
use parts::{Backlog, Checks, Clock, Course, Doubts, Outbox, Results, Roster, Tally};
use roster::WorkerIndex;

pub use options::RunOptions;

/// Place of an operation in the outline.
type Position = u32;

/// What a term begins from.
#[derive(Clone, Debug)]
pub struct Beginning {
    /// What the store knows of the run's operations.
    pub view: RunView,
    /// The state's records of the instances that the run changes.
    pub records: Vec<InstanceRecord>,
    /// Revisions of what the run changes.
    pub revisions: BTreeMap<Subject, Revision>,
    /// The state's results of checks.
    pub checks: Option<Vec<CheckRecord>>,
}

/// Where within its status an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing is under way.
    Idle,
    /// Leased, or intended and called: the worker has it, or will say so when it comes back.
    AtWorker,
    /// Leased: INTENT is under way.
    IntentInStore,
    /// COMMIT or FAIL is under way.
    ResultInStore,
    /// Intended: DOUBT is under way.
    DoubtInStore,
    /// In doubt: waits for a worker that seeks evidence.
    SettleQueued,
    /// In doubt: that worker seeks evidence.
    AtSettler(WorkerIndex),
    /// In doubt: RESOLVE is under way.
    ResolveInStore,
    /// In doubt since an earlier term: its worker may still say what came of it, and is waited for.
    AwaitsHolder,
    /// In doubt: no evidence was found; it waits for the user.
    Unsettled,
}

/// An operation's state.
#[derive(Clone, Debug)]
struct Op {
    status: Status,
    phase: Phase,
    /// The last attempt, 0 before the first.
    attempt: u32,
    /// The highest attempt that some worker holds from an earlier term: numbers at or below it are not given again.
    floor: u32,
    /// Who made it.
    holder: Option<WorkerIndex>,
    /// It blocks its dependents.
    spoils: bool,
    /// An earlier attempt failed or was in doubt.
    tried: bool,
    /// Done in the store, computed anew in this term because its result is not journalled.
    live: bool,
    /// It failed, and its object is there all the same.
    keeps: bool,
    /// The worker itself said that it cannot tell.
    reported: bool,
    /// Its last attempt was begun in this term, so its worker has the shard open.
    begun_here: bool,
    /// When the worker got it.
    since: u64,
}

/// A shard's state.
#[derive(Clone, Debug, Default)]
struct Shard {
    /// What may be started: the longest way to the end first.
    ready: BTreeSet<(Reverse<u32>, Position)>,
    /// What evidence is to be sought for.
    settles: BTreeSet<Position>,
    /// Who holds it.
    worker: Option<WorkerIndex>,
    /// Who held it last.
    last: Option<WorkerIndex>,
    /// Operations that are not at rest.
    open: u32,
    /// Results of other shards that are there to be read: operation and export.
    foreign: Vec<(Position, u32)>,
    /// Own results that later operations of the shard may read.
    locals: Vec<Position>,
    /// Workers that could not open it, and what the last one said.
    refused_by: BTreeSet<WorkerIndex>,
    refusal: Option<Opaque>,
}

/// One term of one run.
#[derive(Debug)]
pub struct Coordinator {
    outline: Arc<Outline>,
    options: RunOptions,
    nodes: Nodes,
    ops: Vec<Op>,
    backlog: Backlog,
    roster: Roster,
    results: Results,
    doubts: Doubts,
    checks: Checks,
    tally: Tally,
    course: Course,
    clock: Clock,
    outbox: Outbox,
}

impl Coordinator {
    /// Begins a term from what the store knows.
    ///
    /// # Errors
    /// When the outline makes no sense.
    pub fn begin(
        now: u64,
        outline: Arc<Outline>,
        options: RunOptions,
        beginning: Beginning,
    ) -> Result<(Coordinator, Vec<Command>), OutlineError> {
        check(&outline)?;
        let nodes = Nodes::new(&outline)?;
        let count = outline.operations.len();
        let mut shards = vec![Shard::default(); outline.shards.len()];
        for operation in &outline.operations {
            shards[operation.shard as usize].open += 1;
        }
        let idle = Op {
            status: Status::Pending,
            phase: Phase::Idle,
            attempt: 0,
            floor: 0,
            holder: None,
            spoils: false,
            tried: false,
            live: false,
            keeps: false,
            reported: false,
            begun_here: false,
            since: now,
        };
        let mut coordinator = Coordinator {
            nodes,
            ops: vec![idle; count],
            backlog: Backlog { shards, ..Backlog::default() },
            roster: Roster::default(),
            results: Results::new(beginning.records, beginning.revisions),
            doubts: Doubts::default(),
            checks: Checks::new(beginning.checks),
            tally: Tally::new(count as u32),
            course: Course::default(),
            clock: Clock { now, begun: now },
            outbox: Outbox::default(),
            outline,
            options,
        };
        for resolution in std::mem::take(&mut coordinator.options.resolutions) {
            if let Some(position) = coordinator.outline.position(resolution.operation) {
                coordinator.doubts.decisions.insert(position as u32, resolution.decision);
            }
        }
        coordinator.recover(beginning.view);
        let commands = coordinator.settle_down();
        Ok((coordinator, commands))
    }

    /// What is to be done now that this happened at this time (milliseconds, never going back).
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

    /// Where the operations stand.
    pub fn counts(&self) -> OpCounts {
        self.tally.counts
    }

    /// Where one operation stands.
    pub fn status(&self, operation: u32) -> Option<Status> {
        self.outline.position(operation).map(|position| self.ops[position].status)
    }

    /// Workers of earlier terms that hold open intents or doubts and are not connected: whoever can tell that one of
    /// these processes is dead says so with [`Event::Dead`].
    pub fn absent_holders(&self) -> Vec<WorkerId> {
        self.roster.absent()
    }

    /// The outline that this run follows.
    pub fn outline(&self) -> &Arc<Outline> {
        &self.outline
    }

    fn operation(&self, position: Position) -> &OutlineOperation {
        &self.outline.operations[position as usize]
    }

    /// Moves an operation on. What the protocol does not allow changes nothing and ends the term: what we believe is then
    /// not what happened, so that nothing that follows from it may reach the store.
    fn happen(&mut self, position: Position, happening: Happening) -> bool {
        match transition(self.ops[position as usize].status, happening) {
            Ok(status) => {
                self.enter(position, status);
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

    /// Sets a status and keeps the counts.
    fn enter(&mut self, position: Position, status: Status) {
        let before = self.ops[position as usize].status;
        self.ops[position as usize].status = status;
        let shard = self.outline.operations[position as usize].shard;
        match (at_rest(before), at_rest(status)) {
            (false, true) => self.rests(shard, true),
            (true, false) => self.rests(shard, false),
            _ => {}
        }
        self.tally.moved(before, status);
    }

    /// One more (or less) operation of a shard needs nothing more.
    fn rests(&mut self, shard: u32, rests: bool) {
        let state = &mut self.backlog.shards[shard as usize];
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
            self.order(worker, Order::Close(shard));
        }
    }

    fn spoil(&mut self, position: Position) {
        if std::mem::replace(&mut self.ops[position as usize].spoils, true) {
            return;
        }
        for blocked in self.nodes.spoil(position) {
            if self.ops[blocked as usize].status == Status::Pending {
                self.skip(blocked, position);
            }
        }
    }

    fn mend(&mut self, position: Position) {
        if !std::mem::replace(&mut self.ops[position as usize].spoils, false) {
            return;
        }
        for freed in self.nodes.mend(position) {
            if self.ops[freed as usize].status == Status::Skipped && !self.options.only_resolve {
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
        if !self.ops[position as usize].live {
            self.store(Step::Told, StoreStep::Skip { op: index, because: OpIndex(because) });
        }
        self.tell(position, ProgressKind::Skipped { because }, Opaque::default());
    }

    fn reopen(&mut self, position: Position) {
        if self.happen(position, Happening::Reopen) && !self.ops[position as usize].live {
            let op = OpIndex(self.operation(position).index);
            self.store(Step::Told, StoreStep::Reopen { op });
        }
    }

    fn store(&mut self, about: Step, step: StoreStep) {
        self.outbox.store(about, step);
    }

    fn order(&mut self, worker: WorkerIndex, order: Order) {
        if self.roster.workers[worker].is_connected() {
            self.outbox.orders.entry(worker).or_default().push(order);
        }
    }

    fn tell(&mut self, position: Position, what: ProgressKind, diagnostics: Opaque) {
        let op = &self.ops[position as usize];
        let operation = &self.outline.operations[position as usize];
        let shard = &self.outline.shards[operation.shard as usize];
        self.outbox.progress.push(Progress {
            operation: operation.index,
            address: operation.address.clone(),
            deposed: operation.deposed.clone(),
            action: operation.action.clone(),
            provider_instance: shard.key.provider_instance().to_owned(),
            attempt: op.attempt,
            worker: op.holder.map(|holder| self.roster.workers[holder].id.clone()).unwrap_or_default(),
            elapsed_ms: self.clock.now.saturating_sub(op.since),
            what,
            diagnostics,
        });
    }
}

/// Whether an operation that stands there needs nothing more. (One in doubt does, until that turned out to be in vain.)
fn at_rest(status: Status) -> bool {
    matches!(status, Status::Done | Status::Failed | Status::Skipped)
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
            if *shard as usize >= outline.shards.len() {
                return Err(OutlineError::UnknownShard { operation: operation.index, shard: *shard });
            }
        }
    }
    Ok(())
}
