//! A worker process: decides as the shipped worker does, and calls the simulated cloud instead of providers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use weft_coordinator::event::Hello;
use weft_coordinator::{Need, OperationKind, Outline};
use weft_executor::simulation::{DeskAction, Docket, Now, SpooledResult, is_young};
use weft_graph_format::digest::Digest;
use weft_protocol::{
    CoordinatorFrame, HeldPhase, OpenShard, Order, PROTOCOL, Report, RunOrders, SettleOrder, SettleVerdict, Task,
    TaskResult, TaskWrites, WorkerFrame,
};
use weft_state::{Opaque, RunId, WorkerId};

use crate::cloud::{CallEnding, Cloud};
use crate::kept::DurableRecords;
use crate::provider::{EXPORT, error_of, needs_provider, result_of, unopened_because};
use crate::random::Random;
use crate::seat::INTENT_AGE;

/// The progress of a running task.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    Preparing {
        read_first: bool,
    },
    Asked(u64),
    /// The call is allowed, and begins when the process next works.
    Allowed(u64),
    Called(usize),
}

#[derive(Clone, Debug)]
struct Running {
    shard: u32,
    stage: Stage,
}

/// An open shard.
#[derive(Clone, Debug, Default)]
struct ShardState {
    /// The available results of the shard itself, and of other shards.
    locals: BTreeSet<u32>,
    foreign: BTreeSet<(u32, u8)>,
    /// Whether the provider was open at some time. Then it can be opened again.
    had_provider: bool,
}

/// A worker process.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) name: String,
    pub(crate) id: WorkerId,
    pub(crate) alive: bool,
    /// Whether the process leaves as soon as nothing is open.
    pub(crate) leaving: bool,
    /// The seat of the coordinator that the process is connected to; `None` without a connection.
    pub(crate) connection: Option<usize>,
    /// The number of connections that the process has made.
    pub(crate) connections: u64,
    pub(crate) inbox: VecDeque<Vec<u8>>,
    /// The process does nothing until this time. Its clock continues meanwhile.
    pub(crate) suspended_until: u64,
    docket: Docket,
    opening: Vec<OpenShard>,
    shards: BTreeMap<u32, ShardState>,
    running: BTreeMap<Task, Running>,
    settles: VecDeque<SettleOrder>,
    /// The tasks whose calls were reported as done.
    proven: BTreeSet<Task>,
    /// The file with results. It outlives the process.
    spool: BTreeMap<Task, SpooledResult>,
}

/// The incarnation of a process. The last part begins with a zero, because the process has a spool.
fn incarnation(birth: u64) -> String {
    format!("boot:ns:{birth}:01")
}

/// The environment of a process.
pub(crate) struct Around<'world> {
    pub(crate) now: u64,
    pub(crate) calm: bool,
    pub(crate) run: &'world RunId,
    pub(crate) outline: &'world Outline,
    pub(crate) cloud: &'world mut Cloud,
    pub(crate) random: &'world mut Random,
    pub(crate) kept: &'world DurableRecords,
}

impl Around<'_> {
    fn happens(&mut self, percent: u64) -> bool {
        !self.calm && self.random.chance(percent)
    }
}

impl Process {
    pub(crate) fn new(name: &str, birth: u64) -> Process {
        Process {
            name: name.to_owned(),
            id: WorkerId(format!("{name}/{}", incarnation(birth))),
            alive: true,
            leaving: false,
            connection: None,
            connections: 0,
            inbox: VecDeque::new(),
            suspended_until: 0,
            docket: Docket::default(),
            opening: Vec::new(),
            shards: BTreeMap::new(),
            running: BTreeMap::new(),
            settles: VecDeque::new(),
            proven: BTreeSet::new(),
            spool: BTreeMap::new(),
        }
    }

    /// A later process of the same name, with the spool of this process.
    pub(crate) fn heir(&self, birth: u64) -> Process {
        let mut heir = Process::new(&self.name, birth);
        let results: Vec<SpooledResult> = self.spool.values().cloned().collect();
        let done = results.iter().filter(|kept| matches!(*kept.result, TaskResult::Done(_)));
        heir.proven = done.map(|kept| kept.task).filter(|task| self.proven.contains(task)).collect();
        heir.spool = self.spool.clone();
        heir.docket.restore(results);
        heir
    }

