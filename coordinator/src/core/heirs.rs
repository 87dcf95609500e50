//! Workers that return as another process of the same name, with the results that they found in their spools. Such a
//! worker is the *heir* of the process that made the results. Its results count as reports of that process, so one rule
//! still holds: the result of an attempt counts only if it is from the process that made the attempt. If a dead worker
//! has a spool, the run waits for an heir, as it waits for a disconnected worker.

use std::collections::BTreeMap;

use weft_protocol::Task;

use super::WorkerIndex;

/// Heirs, and workers whose heirs may come.
#[derive(Debug, Default)]
pub(super) struct Heirs {
    /// For each result that a connected worker has: the process that made the result.
    makers: BTreeMap<(WorkerIndex, Task), WorkerIndex>,
    /// For each process and task whose result is not acknowledged yet: the connected worker that has the result.
    owed: BTreeMap<(WorkerIndex, Task), WorkerIndex>,
    /// Workers whose heirs may come, and the time since which the run waits for them.
    awaited: BTreeMap<WorkerIndex, u64>,
}

impl Heirs {
    /// Records that a worker connected with results of earlier processes. `results` has the task of each result, and
    /// the process that made the result.
    pub(super) fn connected(&mut self, heir: WorkerIndex, results: Vec<(Task, WorkerIndex)>) {
        self.disconnected(heir);
        for (task, maker) in results {
            self.makers.insert((heir, task), maker);
            self.owed.insert((maker, task), heir);
        }
    }

    /// Records that a worker disconnected. Returns the processes whose unacknowledged results the worker had.
    pub(super) fn disconnected(&mut self, heir: WorkerIndex) -> Vec<WorkerIndex> {
        self.makers.retain(|(of, _), _| *of != heir);
        let mut makers: Vec<WorkerIndex> =
            self.owed.iter().filter(|(_, has)| **has == heir).map(|((maker, _), _)| *maker).collect();
        makers.dedup();
        self.owed.retain(|_, has| *has != heir);
        makers
    }

    /// The process that made a result. This is the reporter, or the earlier process whose result the reporter hands
    /// over.
    pub(super) fn maker(&self, reporter: WorkerIndex, task: Task) -> WorkerIndex {
        self.makers.get(&(reporter, task)).copied().unwrap_or(reporter)
    }

    /// Whether a connected worker has the result of a task that `maker` made.
    pub(super) fn have(&self, maker: WorkerIndex, task: Task) -> bool {
        self.owed.contains_key(&(maker, task))
    }

    /// Records that the result of a task is acknowledged. Returns the worker that has the result.
    pub(super) fn acknowledged(&mut self, maker: WorkerIndex, task: Task) -> Option<WorkerIndex> {
        self.owed.remove(&(maker, task))
    }

    /// Records that the heir of a worker may still come.
    pub(super) fn wait_for(&mut self, maker: WorkerIndex, now: u64) {
        self.awaited.entry(maker).or_insert(now);
    }

    /// Whether the run waits for the heir of a worker.
    pub(super) fn is_awaited(&self, maker: WorkerIndex) -> bool {
        self.awaited.contains_key(&maker)
    }

    /// The workers for whose heirs the run waits.
    pub(super) fn awaited(&self) -> Vec<WorkerIndex> {
        self.awaited.keys().copied().collect()
    }

    /// Stops waiting for the heir of a worker, because the heir has connected.
    pub(super) fn came(&mut self, maker: WorkerIndex) {
        self.awaited.remove(&maker);
    }

    /// The workers whose heirs did not connect within `grace` milliseconds. The run stops waiting for them.
    pub(super) fn overdue(&mut self, now: u64, grace: u64) -> Vec<WorkerIndex> {
        let overdue = |since: &u64| now.saturating_sub(*since) >= grace;
        let found: Vec<WorkerIndex> =
            self.awaited.iter().filter(|(_, since)| overdue(since)).map(|(maker, _)| *maker).collect();
        self.awaited.retain(|_, since| !overdue(since));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAKER: WorkerIndex = WorkerIndex(0);
    const HEIR: WorkerIndex = WorkerIndex(1);

    #[test]
    fn a_result_belongs_to_the_process_that_made_it_until_it_is_acknowledged() {
        let (mut heirs, task) = (Heirs::default(), Task::new(3, 1));
        heirs.connected(HEIR, vec![(task, MAKER)]);
        assert_eq!((heirs.maker(HEIR, task), heirs.maker(HEIR, Task::new(3, 2))), (MAKER, HEIR));
        assert!(heirs.have(MAKER, task));
        assert_eq!((heirs.acknowledged(MAKER, task), heirs.acknowledged(MAKER, task)), (Some(HEIR), None));
        assert!(!heirs.have(MAKER, task));
        assert_eq!(heirs.maker(HEIR, task), MAKER, "it may be reported twice");
        assert!(heirs.disconnected(HEIR).is_empty());
        heirs.connected(HEIR, vec![(task, MAKER), (Task::new(4, 1), MAKER)]);
        assert_eq!(heirs.disconnected(HEIR), [MAKER]);
        assert_eq!(heirs.maker(HEIR, task), HEIR);
    }

    #[test]
    fn an_heir_is_awaited_for_a_while() {
        let mut heirs = Heirs::default();
        heirs.wait_for(MAKER, 10);
        heirs.wait_for(MAKER, 15);
        assert!(heirs.overdue(19, 10).is_empty() && heirs.is_awaited(MAKER));
        assert_eq!((heirs.overdue(20, 10), heirs.is_awaited(MAKER)), (vec![MAKER], false));
    }
}
