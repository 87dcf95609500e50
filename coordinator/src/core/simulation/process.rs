//! A worker that keeps the rules.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use weft_state::{Digest, InstanceObject, Opaque, RawJson, RunId, WorkerId};

use super::Random;
use super::cloud::{Cloud, Ending};
use super::world::Kept;
use crate::event::Hello;
use crate::outline::{Need, OperationKind, Outline, OutlineOperation};
use weft_protocol::{
    HeldPhase, HeldTask, ObjectChange, ObjectWrite, Order, Report, SettleOrder, Task, TaskDone, TaskResult, TaskWrites,
    Verdict,
};

/// Age beyond which a granted intent is not acted on.
const INTENT_AGE: u64 = 80;

#[derive(Clone, Debug)]
struct Held {
    shard: u32,
    phase: HeldPhase,
    asked: u64,
    read_first: bool,
    call: Option<usize>,
    result: Option<TaskResult>,
}

#[derive(Clone, Debug, Default)]
struct ShardHere {
    locals: BTreeSet<u32>,
    foreign: BTreeSet<(u32, u32)>,
}

#[derive(Clone, Debug)]
struct Settle {
    task: Task,
    holder_dead: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Process {
    pub(super) name: String,
    pub(super) id: WorkerId,
    pub(super) alive: bool,
    /// The coordinator that it is connected to.
    pub(super) connection: Option<usize>,
    pub(super) inbox: VecDeque<Order>,
    pub(super) outbox: VecDeque<Report>,
    held: BTreeMap<Task, Held>,
    settles: VecDeque<Settle>,
    shards: BTreeMap<u32, ShardHere>,
    draining: bool,
}

/// What a process needs of the world around it.
pub(super) struct Around<'world> {
    pub(super) now: u64,
    pub(super) calm: bool,
    pub(super) outline: &'world Outline,
    pub(super) cloud: &'world mut Cloud,
    pub(super) random: &'world mut Random,
    pub(super) kept: &'world Kept,
}

impl Process {
    pub(super) fn new(name: &str, birth: u64) -> Process {
        Process {
            name: name.to_owned(),
            id: WorkerId(format!("{name}/{birth}")),
            alive: true,
            connection: None,
            inbox: VecDeque::new(),
            outbox: VecDeque::new(),
            held: BTreeMap::new(),
            settles: VecDeque::new(),
            shards: BTreeMap::new(),
            draining: false,
        }
    }

    /// Connects: the greeting, and what has no answer yet.
    pub(super) fn connect(&mut self, coordinator: usize) -> Hello {
        self.connection = Some(coordinator);
        self.inbox.clear();
        self.outbox.clear();
        self.settles.clear();
        self.draining = false;
        for (task, held) in &self.held {
            match (&held.result, held.phase) {
                (Some(result), _) => {
                    self.outbox.push_back(Report::Result { task: *task, result: Arc::new(result.clone()) });
                }
                (None, HeldPhase::Asked) => {
                    self.outbox.push_back(Report::Intent { task: *task, planned: Digest::default() });
                }
                _ => {}
            }
        }
        Hello {
            worker: self.id.clone(),
            labels: BTreeMap::new(),
            capacity: 6,
            packages: Vec::new(),
            held: self
                .held
                .iter()
                .map(|(task, held)| HeldTask {
                    run: RunId::parse("run-1").expect("a run id"),
                    task: *task,
                    phase: held.phase,
                })
                .collect(),
        }
    }

    pub(super) fn disconnect(&mut self) {
        self.connection = None;
        self.inbox.clear();
        self.outbox.clear();
    }

