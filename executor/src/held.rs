//! The tasks of a worker: the phase of each, and the decisions after orders and events. Plain functions over data; the
//! caller passes in times in milliseconds of one clock.
//!
//! Invariants:
//! - A task makes at most one call that changes the world.
//! - A task makes this call only if a grant arrives while the task waits for it, and only if the intent of the task is
//!   not too old ([`is_young`]).
//! - A result is kept until it is acknowledged. A task whose call was made is not forgotten before its result is
//!   acknowledged.
//!
//! If the worker has a spool ([`crate::spool`]), a result that is not acknowledged soon is written to the spool.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_graph_format::digest::Digest;
use weft_graph_format::run::RunId;
use weft_protocol::{HeldPhase, HeldTask, PROTOCOL_OF_SPOOLS, Report, Task, TaskResult};

use crate::problems::reasons::NotCalled;
use crate::spool::{SpoolWork, SpooledResult};

/// All tasks of all runs.
#[derive(Debug, Default)]
pub(crate) struct HeldTasks {
    runs: BTreeMap<RunId, OfRun>,
    /// Whether the worker takes no more work.
    draining: bool,
    /// Forgotten tasks whose results are in the spool.
    unspooled: Vec<(RunId, Task)>,
}

/// The durability of a task's result, which is also in the memory of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SpoolState {
    /// In memory only.
    #[default]
    Memory,
    /// In memory only. The result already existed at an earlier call of `spool_work`.
    Awaited,
    /// Being written to the spool.
    Writing,
    /// In the spool.
    Durable,
}

#[derive(Debug, Default)]
struct OfRun {
    draining: bool,
    tasks: BTreeMap<Task, TaskEntry>,
}

#[derive(Debug)]
struct TaskEntry {
    /// The shard of the task. `None` for a granted task that this worker does not have.
    shard: Option<u32>,
    phase: HeldPhase,
    /// Whether a call was allowed, in this phase or in an earlier phase.
    called: bool,
    /// When the intent of the task was first requested.
    asked_at: Option<u64>,
    planned: Digest,
    result: Option<Arc<TaskResult>>,
    /// The earlier process of this name that carried out the task.
    maker: Option<String>,
    spool: SpoolState,
}

/// Unfinished work of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnfinishedWork {
    /// The number of running calls.
    pub calls: usize,
    /// The number of results without an acknowledgement.
    pub results: usize,
}

/// The response to an order to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// Begin the task.
    Begin,
    /// The worker already has the task.
    Known,
    /// Return the task.
    Return,
}

/// The response to an order to drop.
#[derive(Debug, PartialEq)]
pub(crate) enum Dropped {
    /// The task is forgotten. No call can have been made, and no coordinator waits for an answer.
    Forgotten,
    /// The intent was requested: report that no call is made.
    Answer(Arc<TaskResult>),
    /// The order has no effect: the task was called, or the worker does not have the task.
    Ignore,
}

/// The response to a grant.
#[derive(Debug, PartialEq)]
pub(crate) enum Grant {
    /// Make the call now.
    Call,
    /// Make no call: send this result, and forget the preparations for the call.
    Answer(Arc<TaskResult>),
    /// Ignore the grant.
    Ignore,
}

/// Whether a call may still be made for an intent that was requested at time `asked`.
pub fn is_young(asked: u64, now: u64, intent_age: u64) -> bool {
    now.saturating_sub(asked) < intent_age
}

impl HeldTasks {
    /// Handles an order to start.
    pub(crate) fn start(&mut self, run: &RunId, shard: u32, task: Task) -> Start {
        let draining = self.draining;
        let of_run = self.runs.entry(run.clone()).or_default();
        if of_run.tasks.contains_key(&task) {
            return Start::Known;
        }
        if of_run.draining || draining {
            return Start::Return;
        }
        of_run.tasks.insert(task, TaskEntry::new(Some(shard), HeldPhase::Preparing));
        Start::Begin
    }

    /// Records that a task is ready for its call. Returns `false` if the task is no longer wanted.
    pub(crate) fn asked(&mut self, run: &RunId, task: Task, planned: Digest, now: u64) -> bool {
        let Some(held) = self.get(run, task) else { return false };
        if held.phase != HeldPhase::Preparing {
            return false;
        }
        (held.phase, held.planned, held.asked_at) = (HeldPhase::Asked, planned, Some(now));
        true
    }

