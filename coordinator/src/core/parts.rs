//! The parts of a coordinator's memory, each with what it alone decides.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use weft_state::{Attempt, CheckRecord, InstanceRecord, OpCounts, Revision, StoreStep, Subject, WorkerId};

use super::answers::Step;
use super::checks::CheckFailure;
use super::records::Records;
use super::roster::Workers;
use super::{Position, Shard, WorkerIndex};
use crate::event::{Decision, FinishReason, Progress};
use crate::status::Status;
use crate::worker::{Order, TaskResult};

/// What is to be sent, and what was sent and not answered.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    /// Steps for the store.
    pub(super) steps: Vec<StoreStep>,
    /// What was given to the store and not answered, in the order of the answers.
    pub(super) in_store: VecDeque<Step>,
    /// Orders for workers.
    pub(super) orders: BTreeMap<WorkerIndex, Vec<Order>>,
    /// What is to be shown.
    pub(super) progress: Vec<Progress>,
    /// Why the term ends.
    pub(super) end: Option<FinishReason>,
    /// What happened that must not happen.
    pub(super) defect: Option<String>,
    /// The end was said. Nothing follows.
    pub(super) finished: bool,
}

impl Outbox {
    /// Gives a step to the store; `about` says what its answer will be about.
    pub(super) fn store(&mut self, about: Step, step: StoreStep) {
        self.in_store.push_back(about);
        self.steps.push(step);
    }

    /// The steps to send now. A fenced term sends none, nor does one that a defect ended.
    pub(super) fn take_steps(&mut self) -> Option<Vec<StoreStep>> {
        let barred = matches!(self.end, Some(FinishReason::Fenced | FinishReason::Defect));
        let sends = !self.steps.is_empty() && !barred;
        sends.then(|| std::mem::take(&mut self.steps))
    }
}

/// The workers that are or were there.
#[derive(Debug, Default)]
pub(super) struct Roster {
    pub(super) workers: Workers,
    pub(super) names: BTreeMap<WorkerId, WorkerIndex>,
    /// Workers that can be given something.
    pub(super) dispatchable: BTreeSet<WorkerIndex>,
    /// The worker that was given something last.
    pub(super) cursor: WorkerIndex,
    /// A worker has been here in this term.
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

/// Shards, and which of them nobody holds.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    pub(super) shards: Vec<Shard>,
    /// Shards with work that nobody holds and that have not been offered yet.
    pub(super) wanting: BTreeSet<u32>,
    /// Shards with work that nobody connected may hold.
    pub(super) orphans: BTreeSet<u32>,
}

impl Backlog {
    /// Whether a shard with work has no worker.
    pub(super) fn waits(&self) -> bool {
        !(self.wanting.is_empty() && self.orphans.is_empty())
    }
}

/// What operations came to.
#[derive(Debug)]
pub(super) struct Results {
    /// The state's records.
    pub(super) records: Records,
    /// Results that stay in their shard.
    pub(super) locals: BTreeMap<Position, Arc<[u8]>>,
    /// Results that other shards read, by operation and export.
    pub(super) exports: BTreeMap<(Position, u32), Arc<[u8]>>,
    /// Results that came while a step of the same operation was in the store.
    pub(super) late: BTreeMap<Position, (WorkerIndex, Attempt, TaskResult)>,
}

impl Results {
    pub(super) fn new(records: Vec<InstanceRecord>, revisions: BTreeMap<Subject, Revision>) -> Results {
        let records = Records::new(records, revisions);
        Results { records, locals: BTreeMap::new(), exports: BTreeMap::new(), late: BTreeMap::new() }
    }
}

/// Operations whose outcome is not known.
#[derive(Debug, Default)]
pub(super) struct Doubts {
    /// What the user says of them.
    pub(super) decisions: BTreeMap<Position, Decision>,
    /// Why each is in doubt.
    pub(super) reasons: BTreeMap<Position, String>,
}

/// What came of checks.
#[derive(Debug)]
pub(super) struct Checks {
    pub(super) failures: BTreeMap<Position, CheckFailure>,
    /// What the state has of them.
    pub(super) stored: Option<Vec<CheckRecord>>,
    /// They were given to the store.
    pub(super) written: bool,
}

impl Checks {
    pub(super) fn new(stored: Option<Vec<CheckRecord>>) -> Checks {
        Checks { failures: BTreeMap::new(), stored, written: false }
    }
}

/// How many operations stand where.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) counts: OpCounts,
    /// Operations that something may still happen to without the user.
    pub(super) open: u32,
    /// Operations in doubt for which no evidence was found.
    pub(super) unsettled: u32,
    /// Operations that workers have.
    pub(super) in_flight: u32,
    /// Operations for which a worker seeks evidence.
    pub(super) settling: u32,
}

impl Tally {
    /// All operations wait.
    pub(super) fn new(operations: u32) -> Tally {
        let counts = OpCounts { pending: operations, ..OpCounts::default() };
        Tally { counts, open: operations, unsettled: 0, in_flight: 0, settling: 0 }
    }

    /// One operation moved on.
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

    /// Whether no worker has anything.
    pub(super) fn is_quiet(&self) -> bool {
        self.in_flight == 0 && self.settling == 0
    }
}

/// How the term goes on, or to its end.
#[derive(Debug, Default)]
pub(super) struct Course {
    /// Nothing new begins.
    pub(super) draining: bool,
    /// Providers were asked to stop, at this time.
    pub(super) stopping: Option<u64>,
    /// What is open becomes a doubt, and the term ends: since this time.
    pub(super) leaving: Option<u64>,
    /// The lease is not renewed for the moment.
    pub(super) paused: bool,
}

/// Times in milliseconds, never going back.
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