    /// Writes to the spool. The process may die before the results are durable.
    pub(crate) fn write_spool(&mut self, around: &mut Around<'_>) {
        let all = self.connection.is_none();
        let maker = self.id.0.split_once('/').map_or("", |(_, incarnation)| incarnation);
        let work = self.docket.spool_work(all, maker);
        for (_, task) in &work.forget {
            self.spool.remove(task);
        }
        let written = !around.happens(10);
        if written {
            self.spool.extend(work.keep.iter().map(|kept| (kept.task, kept.clone())));
        }
        self.docket.spooled(&work.keep, written);
    }

    pub(crate) fn is_awake(&self, now: u64) -> bool {
        self.alive && now >= self.suspended_until
    }

    /// Connects and returns the greeting. Reports without an answer are queued again.
    pub(crate) fn connect(&mut self, coordinator: usize) -> Hello {
        self.connection = Some(coordinator);
        self.connections += 1;
        self.inbox.clear();
        self.docket.connected(PROTOCOL);
        Hello {
            worker: self.id.clone(),
            connection: self.connections,
            labels: BTreeMap::new(),
            capacity: 6,
            packages: Vec::new(),
            held: self.docket.held(),
        }
    }

    pub(crate) fn disconnect(&mut self) {
        self.connection = None;
        self.inbox.clear();
    }

    /// Receives a frame with one order of a term.
    pub(crate) fn receive(&mut self, run: &RunId, epoch: u64, order: Order) {
        let orders = RunOrders { run: run.clone(), epoch, orders: vec![order] };
        self.inbox.push_back(CoordinatorFrame { orders: vec![orders], ..CoordinatorFrame::default() }.encode());
    }

    /// Whether the process has unsent reports.
    pub(crate) fn speaks(&self) -> bool {
        self.connection.is_some() && self.docket.reports() > 0
    }

    /// The oldest unsent report, decoded.
    pub(crate) fn report(&mut self) -> Option<Report> {
        let frame = WorkerFrame::of_reports(self.docket.take_reports(1)).encode();
        let frame = WorkerFrame::decode(&frame).expect("a frame of a worker can be read");
        frame.reports.into_iter().flat_map(|of_run| of_run.reports).next()
    }

    /// Handles one frame.
    pub(crate) fn obey(&mut self, around: &mut Around<'_>) {
        let Some(frame) = self.inbox.pop_front() else { return };
        let frame = CoordinatorFrame::decode(&frame).expect("a frame of a coordinator can be read");
        for RunOrders { run, epoch, orders } in frame.orders {
            let actions = self.docket.heard(&run, epoch);
            self.perform_actions(actions, around);
            for order in orders {
                self.judge(&order, around);
                let now = Now { ms: around.now, intent_age: INTENT_AGE };
                let actions = self.docket.ordered(&run, epoch, order, now);
                self.perform_actions(actions, around);
            }
        }
    }

    /// Checks the conditions of an order.
    fn judge(&self, order: &Order, around: &Around<'_>) {
        let kept = around.kept;
        match order {
            Order::Acknowledged(task) => {
                let finished = HeldPhase::Finished;
                let ended = self.docket.held().iter().any(|held| held.task == *task && held.phase == finished);
                let there = kept.done.contains(&task.operation) || kept.strays.contains(&task.operation);
                let lost = ended && self.proven.contains(task) && !there;
                assert!(!lost, "the result of {task:?} was acknowledged and is not in the store");
            }
            Order::Foreign { operation, .. } | Order::Restored { operation, .. } => {
                assert!(kept.done.contains(operation), "a result of {operation} was sent before it was durable");
            }
            _ => {}
        }
    }

    fn perform_actions(&mut self, actions: Vec<DeskAction>, around: &mut Around<'_>) {
        for action in actions {
            match action {
                DeskAction::Open(_, open) => self.opening.push(*open),
                DeskAction::Arrived(_, shard, results) => self.arrived(shard, &results),
                DeskAction::Begin { shard, task, read_first, .. } => {
                    self.check_inputs(shard, task, around);
                    self.running.insert(task, Running { shard, stage: Stage::Preparing { read_first } });
                }
                DeskAction::Call(_, task) => {
                    if let Some(running) = self.running.get_mut(&task)
                        && let Stage::Asked(asked) = running.stage
                    {
                        running.stage = Stage::Allowed(asked);
                    }
                }
                DeskAction::Abort(_, task) => self.abort(task, around),
                DeskAction::Settle(_, order) => self.settles.push_back(order),
                DeskAction::Close(_, shard) => self.close_unused(shard, around),
                DeskAction::Stop(_) => {
                    for running in self.running.values() {
                        if let Stage::Called(call) = running.stage {
                            around.cloud.interrupt(call, around.now);
                        }
                    }
                }
                DeskAction::Leave(_, tasks) => {
                    tasks.into_iter().for_each(|task| self.abort(task, around));
                    self.settles.clear();
                    self.opening.clear();
                    self.shards.clear();
                }
                DeskAction::Reopened(..) | DeskAction::NewTerm(_) => {}
            }
        }
    }