    /// Handles a grant: the intent of a task is durable.
    pub(crate) fn granted(&mut self, run: &RunId, task: Task, now: u64, intent_age: u64) -> Grant {
        let worker_draining = self.draining;
        let of_run = self.runs.entry(run.clone()).or_default();
        let draining = of_run.draining || worker_draining;
        let held = of_run.tasks.entry(task).or_insert_with(|| TaskEntry::new(None, HeldPhase::Asked));
        let reason = match held.phase {
            HeldPhase::Called | HeldPhase::Finished | HeldPhase::Preparing => return Grant::Ignore,
            HeldPhase::Asked if held.shard.is_none() => NotCalled::NotHeld,
            HeldPhase::Asked if draining => NotCalled::Stopping,
            HeldPhase::Asked if held.asked_at.is_some_and(|asked| !is_young(asked, now, intent_age)) => {
                NotCalled::TooLate
            }
            HeldPhase::Asked => {
                (held.phase, held.called) = (HeldPhase::Called, true);
                return Grant::Call;
            }
        };
        let result = Arc::new(TaskResult::NotCalled { reason: reason.to_string() });
        (held.phase, held.result) = (HeldPhase::Finished, Some(result.clone()));
        Grant::Answer(result)
    }

    /// Handles a refusal: no call may be made. Returns whether a task was forgotten.
    pub(crate) fn refused(&mut self, run: &RunId, task: Task) -> bool {
        self.forget_unless(run, task, |held| held.phase != HeldPhase::Asked && held.phase != HeldPhase::Preparing)
    }

    /// Handles an order to drop a task. If the intent of the task was requested, the intent may already be durable, and
    /// only the answer that no call was made settles the attempt. So this answer is kept like a result.
    pub(crate) fn dropped(&mut self, run: &RunId, task: Task) -> Dropped {
        let Some(of_run) = self.runs.get_mut(run) else { return Dropped::Ignore };
        let Some(held) = of_run.tasks.get_mut(&task) else { return Dropped::Ignore };
        if held.called {
            return Dropped::Ignore;
        }
        match (&held.result, held.asked_at) {
            (_, None) if held.phase != HeldPhase::Asked && held.shard.is_some() => {
                of_run.tasks.remove(&task);
                Dropped::Forgotten
            }
            (Some(said), _) => Dropped::Answer(said.clone()),
            (None, _) => {
                let result = Arc::new(TaskResult::NotCalled { reason: NotCalled::NotNeeded.to_string() });
                (held.phase, held.result) = (HeldPhase::Finished, Some(result.clone()));
                Dropped::Answer(result)
            }
        }
    }

    fn forget_unless(&mut self, run: &RunId, task: Task, kept: impl Fn(&TaskEntry) -> bool) -> bool {
        let Some(of_run) = self.runs.get_mut(run) else { return false };
        match of_run.tasks.get(&task) {
            Some(held) if !kept(held) => of_run.forget(task, run, &mut self.unspooled),
            _ => false,
        }
    }

    /// Handles the end of a task. Returns `None` if the result is no longer wanted.
    pub(crate) fn finished(&mut self, run: &RunId, task: Task, result: TaskResult) -> Option<Report> {
        let held = self.get(run, task)?;
        if held.phase == HeldPhase::Finished {
            return None;
        }
        let result = Arc::new(result);
        (held.phase, held.result) = (HeldPhase::Finished, Some(result.clone()));
        Some(Report::Result { task, result })
    }

    /// Handles an acknowledgement: the result of a task is durable.
    pub(crate) fn acknowledged(&mut self, run: &RunId, task: Task) {
        if let Some(of_run) = self.runs.get_mut(run)
            && of_run.tasks.get(&task).is_some_and(|held| held.phase == HeldPhase::Finished)
        {
            of_run.forget(task, run, &mut self.unspooled);
        }
    }

    /// Drains a run. Returns the tasks that the worker must return to the coordinator.
    pub(crate) fn drain(&mut self, run: &RunId) -> Vec<Task> {
        let of_run = self.runs.entry(run.clone()).or_default();
        of_run.draining = true;
        of_run.forget_all(run, &mut self.unspooled, |held| held.phase == HeldPhase::Preparing)
    }

    /// Ends the drain of a run: another term has begun, but the order to drain was for the earlier term.
    pub(crate) fn new_term(&mut self, run: &RunId) {
        if let Some(of_run) = self.runs.get_mut(run) {
            of_run.draining = false;
        }
    }