    /// Takes one order.
    pub(super) fn obey(&mut self, around: &mut Around<'_>) {
        let Some(order) = self.inbox.pop_front() else { return };
        match order {
            Order::Open(opened) => {
                let open = self.shards.entry(opened.shard).or_default();
                open.locals.extend(opened.restored.into_iter().map(|(operation, _)| operation));
            }
            Order::Restored { shard, operation, .. } => {
                self.shards.entry(shard).or_default().locals.insert(operation);
            }
            Order::Close(shard) => {
                self.shards.remove(&shard);
            }
            Order::Foreign { shard, operation, export, .. } => {
                self.shards.get_mut(&shard).expect("an open shard").foreign.insert((operation, export));
            }
            Order::Start { shard, task, read_first } => {
                self.check_inputs(shard, task, around);
                let held = Held { shard, phase: HeldPhase::Preparing, asked: 0, read_first, call: None, result: None };
                self.held.entry(task).or_insert(held);
            }
            Order::Granted(task) => match self.held.get_mut(&task) {
                Some(held) if held.phase == HeldPhase::Asked => {
                    if self.draining || around.now - held.asked > INTENT_AGE {
                        self.finish(task, TaskResult::NotCalled { reason: "too late".to_owned() });
                    } else {
                        held.phase = HeldPhase::Called;
                        let (id, random) = (self.id.clone(), &mut *around.random);
                        held.call = Some(around.cloud.call(task, id, around.now, around.calm, random));
                    }
                }
                Some(_) => {}
                None => {
                    let held = Held {
                        shard: 0,
                        phase: HeldPhase::Asked,
                        asked: 0,
                        read_first: false,
                        call: None,
                        result: None,
                    };
                    self.held.insert(task, held);
                    self.finish(task, TaskResult::NotCalled { reason: "unknown".to_owned() });
                }
            },
            Order::Drop(task) if self.held.get(&task).is_some_and(|held| held.phase == HeldPhase::Asked) => {
                self.finish(task, TaskResult::NotCalled { reason: "dropped".to_owned() });
            }
            Order::IntentRefused(task) | Order::Drop(task) => {
                if self.held.get(&task).is_some_and(|held| held.phase < HeldPhase::Called) {
                    self.held.remove(&task);
                }
            }
            Order::Acknowledged(task) => {
                let Some(held) = self.held.get(&task).filter(|held| held.phase == HeldPhase::Finished) else { return };
                let called = held.call.is_some();
                if called && matches!(held.result, Some(TaskResult::Done(_))) {
                    let kept =
                        around.kept.done.contains(&task.operation) || around.kept.strays.contains(&task.operation);
                    assert!(kept, "the result of {task:?} was acknowledged and is not in the store");
                }
                self.held.remove(&task);
            }
            Order::Settle(SettleOrder { task, holder_dead, .. }) => {
                self.settles.push_back(Settle { task, holder_dead })
            }
            Order::Drain => self.draining = true,
            Order::Stop => {
                self.draining = true;
                let calls = self.held.values().filter(|held| held.phase == HeldPhase::Called);
                calls.filter_map(|held| held.call).for_each(|call| around.cloud.interrupt(call, around.now));
            }
            Order::Leave => {
                self.held.retain(|_, held| held.phase >= HeldPhase::Called);
                self.settles.clear();
                self.shards.clear();
                self.draining = false;
            }
        }
    }

