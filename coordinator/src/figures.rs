//! The metrics of a coordinator as plain data. The command line renders them.
//!
//! Metrics contain names of budgets, labels, workers and statuses, but never values of plans or states. Each list is
//! bounded, so that no plan makes a coordinator store an unlimited number of names.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;
use weft_state::{OpCounts, RunId, RunStatus};

use crate::fleet::WorkerListing;

/// The upper bounds of the buckets of a histogram, in milliseconds. The last bucket has no bound.
pub const BOUNDS_MS: [u64; 14] = [1, 2, 5, 10, 20, 25, 50, 100, 250, 500, 1_000, 5_000, 30_000, 300_000];

/// The maximum number of names in one list. Further names are counted under [`OTHERS`].
pub const MOST_NAMES: usize = 200;

/// The name under which all names beyond [`MOST_NAMES`] are counted.
pub const OTHERS: &str = "others";

/// A histogram of times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// The number of measured times in each bucket: up to each bound, and beyond the last bound.
    pub parts: [u64; BOUNDS_MS.len() + 1],
    /// The sum of the times in microseconds.
    pub sum_us: u64,
}

impl Histogram {
    /// Counts a time.
    pub fn add(&mut self, time: Duration) {
        let us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let part = BOUNDS_MS.iter().position(|bound| us <= bound * 1_000).unwrap_or(BOUNDS_MS.len());
        self.parts[part] += 1;
        self.sum_us = self.sum_us.saturating_add(us);
    }

    /// Adds the times of another histogram.
    pub fn append(&mut self, other: &Histogram) {
        for (part, more) in self.parts.iter_mut().zip(other.parts) {
            *part += more;
        }
        self.sum_us = self.sum_us.saturating_add(other.sum_us);
    }

    /// The number of times.
    pub fn count(&self) -> u64 {
        self.parts.iter().sum()
    }
}

/// Numbers by name, with a limit on names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named(pub BTreeMap<String, u64>);

impl Named {
    /// Adds to the number of a name.
    pub fn add(&mut self, name: &str, more: u64) {
        let name = if self.0.contains_key(name) || self.0.len() < MOST_NAMES { name } else { OTHERS };
        match self.0.get_mut(name) {
            Some(number) => *number = number.saturating_add(more),
            None => drop(self.0.insert(name.to_owned(), more)),
        }
    }

    /// Adds the numbers of another list.
    pub fn append(&mut self, other: &Named) {
        other.0.iter().for_each(|(name, more)| self.add(name, *more));
    }
}

/// Numbers that only grow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// The times between the moment when an operation could start and its dispatch.
    pub dispatch: Histogram,
    /// The times from sending a batch of steps to the durable answer of the store.
    pub store: Histogram,
    /// The number of renewals of leases.
    pub renewals: u64,
    /// The number of renewals to which the store did not respond.
    pub failed_renewals: u64,
    /// Refused connections and requests, by reason.
    pub refused: Named,
    /// Used tokens, by budget.
    pub tokens: Named,
    /// The number of attempts that a provider refused temporarily.
    pub refused_calls: u64,
}

impl Counted {
    /// Adds the counts of another value.
    pub fn append(&mut self, other: &Counted) {
        self.dispatch.append(&other.dispatch);
        self.store.append(&other.store);
        self.renewals += other.renewals;
        self.failed_renewals += other.failed_renewals;
        self.refused.append(&other.refused);
        self.tokens.append(&other.tokens);
        self.refused_calls += other.refused_calls;
    }
}

/// Labels of workers.
pub type Labels = BTreeMap<String, String>;

/// The figures of one run at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFigures {
    /// The number of operations by status.
    pub counts: OpCounts,
    /// The number of operations that can start.
    pub ready: u64,
    /// The number of operations at workers, without an intent.
    pub leased: u64,
    /// The number of operations that can start and do not wait for tokens, by the labels that their worker needs.
    pub ready_by_labels: BTreeMap<Labels, u64>,
    /// Reserved tokens, by budget.
    pub reserved: Named,
    /// The number of operations that wait for tokens, by budget.
    pub waiting: Named,
    /// The number of operations that wait for their next attempt.
    pub refused: u64,
}

impl RunFigures {
    /// Adds operations that can start at workers with these labels. The number of label sets is limited to
    /// [`MOST_NAMES`]. Operations with further label sets are counted under [`OTHERS`].
    pub(crate) fn add_ready(&mut self, labels: Labels, ready: u64) {
        let sets = &mut self.ready_by_labels;
        let is_known = sets.contains_key(&labels) || sets.len() < MOST_NAMES;
        let labels = if is_known { labels } else { [(OTHERS.to_owned(), String::new())].into() };
        *sets.entry(labels).or_default() += ready;
    }

