//! The tasks of a worker: the phase of each, and what follows from orders and events. Plain functions over data; time
//! comes in as milliseconds of one clock.
//!
//! Invariants: a task is called at most once; it is called only when it was granted while it waited and its intent is
//! young; a result stays until it is acknowledged; a task that was called is not forgotten before that.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_graph_format::digest::Digest;
use weft_graph_format::run::RunId;
use weft_protocol::{HeldPhase, HeldTask, Report, Task, TaskResult};

/// All tasks of all runs.
#[derive(Debug, Default)]
pub(crate) struct HeldTasks {
    runs: BTreeMap<RunId, OfRun>,
    /// The worker takes no more work.
    draining: bool,
}

#[derive(Debug, Default)]
struct OfRun {
    draining: bool,
    tasks: BTreeMap<Task, TaskEntry>,
}

#[derive(Debug)]
struct TaskEntry {
    /// `None` for a task that was granted but not held.
    shard: Option<u32>,
    phase: HeldPhase,
    /// A call was allowed, whatever the phase is now.
    called: bool,
    /// When its intent was first asked for.
    asked_at: Option<u64>,
    planned: Digest,
    result: Option<Arc<TaskResult>>,
}

/// Unfinished work of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnfinishedWork {
    /// Running calls.
    pub calls: usize,
    /// Results without an acknowledgement.
    pub results: usize,
}

/// The answer to an order to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// Begin the task.
    Begin,
    /// The task is already held.
    Known,
    /// Return the task.
    Return,
}

/// The answer to an order to drop.
#[derive(Debug, PartialEq)]
pub(crate) enum Dropped {
    /// The task is forgotten. Nothing can have happened, and no coordinator waits for an answer.
    Forgotten,
    /// The intent was asked for: report that no call is made.
    Answer(Arc<TaskResult>),
    /// The task was called, or is not held.
    Ignore,
}

/// The answer to a grant.
#[derive(Debug, PartialEq)]
pub(crate) enum Grant {
    /// Make the call now.
    Call,
    /// Make no call: report that, and forget what was prepared.
    Answer(Arc<TaskResult>),
    /// Ignore it.
    Ignore,
}