    fn abort(&mut self, task: Task, around: &Around<'_>) {
        let Some(running) = self.running.remove(&task) else { return };
        let called = matches!(running.stage, Stage::Called(_) | Stage::Allowed(_));
        assert!(!called, "{task:?} was given up after its call was allowed");
        self.close_unused(running.shard, around);
    }

    fn close_unused(&mut self, shard: u32, around: &Around<'_>) {
        if self.docket.may_close(around.run, shard) {
            self.shards.remove(&shard);
        }
    }

    fn arrived(&mut self, shard: u32, results: &[(u32, Arc<[u8]>)]) {
        let open = self.shards.entry(shard).or_default();
        for (operation, value) in results {
            match value.as_ref() {
                [EXPORT, export] => drop(open.foreign.insert((*operation, *export))),
                _ => drop(open.locals.insert(*operation)),
            }
        }
    }

    /// Checks that everything that a task may read has arrived before the task.
    fn check_inputs(&self, shard: u32, task: Task, around: &Around<'_>) {
        let outline = around.outline;
        let operation = outline.operation(task.operation).expect("an operation of the plan");
        let open = self.shards.get(&shard).expect("a task came to a shard that is not open");
        for need in &operation.needs {
            check_done(outline, *need, &around.kept.done);
            let Need::Operation(need) = need else { continue };
            let source = outline.operation(*need).expect("an operation of the plan");
            if source.shard.0 == shard {
                assert!(open.locals.contains(need), "{task:?} reads {need}, which is not there");
            }
            let read = |reader: &weft_coordinator::ShardIndex| reader.0 == shard;
            for (export, _) in (0..).zip(&source.exports).filter(|(_, export)| export.readers.iter().any(read)) {
                assert!(open.foreign.contains(&(*need, export)), "{task:?} reads {need} from elsewhere");
            }
        }
    }

    /// Continues some of the work.
    pub(crate) fn work(&mut self, around: &mut Around<'_>) {
        self.begin_calls(around);
        self.end_calls(around);
        if around.random.chance(30) {
            self.write_spool(around);
        }
        if !self.opening.is_empty() {
            let open = self.opening.remove(0);
            self.opened(open, around);
        }
        if let Some(settle) = self.settles.pop_front() {
            self.settle(&settle, around);
        }
        let preparing = |running: &Running| matches!(running.stage, Stage::Preparing { .. });
        let next = self.running.iter().find(|(_, running)| preparing(running)).map(|(task, _)| *task);
        if let Some(task) = next {
            self.prepare(task, around);
        }
        if around.happens(1)
            && let Some(task) = self.running.keys().next().copied()
        {
            self.running.remove(&task);
            self.docket.broken(around.run, task);
        }
    }

    fn opened(&mut self, open: OpenShard, around: &mut Around<'_>) {
        let outcome = if around.happens(1) { Err(Opaque(vec![1])) } else { Ok(()) };
        let there = outcome.is_ok();
        let Some(actions) = self.docket.opened(around.run, open.shard, outcome) else { return };
        if there {
            self.shards.insert(open.shard, ShardState::default());
            self.arrived(open.shard, &open.restored);
        }
        self.perform_actions(actions, around);
    }

    fn prepare(&mut self, task: Task, around: &mut Around<'_>) {
        let Some(operation) = around.outline.operation(task.operation) else { return };
        let fails = around.happens(4);
        let unopened = needs_provider(operation) && self.cannot_open(operation.shard.0, around);
        let Some(running) = self.running.get_mut(&task) else { return };
        let Stage::Preparing { read_first } = running.stage else { return };
        if unopened {
            let (writes, diagnostics) = (TaskWrites::default(), unopened_because());
            let result = TaskResult::Failed { writes, diagnostics, absence_unproven: false, unopened };
            self.finish(task, result, around);
        } else if fails {
            self.finish(task, TaskResult::failed(Opaque(vec![1])), around);
        } else if !operation.changes_world || read_first && around.cloud.has(task.operation) {
            self.finish(task, TaskResult::Done(result_of(operation)), around);
        } else {
            running.stage = Stage::Asked(around.now);
            self.docket.asked(around.run, task, Digest::default(), around.now);
        }
    }