    /// Ends a run at this worker. Returns the forgotten tasks. A task that was called is kept until it is acknowledged.
    pub(crate) fn leave(&mut self, run: &RunId) -> Vec<Task> {
        let Some(of_run) = self.runs.get_mut(run) else { return Vec::new() };
        of_run.draining = false;
        let gone = of_run.forget_all(run, &mut self.unspooled, |held| !held.called);
        if of_run.tasks.is_empty() {
            self.runs.remove(run);
        }
        gone
    }

    /// Forgets the tasks of a shard that cannot be opened, and returns them.
    pub(crate) fn shard_refused(&mut self, run: &RunId, shard: u32) -> Vec<Task> {
        let Some(of_run) = self.runs.get_mut(run) else { return Vec::new() };
        of_run.forget_all(run, &mut self.unspooled, |held| held.shard == Some(shard) && !held.called)
    }

    /// Lets the worker leave. Returns the tasks that have not asked for an intent.
    pub(crate) fn drain_worker(&mut self) -> Vec<(RunId, Task)> {
        self.draining = true;
        let mut gone = Vec::new();
        for (run, of_run) in &mut self.runs {
            let returned = of_run.forget_all(run, &mut self.unspooled, |held| held.phase == HeldPhase::Preparing);
            gone.extend(returned.into_iter().map(|task| (run.clone(), task)));
        }
        gone
    }

    /// Whether there is no task that a coordinator must learn of.
    pub(crate) fn nothing_open(&self) -> bool {
        self.runs.values().all(|of_run| of_run.tasks.values().all(|held| held.phase == HeldPhase::Preparing))
    }

    /// Whether nothing is running, so that only results without an acknowledgement remain.
    pub(crate) fn only_results(&self) -> bool {
        let mut tasks = self.runs.values().flat_map(|of_run| of_run.tasks.values());
        tasks.all(|held| matches!(held.phase, HeldPhase::Preparing | HeldPhase::Finished))
    }

    /// The number of running calls, and of results without an acknowledgement.
    pub(crate) fn open(&self) -> UnfinishedWork {
        let mut open = UnfinishedWork::default();
        for held in self.runs.values().flat_map(|of_run| of_run.tasks.values()) {
            match held.phase {
                HeldPhase::Called => open.calls += 1,
                HeldPhase::Finished => open.results += 1,
                HeldPhase::Preparing | HeldPhase::Asked => {}
            }
        }
        open
    }

    /// Whether tasks of a shard are running.
    pub(crate) fn uses(&self, run: &RunId, shard: u32) -> bool {
        let tasks = self.runs.get(run).into_iter().flat_map(|of_run| of_run.tasks.values());
        tasks.into_iter().any(|held| held.shard == Some(shard) && held.phase != HeldPhase::Finished)
    }

    /// Whether the worker has a task.
    pub(crate) fn holds(&self, run: &RunId, task: Task) -> bool {
        self.runs.get(run).is_some_and(|of_run| of_run.tasks.contains_key(&task))
    }

    /// All tasks, for a greeting.
    pub(crate) fn all(&self) -> Vec<HeldTask> {
        let tasks = self.runs.iter().flat_map(|(run, of_run)| of_run.tasks.iter().map(move |found| (run, found)));
        let held = |(run, (task, held)): (&RunId, (&Task, &TaskEntry))| HeldTask {
            run: run.clone(),
            task: *task,
            phase: held.phase,
            maker: held.maker.clone(),
        };
        tasks.map(held).collect()
    }

    /// Whether a call was allowed for a task that has not ended.
    pub(crate) fn is_called(&self, run: &RunId, task: Task) -> bool {
        let held = self.runs.get(run).and_then(|of_run| of_run.tasks.get(&task));
        held.is_some_and(|held| held.phase == HeldPhase::Called)
    }

    /// Reports to repeat after a greeting: intents without an answer, and results without an acknowledgement. Results
    /// of earlier processes are only for a coordinator whose version supports spools.
    pub(crate) fn unanswered(&self, protocol: u32) -> Vec<(RunId, Report)> {
        let mut found = Vec::new();
        for (run, of_run) in &self.runs {
            for (task, held) in &of_run.tasks {
                if held.maker.is_some() && protocol < PROTOCOL_OF_SPOOLS {
                    continue;
                }
                let report = match (held.phase, &held.result) {
                    (HeldPhase::Asked, _) => Report::Intent { task: *task, planned: held.planned },
                    (HeldPhase::Finished, Some(result)) => Report::Result { task: *task, result: result.clone() },
                    _ => continue,
                };
                found.push((run.clone(), report));
            }
        }
        found
    }