/// Whether a call may still be made for an intent that was asked for then.
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

    /// A task is ready for its call. Returns `false` for a task that is no longer wanted.
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
            HeldPhase::Asked if held.shard.is_none() => "the worker does not hold the task",
            HeldPhase::Asked if draining => "the run is being stopped",
            HeldPhase::Asked if held.asked_at.is_some_and(|asked| !is_young(asked, now, intent_age)) => {
                "the intent was granted too late"
            }
            HeldPhase::Asked => {
                (held.phase, held.called) = (HeldPhase::Called, true);
                return Grant::Call;
            }
        };
        let result = Arc::new(TaskResult::NotCalled { reason: reason.to_owned() });
        (held.phase, held.result) = (HeldPhase::Finished, Some(result.clone()));
        Grant::Answer(result)
    }

    /// Handles a refusal: no call may be made. Returns whether a task was forgotten.
    pub(crate) fn refused(&mut self, run: &RunId, task: Task) -> bool {
        self.forget_unless(run, task, |held| held.phase != HeldPhase::Asked && held.phase != HeldPhase::Preparing)
    }

    /// Handles an order to drop a task. An intent that was asked for may already be durable; then only the answer that
    /// no call was made settles it, so the answer is kept like a result.
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
                let result = Arc::new(TaskResult::NotCalled { reason: "the task was not wanted any more".to_owned() });
                (held.phase, held.result) = (HeldPhase::Finished, Some(result.clone()));
                Dropped::Answer(result)
            }
        }
    }

    fn forget_unless(&mut self, run: &RunId, task: Task, kept: impl Fn(&TaskEntry) -> bool) -> bool {
        let Some(of_run) = self.runs.get_mut(run) else { return false };
        match of_run.tasks.get(&task) {
            Some(held) if !kept(held) => of_run.tasks.remove(&task).is_some(),
            _ => false,
        }
    }

    /// A task ended. Returns `None` for a result that is no longer wanted.
    pub(crate) fn finished(&mut self, run: &RunId, task: Task, result: TaskResult) -> Option<Report> {
        let held = self.get(run, task)?;
        if held.phase == HeldPhase::Finished {
            return None;
        }
        let result = Arc::new(result);
        (held.phase, held.result) = (HeldPhase::Finished, Some(result.clone()));
        Some(Report::Result { task, result })
    }

    /// The result of a task is durable.
    pub(crate) fn acknowledged(&mut self, run: &RunId, task: Task) {
        if let Some(of_run) = self.runs.get_mut(run)
            && of_run.tasks.get(&task).is_some_and(|held| held.phase == HeldPhase::Finished)
        {
            of_run.tasks.remove(&task);
        }
    }

    /// A run is being stopped. Returns the tasks to give back.
    pub(crate) fn drain(&mut self, run: &RunId) -> Vec<Task> {
        let of_run = self.runs.entry(run.clone()).or_default();
        of_run.draining = true;
        of_run.forget_all(|held| held.phase == HeldPhase::Preparing)
    }

    /// Another term of a run has begun. The order to stop was for the earlier one.
    pub(crate) fn new_term(&mut self, run: &RunId) {
        if let Some(of_run) = self.runs.get_mut(run) {
            of_run.draining = false;
        }
    }

    /// A run is over for this worker. Returns the forgotten tasks; a task that was called stays until it is
    /// acknowledged.
    pub(crate) fn leave(&mut self, run: &RunId) -> Vec<Task> {
        let Some(of_run) = self.runs.get_mut(run) else { return Vec::new() };
        of_run.draining = false;
        let gone = of_run.forget_all(|held| !held.called);
        if of_run.tasks.is_empty() {
            self.runs.remove(run);
        }
        gone
    }

    /// A shard cannot be opened. Returns its tasks, which are forgotten.
    pub(crate) fn shard_refused(&mut self, run: &RunId, shard: u32) -> Vec<Task> {
        let Some(of_run) = self.runs.get_mut(run) else { return Vec::new() };
        of_run.forget_all(|held| held.shard == Some(shard) && !held.called)
    }

    /// The worker is about to leave. Returns the tasks that have not asked for an intent.
    pub(crate) fn drain_worker(&mut self) -> Vec<(RunId, Task)> {
        self.draining = true;
        let mut gone = Vec::new();
        for (run, of_run) in &mut self.runs {
            gone.extend(
                of_run.forget_all(|held| held.phase == HeldPhase::Preparing).into_iter().map(|t| (run.clone(), t)),
            );
        }
        gone
    }

    /// Whether no task is left that a coordinator must know of.
    pub(crate) fn nothing_open(&self) -> bool {
        self.runs.values().all(|of_run| of_run.tasks.values().all(|held| held.phase == HeldPhase::Preparing))
    }

    /// Whether nothing is running: only results without an acknowledgement are left.
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

    /// Whether a task is held.
    pub(crate) fn holds(&self, run: &RunId, task: Task) -> bool {
        self.runs.get(run).is_some_and(|of_run| of_run.tasks.contains_key(&task))
    }

    /// All tasks, for a greeting.
    pub(crate) fn all(&self) -> Vec<HeldTask> {
        let tasks = self.runs.iter().flat_map(|(run, of_run)| of_run.tasks.iter().map(move |found| (run, found)));
        tasks.map(|(run, (task, held))| HeldTask { run: run.clone(), task: *task, phase: held.phase }).collect()
    }

    /// Whether a call was allowed for a task that has not ended.
    pub(crate) fn is_called(&self, run: &RunId, task: Task) -> bool {
        let held = self.runs.get(run).and_then(|of_run| of_run.tasks.get(&task));
        held.is_some_and(|held| held.phase == HeldPhase::Called)
    }

    /// Reports to repeat after a greeting: intents without an answer, results without an acknowledgement.
    pub(crate) fn unanswered(&self) -> Vec<(RunId, Report)> {
        let mut found = Vec::new();
        for (run, of_run) in &self.runs {
            for (task, held) in &of_run.tasks {
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

    fn get(&mut self, run: &RunId, task: Task) -> Option<&mut TaskEntry> {
        self.runs.get_mut(run)?.tasks.get_mut(&task)
    }
}

impl TaskEntry {
    fn new(shard: Option<u32>, phase: HeldPhase) -> TaskEntry {
        TaskEntry { shard, phase, called: false, asked_at: None, planned: Digest::default(), result: None }
    }
}

impl OfRun {
    fn forget_all(&mut self, which: impl Fn(&TaskEntry) -> bool) -> Vec<Task> {
        let gone: Vec<Task> = self.tasks.iter().filter(|(_, held)| which(held)).map(|(task, _)| *task).collect();
        for task in &gone {
            self.tasks.remove(task);
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const AGE: u64 = 100;

    fn run() -> RunId {
        RunId::parse("r").unwrap()
    }

    fn task(operation: u32) -> Task {
        Task::new(operation, 1)
    }

    fn done() -> TaskResult {
        TaskResult::Done(weft_protocol::TaskDone::default())
    }

    #[test]
    fn a_task_passes_through_its_phases() {
        let mut held = HeldTasks::default();
        assert_eq!(held.start(&run(), 0, task(1)), Start::Begin);
        assert_eq!(held.start(&run(), 0, task(1)), Start::Known);
        assert!(held.asked(&run(), task(1), Digest([7; 32]), 10));
        assert_eq!(held.all(), [HeldTask { run: run(), task: task(1), phase: HeldPhase::Asked }]);
        assert_eq!(held.unanswered(), [(run(), Report::Intent { task: task(1), planned: Digest([7; 32]) })]);
        assert_eq!(held.granted(&run(), task(1), 20, AGE), Grant::Call);
        assert_eq!(held.granted(&run(), task(1), 21, AGE), Grant::Ignore);
        assert_eq!(held.dropped(&run(), task(1)), Dropped::Ignore);
        assert!(!held.refused(&run(), task(1)));
        assert!(held.leave(&run()).is_empty());
        assert!(held.finished(&run(), task(1), done()).is_some());
        assert_eq!(held.unanswered().len(), 1);
        held.acknowledged(&run(), task(1));
        assert!(held.all().is_empty() && held.nothing_open());
    }

    #[test]
    fn late_and_unknown_grants_are_not_acted_on() {
        let mut held = HeldTasks::default();
        held.start(&run(), 0, task(1));
        held.asked(&run(), task(1), Digest::default(), 10);
        assert!(matches!(held.granted(&run(), task(1), 10 + AGE, AGE), Grant::Answer(_)));
        assert!(matches!(held.granted(&run(), task(2), 0, AGE), Grant::Answer(_)));
        assert_eq!(held.unanswered().len(), 2, "both answers are kept");
        assert!(held.finished(&run(), task(1), done()).is_none(), "the answer stands");
    }

    #[test]
    fn draining_returns_tasks_without_an_intent() {
        let mut held = HeldTasks::default();
        for operation in 1..=3 {
            held.start(&run(), 0, task(operation));
        }
        held.asked(&run(), task(2), Digest::default(), 0);
        held.asked(&run(), task(3), Digest::default(), 0);
        assert_eq!(held.granted(&run(), task(3), 0, AGE), Grant::Call);
        assert_eq!(held.drain(&run()), [task(1)]);
        assert!(matches!(held.granted(&run(), task(2), 0, AGE), Grant::Answer(_)));
        assert_eq!(held.start(&run(), 0, task(4)), Start::Return);
        assert!(!held.nothing_open());
    }

    #[test]
    fn a_dropped_task_is_answered_after_its_intent() {
        let mut held = HeldTasks::default();
        held.start(&run(), 0, task(1));
        assert_eq!(held.dropped(&run(), task(1)), Dropped::Forgotten);
        assert_eq!(held.dropped(&run(), task(1)), Dropped::Ignore);
        held.start(&run(), 0, task(2));
        held.asked(&run(), task(2), Digest::default(), 0);
        let Dropped::Answer(answer) = held.dropped(&run(), task(2)) else { panic!("no answer") };
        assert!(matches!(*answer, TaskResult::NotCalled { .. }));
        assert_eq!(held.granted(&run(), task(2), 1, AGE), Grant::Ignore, "it was answered");
        assert_eq!(held.unanswered().len(), 1, "the answer is kept");
        assert_eq!(held.dropped(&run(), task(2)), Dropped::Answer(answer), "and said again");
        held.acknowledged(&run(), task(2));
        assert!(held.all().is_empty());
    }

    #[derive(Clone, Debug)]
    enum Step {
        Start(u32),
        Ask(u32),
        Grant(u32),
        Refuse(u32),
        Finish(u32),
        Acknowledge(u32),
        Drop(u32),
        Drain,
        Leave,
        Wait(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let one = 0u32..4;
        prop::collection::vec(
            prop_oneof![
                one.clone().prop_map(Step::Start),
                one.clone().prop_map(Step::Ask),
                one.clone().prop_map(Step::Grant),
                one.clone().prop_map(Step::Refuse),
                one.clone().prop_map(Step::Finish),
                one.clone().prop_map(Step::Acknowledge),
                one.prop_map(Step::Drop),
                Just(Step::Drain),
                Just(Step::Leave),
                (0u64..80).prop_map(Step::Wait),
            ],
            0..60,
        )
    }

    proptest! {
        /// Under any order of events, a task is called only while its intent is young, at most once while it is held,
        /// and its result stays until it is acknowledged.
        #[test]
        fn a_task_is_called_at_most_once_and_its_result_is_kept(steps in steps()) {
            let (mut held, mut now) = (HeldTasks::default(), 0);
            let mut open: BTreeMap<u32, bool> = BTreeMap::new();
            let mut asked: BTreeMap<u32, u64> = BTreeMap::new();
            let mut granted: BTreeSet<u32> = BTreeSet::new();
            for step in steps {
                match step {
                    Step::Start(t) => {
                        if held.start(&run(), 0, task(t)) == Start::Begin {
                            prop_assert!(!open.contains_key(&t));
                            asked.remove(&t);
                        }
                    }
                    Step::Ask(t) => {
                        if held.asked(&run(), task(t), Digest::default(), now) {
                            asked.insert(t, now);
                        }
                    }
                    Step::Grant(t) => {
                        granted.insert(t);
                        if held.granted(&run(), task(t), now, AGE) == Grant::Call {
                            prop_assert!(open.insert(t, false).is_none());
                            prop_assert!(asked.get(&t).is_some_and(|at| now - at < AGE));
                        }
                    }
                    Step::Refuse(t) => drop(held.refused(&run(), task(t))),
                    Step::Finish(t) => {
                        if held.finished(&run(), task(t), done()).is_some() && let Some(end) = open.get_mut(&t) {
                            *end = true;
                        }
                    }
                    Step::Acknowledge(t) => {
                        held.acknowledged(&run(), task(t));
                        if open.get(&t) == Some(&true) {
                            open.remove(&t);
                        }
                    }
                    Step::Drop(t) => match held.dropped(&run(), task(t)) {
                        Dropped::Answer(_) => prop_assert!(asked.contains_key(&t) || granted.contains(&t)),
                        Dropped::Forgotten => prop_assert!(!asked.contains_key(&t)),
                        Dropped::Ignore => {}
                    },
                    Step::Drain => drop(held.drain(&run())),
                    Step::Leave => drop(held.leave(&run())),
                    Step::Wait(ms) => now += ms,
                }
                let phases: BTreeMap<u32, HeldPhase> = held.all().into_iter().map(|held| (held.task.operation, held.phase)).collect();
                for (t, ended) in &open {
                    let wanted = if *ended { HeldPhase::Finished } else { HeldPhase::Called };
                    prop_assert_eq!(phases.get(t), Some(&wanted));
                }
            }
        }
    }
}