    /// Whether the process cannot start or configure the provider of a shard now.
    fn cannot_open(&mut self, shard: u32, around: &mut Around<'_>) -> bool {
        let Some(open) = self.shards.get_mut(&shard) else { return false };
        open.had_provider |= !around.happens(10);
        !open.had_provider
    }

    fn begin_calls(&mut self, around: &mut Around<'_>) {
        let allowed = self.running.iter().filter_map(|(task, running)| match running.stage {
            Stage::Allowed(asked) => Some((*task, asked)),
            _ => None,
        });
        for (task, asked) in allowed.collect::<Vec<_>>() {
            if !is_young(asked, around.now, INTENT_AGE) {
                let reason = String::from("the intent was granted too late");
                self.finish(task, TaskResult::NotCalled { reason }, around);
                continue;
            }
            let intended = around.kept.intents.contains(&(task, self.id.clone()));
            assert!(intended, "{task:?} was called without a durable intent");
            let call = around.cloud.call(task, self.id.clone(), around.now, around.calm, around.random);
            if let Some(running) = self.running.get_mut(&task) {
                running.stage = Stage::Called(call);
            }
        }
    }

    fn end_calls(&mut self, around: &mut Around<'_>) {
        around.cloud.pass(around.now);
        let called = self.running.iter().filter_map(|(task, running)| match running.stage {
            Stage::Called(call) => Some((*task, call)),
            _ => None,
        });
        for (task, call) in called.collect::<Vec<_>>() {
            let call = &mut around.cloud.calls[call];
            if call.ends_at > around.now {
                continue;
            }
            let Some(operation) = around.outline.operation(task.operation) else { continue };
            let doubt = |provider_dead| TaskResult::InDoubt {
                reason: "no reply".to_owned(),
                provider_dead,
                diagnostics: Opaque::default(),
            };
            let result = match call.ending {
                CallEnding::Success => {
                    call.proven = true;
                    self.proven.insert(task);
                    TaskResult::Done(result_of(operation))
                }
                CallEnding::Error => {
                    call.proven = true;
                    TaskResult::failed(error_of(task))
                }
                CallEnding::Crash => {
                    call.over = true;
                    doubt(true)
                }
                CallEnding::Deadline => doubt(false),
            };
            self.finish(task, result, around);
        }
    }

    fn settle(&mut self, settle: &SettleOrder, around: &mut Around<'_>) {
        let Some(operation) = around.outline.operation(settle.task.operation) else { return };
        let looks_up = settle.adopt.is_none() && operation.kind == OperationKind::Create;
        let cannot_look = looks_up && !operation.probe_by_identity;
        let verdict = if cannot_look {
            SettleVerdict::Unknown(String::new())
        } else if self.cannot_open(settle.shard, around) {
            SettleVerdict::Unopened(unopened_because())
        } else if around.happens(10) {
            SettleVerdict::Unknown("the cloud does not respond".to_owned())
        } else if around.cloud.has(settle.task.operation) {
            if let Some(open) = self.shards.get_mut(&settle.shard) {
                open.locals.insert(operation.index);
            }
            SettleVerdict::Applied(Box::new(result_of(operation)))
        } else {
            SettleVerdict::NotApplied { holder_dead: settle.holder_dead }
        };
        self.docket.settled(around.run, settle.task, verdict);
    }

    fn finish(&mut self, task: Task, result: TaskResult, around: &Around<'_>) {
        let running = self.running.remove(&task);
        let done = matches!(result, TaskResult::Done(_));
        self.docket.finished(around.run, task, result);
        let Some(running) = running else { return };
        if done && let Some(open) = self.shards.get_mut(&running.shard) {
            open.locals.insert(task.operation);
        }
        self.close_unused(running.shard, around);
    }

    /// Handles the request to leave: begins nothing more.
    pub(crate) fn leave(&mut self, around: &mut Around<'_>) {
        self.leaving = true;
        let actions = self.docket.drain();
        self.perform_actions(actions, around);
    }

    /// Whether the process has left in an orderly way.
    pub(crate) fn has_left(&self) -> bool {
        self.leaving && self.docket.is_idle()
    }
}

fn check_done(outline: &Outline, need: Need, done: &BTreeSet<u32>) {
    match need {
        Need::Operation(operation) => assert!(done.contains(&operation), "started before {operation} was done"),
        Need::Waiter(waiter) => {
            for need in &outline.waiters[waiter as usize].needs {
                check_done(outline, *need, done);
            }
        }
    }
}