    /// Everything that a task may read must be there before it.
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
            for (export, _) in source
                .exports
                .iter()
                .enumerate()
                .filter(|(_, export)| export.readers.contains(&crate::ShardIndex(shard)))
            {
                assert!(open.foreign.contains(&(*need, export as u32)), "{task:?} reads {need} from elsewhere");
            }
        }
    }

    /// Goes on with something.
    pub(super) fn work(&mut self, around: &mut Around<'_>) {
        self.end_calls(around);
        if let Some(settle) = self.settles.pop_front() {
            self.settle(settle, around);
        }
        let preparing = self.held.iter().find(|(_, held)| held.phase == HeldPhase::Preparing).map(|(task, _)| *task);
        if let Some(task) = preparing {
            self.prepare(task, around);
        }
    }

    fn prepare(&mut self, task: Task, around: &mut Around<'_>) {
        if self.draining {
            self.held.remove(&task);
            self.say(Report::Returned(task));
            return;
        }
        let Some(operation) = around.outline.operation(task.operation) else { return };
        let read_first = self.held.get(&task).is_some_and(|held| held.read_first);
        let fails = !around.calm && around.random.chance(4);
        if fails {
            self.finish(task, failed());
        } else if !operation.changes_world || read_first && around.cloud.has(task.operation) {
            self.finish(task, TaskResult::Done(result_of(operation)));
        } else if let Some(held) = self.held.get_mut(&task) {
            held.phase = HeldPhase::Asked;
            held.asked = around.now;
            self.say(Report::Intent { task, planned: Digest::default() });
        }
    }

    fn end_calls(&mut self, around: &mut Around<'_>) {
        around.cloud.pass(around.now);
        let called: Vec<(Task, usize)> = self
            .held
            .iter()
            .filter(|(_, held)| held.phase == HeldPhase::Called)
            .filter_map(|(task, held)| Some((*task, held.call?)))
            .collect();
        for (task, call) in called {
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
                Ending::Success => {
                    call.proven = true;
                    TaskResult::Done(result_of(operation))
                }
                Ending::Error => {
                    call.proven = true;
                    failed()
                }
                Ending::Crash => {
                    call.over = true;
                    doubt(true)
                }
                Ending::Deadline => doubt(false),
            };
            self.finish(task, result);
        }
    }

    fn settle(&mut self, settle: Settle, around: &mut Around<'_>) {
        let Some(operation) = around.outline.operation(settle.task.operation) else { return };
        let verdict = if !around.calm && around.random.chance(10) {
            Verdict::Unknown("the cloud does not answer".to_owned())
        } else if around.cloud.has(settle.task.operation) {
            let open = self.shards.entry(operation.shard.0).or_default();
            open.locals.insert(operation.index);
            Verdict::Applied(Box::new(result_of(operation)))
        } else {
            Verdict::NotApplied { holder_dead: settle.holder_dead }
        };
        self.say(Report::Settled { task: settle.task, verdict });
    }

    fn finish(&mut self, task: Task, result: TaskResult) {
        if let Some(held) = self.held.get_mut(&task) {
            held.phase = HeldPhase::Finished;
            held.result = Some(result.clone());
            if matches!(result, TaskResult::Done(_))
                && let Some(open) = self.shards.get_mut(&held.shard)
            {
                open.locals.insert(task.operation);
            }
        }
        self.say(Report::Result { task, result: Arc::new(result) });
    }

    fn say(&mut self, message: Report) {
        if self.connection.is_some() {
            self.outbox.push_back(message);
        }
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

fn failed() -> TaskResult {
    TaskResult::Failed { writes: TaskWrites::default(), diagnostics: Opaque(vec![1]), absence_unproven: false }
}

/// What a worker says of an operation that took place.
fn result_of(operation: &OutlineOperation) -> TaskDone {
    let change = match operation.kind {
        OperationKind::Create | OperationKind::Update => {
            let text = format!("{{\"id\":\"{}\"}}", operation.address);
            Some(ObjectChange::Put(Box::new(InstanceObject::new(0, RawJson::new(text)))))
        }
        OperationKind::Delete => Some(ObjectChange::Remove),
        _ => None,
    };
    let objects = change.into_iter().map(|change| ObjectWrite {
        address: operation.address.clone(),
        provider: "provider[\"h/n/t\"]".to_owned(),
        deposed: None,
        change,
    });
    TaskDone {
        writes: TaskWrites { objects: objects.collect(), outputs: Vec::new() },
        local: Arc::from([1]),
        exports: operation.exports.iter().map(|_| Arc::from([2])).collect(),
        diagnostics: Opaque::default(),
        shown: None,
    }
}
