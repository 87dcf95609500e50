//! The parts of a coordinator's memory, each with the rules that concern it alone.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use weft_state::{Attempt, CheckRecord, InstanceRecord, OpCounts, Revision, StoreStep, Subject, WorkerId};

use super::answers::StepInStore;
use super::checks::CheckFailure;
use super::records::Records;
use super::roster::Workers;
use super::{ExportIndex, Position, Shard, ShardIndex, Table, WorkerIndex};
use crate::event::{Decision, FinishReason};
use crate::progress::Progress;
use crate::status::Status;
use weft_protocol::{Order, TaskResult};

/// Output of a step, and steps that the store has not answered.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    /// Steps to send to the store.
    pub(super) steps: Vec<StoreStep>,
    /// Steps that the store has not answered, in the order of the answers.
    pub(super) in_store: VecDeque<StepInStore>,
    /// Orders for workers.
    pub(super) orders: BTreeMap<WorkerIndex, Vec<Order>>,
    /// Events for watchers.
    pub(super) progress: Vec<Progress>,
    /// Why the term ends, once it does.
    pub(super) end: Option<FinishReason>,
    /// The illegal transition that ended the term.
    pub(super) defect: Option<String>,
    /// The end was announced. Nothing follows.
    pub(super) finished: bool,
}

impl Outbox {
    /// Queues a step. `about` says what its answer will be about.
    pub(super) fn store(&mut self, about: StepInStore, step: StoreStep) {
        self.in_store.push_back(about);
        self.steps.push(step);
    }

    /// The steps to send now. A term that was fenced, or that ended with a defect, sends none.
    pub(super) fn take_steps(&mut self) -> Option<Vec<StoreStep>> {
        let barred = matches!(self.end, Some(FinishReason::Fenced | FinishReason::Defect));
        let sends = !self.steps.is_empty() && !barred;
        sends.then(|| std::mem::take(&mut self.steps))
    }
}

/// All workers that this term knows.
#[derive(Debug, Default)]
pub(super) struct Roster {
    pub(super) workers: Workers,
    pub(super) names: BTreeMap<WorkerId, WorkerIndex>,
    /// Workers that can receive something.
    pub(super) dispatchable: BTreeSet<WorkerIndex>,
    /// The worker that received something last.
    pub(super) cursor: WorkerIndex,
    /// Whether a worker connected in this term.
    pub(super) visited: bool,
}

impl Roster {
    /// Workers of earlier terms that hold something and are not connected.
    pub(super) fn absent(&self) -> Vec<WorkerId> {
        self.workers
            .iter()
            .filter(|worker| !worker.is_connected() && !worker.is_dead())
            .map(|worker| worker.id.clone())
            .collect()
    }
}

/// Shards, and those of them that no worker holds.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    pub(super) shards: Table<ShardIndex, Shard>,
    /// Shards with work that no worker holds and that were not offered yet.
    pub(super) wanting: BTreeSet<ShardIndex>,
    /// Shards with work that no connected worker may hold.
    pub(super) orphans: BTreeSet<ShardIndex>,
}

impl Backlog {
    /// Whether a shard with work has no worker.
    pub(super) fn waits(&self) -> bool {
        !(self.wanting.is_empty() && self.orphans.is_empty())
    }
}

/// Results of operations.
#[derive(Debug)]
pub(super) struct OperationResults {
    /// The state's records.
    pub(super) records: Records,
    /// Results for readers in the same shard.
    pub(super) locals: BTreeMap<Position, Arc<[u8]>>,
    /// Results for other shards, by operation and export.
    pub(super) exports: BTreeMap<(Position, ExportIndex), Arc<[u8]>>,
    /// Operations that are done in the store and computed again in this term, since their results are not journalled.
    pub(super) live: BTreeSet<Position>,
    /// Results that arrived while a step of the same operation was in the store.
    pub(super) late: BTreeMap<Position, (WorkerIndex, Attempt, TaskResult)>,
}

impl OperationResults {
    pub(super) fn new(records: Vec<InstanceRecord>, revisions: BTreeMap<Subject, Revision>) -> OperationResults {
        let records = Records::new(records, revisions);
        OperationResults {
            records,
            locals: BTreeMap::new(),
            exports: BTreeMap::new(),
            live: BTreeSet::new(),
            late: BTreeMap::new(),
        }
    }

    /// Whether an operation is done in the store and only computed again in this term.
    pub(super) fn is_live(&self, position: Position) -> bool {
        self.live.contains(&position)
    }
}

/// Operations whose outcome is unknown.
#[derive(Debug, Default)]
pub(super) struct Doubts {
    /// The user's decisions.
    pub(super) decisions: BTreeMap<Position, Decision>,
    /// The reason of each doubt.
    pub(super) reasons: BTreeMap<Position, String>,
}

/// Results of checks.
#[derive(Debug)]
pub(super) struct Checks {
    pub(super) failures: BTreeMap<Position, CheckFailure>,
    /// The results in the state.
    pub(super) stored: Option<Vec<CheckRecord>>,
    /// Whether they were sent to the store.
    pub(super) written: bool,
}

impl Checks {
    pub(super) fn new(stored: Option<Vec<CheckRecord>>) -> Checks {
        Checks { failures: BTreeMap::new(), stored, written: false }
    }
}

/// Numbers of operations.
#[derive(Debug)]
pub(super) struct RunCounters {
    pub(super) counts: OpCounts,
    /// Operations that can still change without the user.
    pub(super) open: u32,
    /// Operations in doubt without evidence.
    pub(super) unsettled: u32,
    /// Operations at workers.
    pub(super) in_flight: u32,
    /// Operations for which a worker looks for evidence.
    pub(super) settling: u32,
}

impl RunCounters {
    /// All operations are pending.
    pub(super) fn new(operations: u32) -> RunCounters {
        let counts = OpCounts { pending: operations, ..OpCounts::default() };
        RunCounters { counts, open: operations, unsettled: 0, in_flight: 0, settling: 0 }
    }

    /// Counts a change of status.
    pub(super) fn moved(&mut self, before: Status, after: Status) {
        *self.of(before) -= 1;
        *self.of(after) += 1;
    }

    fn of(&mut self, status: Status) -> &mut u32 {
        match status {
            Status::Pending | Status::Leased => &mut self.counts.pending,
            Status::Intended => &mut self.counts.running,
            Status::Done => &mut self.counts.done,
            Status::Failed => &mut self.counts.failed,
            Status::Skipped => &mut self.counts.skipped,
            Status::InDoubt => &mut self.counts.in_doubt,
        }
    }

    /// Whether no worker has anything to do.
    pub(super) fn is_quiet(&self) -> bool {
        self.in_flight == 0 && self.settling == 0
    }
}

/// The way to the end of the term.
#[derive(Debug, Default)]
pub(super) struct Course {
    /// Nothing new begins.
    pub(super) draining: bool,
    /// When providers were asked to stop.
    pub(super) stopping: Option<u64>,
    /// When the run was left: open calls become doubts, and the term ends.
    pub(super) leaving: Option<u64>,
    /// The lease was not renewed in time, and may still be renewed.
    pub(super) paused: bool,
}

/// Time in milliseconds. It never decreases.
#[derive(Debug)]
pub(super) struct Clock {
    pub(super) now: u64,
    /// When the term began.
    pub(super) begun: u64,
}

impl Clock {
    /// Whether `wait` has passed since a time.
    pub(super) fn has_passed(&self, since: u64, wait: std::time::Duration) -> bool {
        u128::from(self.now.saturating_sub(since)) >= wait.as_millis()
    }
}