    /// The result of a finished task.
    pub(crate) fn result(&self, run: &RunId, task: Task) -> Option<Report> {
        let held = self.runs.get(run)?.tasks.get(&task)?;
        held.result.clone().map(|result| Report::Result { task, result })
    }

    /// Takes over the results that an earlier process left in the spool.
    pub(crate) fn restore(&mut self, results: Vec<SpooledResult>) {
        for SpooledResult { run, task, maker, result } in results {
            let entry = TaskEntry {
                called: true,
                result: Some(result),
                maker: Some(maker),
                spool: SpoolState::Durable,
                ..TaskEntry::new(None, HeldPhase::Finished)
            };
            self.runs.entry(run).or_default().tasks.insert(task, entry);
        }
    }

    /// The changes that the spool must write now: unacknowledged results of tasks that asked for an intent, and
    /// forgotten tasks. If `all` is false, a result is included only if it already existed at the previous call.
    /// `maker` is the incarnation of this process.
    pub(crate) fn spool_work(&mut self, all: bool, maker: &str) -> SpoolWork {
        let mut keep = Vec::new();
        for (run, of_run) in &mut self.runs {
            for (task, held) in &mut of_run.tasks {
                // Without an intent, nothing is uncertain if the result is lost.
                let Some(result) = held.result.as_ref().filter(|_| held.asked_at.is_some()) else { continue };
                match held.spool {
                    SpoolState::Memory if !all => held.spool = SpoolState::Awaited,
                    SpoolState::Memory | SpoolState::Awaited => {
                        held.spool = SpoolState::Writing;
                        let (run, result, maker) = (run.clone(), result.clone(), maker.to_owned());
                        keep.push(SpooledResult { run, task: *task, maker, result });
                    }
                    SpoolState::Writing | SpoolState::Durable => {}
                }
            }
        }
        SpoolWork { keep, forget: std::mem::take(&mut self.unspooled) }
    }

    /// Records that results are in the spool, or could not be written.
    pub(crate) fn spooled(&mut self, results: &[SpooledResult], written: bool) {
        for SpooledResult { run, task, .. } in results {
            if let Some(held) = self.get(run, *task).filter(|held| held.spool == SpoolState::Writing) {
                held.spool = if written { SpoolState::Durable } else { SpoolState::Memory };
            }
        }
    }

    /// The number of results that would be lost if this process ended now.
    pub(crate) fn not_durable(&self) -> usize {
        let tasks = self.runs.values().flat_map(|of_run| of_run.tasks.values());
        tasks.filter(|held| held.result.is_some() && held.spool != SpoolState::Durable).count()
    }

    fn get(&mut self, run: &RunId, task: Task) -> Option<&mut TaskEntry> {
        self.runs.get_mut(run)?.tasks.get_mut(&task)
    }
}

impl TaskEntry {
    fn new(shard: Option<u32>, phase: HeldPhase) -> TaskEntry {
        TaskEntry {
            shard,
            phase,
            called: false,
            asked_at: None,
            planned: Digest::default(),
            result: None,
            maker: None,
            spool: SpoolState::Memory,
        }
    }
}

impl OfRun {
    fn forget_all(
        &mut self,
        run: &RunId,
        unspooled: &mut Vec<(RunId, Task)>,
        which: impl Fn(&TaskEntry) -> bool,
    ) -> Vec<Task> {
        let gone: Vec<Task> = self.tasks.iter().filter(|(_, held)| which(held)).map(|(task, _)| *task).collect();
        for task in &gone {
            self.forget(*task, run, unspooled);
        }
        gone
    }

    /// Forgets a task, including its result in the spool. Returns whether the worker had the task.
    fn forget(&mut self, task: Task, run: &RunId, unspooled: &mut Vec<(RunId, Task)>) -> bool {
        let gone = self.tasks.remove(&task);
        if gone.as_ref().is_some_and(|held| matches!(held.spool, SpoolState::Writing | SpoolState::Durable)) {
            unspooled.push((run.clone(), task));
        }
        gone.is_some()
    }
}

#[cfg(test)]
mod tests;