    fn append(&mut self, other: &RunFigures) {
        let counts = &mut self.counts;
        counts.pending += other.counts.pending;
        counts.running += other.counts.running;
        counts.done += other.counts.done;
        counts.failed += other.counts.failed;
        counts.skipped += other.counts.skipped;
        counts.in_doubt += other.counts.in_doubt;
        self.ready += other.ready;
        self.leased += other.leased;
        other.ready_by_labels.iter().for_each(|(labels, ready)| self.add_ready(labels.clone(), *ready));
        self.reserved.append(&other.reserved);
        self.waiting.append(&other.waiting);
        self.refused += other.refused;
    }
}

/// The figures of a coordinator at one time.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// The number of runs of the store by status.
    pub runs: BTreeMap<RunStatus, u64>,
    /// The sum of the figures of the runs that this coordinator carries out.
    pub active: RunFigures,
    /// The number of runs that this coordinator carries out.
    pub active_runs: u64,
    /// Numbers that only grow.
    pub counted: Counted,
    /// The connected workers.
    pub workers: Vec<WorkerListing>,
}

#[derive(Debug, Default)]
struct Metered {
    counted: Counted,
    active: BTreeMap<RunId, RunFigures>,
    runs: BTreeMap<RunStatus, u64>,
}

/// The meters that all parts of a coordinator share.
#[derive(Debug, Default)]
pub struct Meters(Mutex<Metered>);

impl Meters {
    /// Counts a refused connection or request. `reason` is one of a small set of words.
    pub(crate) fn refused(&self, reason: &'static str) {
        self.0.lock().counted.refused.add(reason, 1);
    }

    /// Adds the counts of a run.
    pub(crate) fn count(&self, counted: &Counted) {
        self.0.lock().counted.append(counted);
    }

    /// Updates the figures of a run.
    pub(crate) fn note_run(&self, run: &RunId, figures: RunFigures) {
        self.0.lock().active.insert(run.clone(), figures);
    }

    /// Removes the figures of a run that has ended at this coordinator.
    pub(crate) fn forget_run(&self, run: &RunId) {
        self.0.lock().active.remove(run);
    }

    /// Updates the statuses of all runs of the store.
    pub(crate) fn note_statuses(&self, statuses: impl Iterator<Item = RunStatus>) {
        let mut runs = BTreeMap::new();
        statuses.for_each(|status| *runs.entry(status).or_default() += 1);
        self.0.lock().runs = runs;
    }

    /// The current figures, with the given workers.
    pub(crate) fn figures(&self, workers: Vec<WorkerListing>) -> Figures {
        let metered = self.0.lock();
        let mut active = RunFigures::default();
        metered.active.values().for_each(|run| active.append(run));
        Figures {
            runs: metered.runs.clone(),
            active,
            active_runs: metered.active.len() as u64,
            counted: metered.counted.clone(),
            workers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_fall_into_the_parts_of_a_histogram() {
        let mut histogram = Histogram::default();
        for us in [0, 1_000, 1_001, 7_000_000, 10_000_000_000] {
            histogram.add(Duration::from_micros(us));
        }
        assert_eq!((histogram.parts[0], histogram.parts[1], histogram.parts[12], histogram.parts[14]), (2, 1, 1, 1));
        let twice = {
            let mut twice = histogram.clone();
            twice.append(&histogram);
            twice
        };
        assert_eq!((histogram.count(), twice.count()), (5, 10));
    }

    #[test]
    fn names_are_bounded() {
        let mut named = Named::default();
        (0..MOST_NAMES + 50).for_each(|number| named.add(&format!("n{number}"), 1));
        named.add("n0", 1);
        assert_eq!((named.0.len(), named.0["n0"], named.0[OTHERS]), (MOST_NAMES + 1, 2, 50));
    }

    #[test]
    fn the_figures_are_the_sum_of_the_active_runs() {
        let meters = Meters::default();
        let run = |name: &str| RunId::parse(name).unwrap();
        let figures = |ready| RunFigures { ready, ..RunFigures::default() };
        meters.note_run(&run("a"), figures(2));
        meters.note_run(&run("b"), figures(3));
        meters.refused("tls");
        meters.note_statuses([RunStatus::Done, RunStatus::Running, RunStatus::Done].into_iter());
        let shown = meters.figures(Vec::new());
        assert_eq!((shown.active.ready, shown.active_runs, shown.runs[&RunStatus::Done]), (5, 2, 2));
        assert_eq!(shown.counted.refused.0["tls"], 1);
        meters.forget_run(&run("b"));
        assert_eq!(meters.figures(Vec::new()).active.ready, 2);
    }
}
