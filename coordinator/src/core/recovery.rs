//! How a term begins from what the store knows, and how results reach those that read them.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use weft_state::{FailureKind, OpRecord, RunView};

use super::{Coordinator, Phase, Position, WorkerIndex};
use crate::result::JournalledResult;
use crate::status::Status;
use crate::worker::Order;

/// Whether an operation that failed stays so in this run: the user gave it up, or its object is there.
fn stays_failed(record: &OpRecord) -> bool {
    let kind = record.failure.as_ref().map(|failure| failure.kind);
    matches!(kind, Some(FailureKind::GivenUp | FailureKind::ObjectKept))
}

impl Coordinator {
    /// Takes over what the store knows.
    pub(super) fn recover(&mut self, view: RunView) {
        let mut results: BTreeMap<Position, JournalledResult> = BTreeMap::new();
        let mut stay_failed: Vec<Position> = Vec::new();
        for (index, record) in view.ops {
            let Some(position) = self.outline.position(index.0).map(|position| position as u32) else { continue };
            let holder = (!record.worker.0.is_empty()).then(|| self.absent_worker(&record.worker));
            let op = &mut self.ops[position as usize];
            op.attempt = record.attempt.0;
            op.holder = holder;
            op.keeps = record.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::ObjectKept);
            let status = Status::from(record.status);
            self.enter(position, status);
            match status {
                Status::Done => {
                    if let Some(result) = record.result.as_ref().and_then(JournalledResult::decode) {
                        results.insert(position, result);
                    }
                }
                Status::Intended => {
                    self.ops[position as usize].phase = Phase::AtWorker;
                    match holder {
                        Some(holder) => {
                            self.roster.workers[holder].tasks.insert(position);
                            self.tally.in_flight += 1;
                        }
                        None => self.doubt(position, "the store does not say who made the attempt".to_owned()),
                    }
                }
                Status::InDoubt => {
                    let op = &mut self.ops[position as usize];
                    op.phase = Phase::SettleQueued;
                    // Its worker may have been told to forget it.
                    op.reported = true;
                }
                Status::Failed | Status::Skipped if stays_failed(&record) => stay_failed.push(position),
                Status::Failed | Status::Skipped if !self.options.only_resolve => {
                    self.ops[position as usize].tried = status == Status::Failed;
                    self.reopen(position);
                }
                _ => {}
            }
        }
        let live = |position: u32| !self.outline.operations[position as usize].journalled;
        let done = |position: u32| self.ops[position as usize].status == Status::Done;
        for position in self.nodes.needed_again(done, live) {
            let op = &mut self.ops[position as usize];
            op.live = true;
            self.enter(position, Status::Pending);
        }
        for position in 0..self.ops.len() as u32 {
            match (self.ops[position as usize].status, self.ops[position as usize].phase) {
                (Status::Done, _) => {
                    self.nodes.done(position);
                    self.keep_result(position, results.remove(&position).unwrap_or_default(), None);
                }
                (Status::InDoubt, _) => self.await_holder(position),
                _ => {}
            }
        }
        if !self.options.only_resolve {
            stay_failed.into_iter().for_each(|position| self.spoil(position));
        }
        for position in 0..self.ops.len() as u32 {
            self.ready_if_free(position);
        }
    }

    /// Puts an operation that nothing holds up among the ready ones.
    pub(super) fn ready_if_free(&mut self, position: Position) {
        let op = &self.ops[position as usize];
        if op.status == Status::Pending && self.nodes.is_free(position) && !self.options.only_resolve {
            let shard = self.outline.operations[position as usize].shard;
            let entry = (Reverse(self.nodes.height(position)), position);
            self.backlog.shards[shard as usize].ready.insert(entry);
            self.shard_has_work(shard);
        }
    }

    /// The results of a done operation, for those that read them; `by` is the worker that has them already.
    pub(super) fn keep_result(&mut self, position: Position, result: JournalledResult, by: Option<WorkerIndex>) {
        let outline = Arc::clone(&self.outline);
        let operation = &outline.operations[position as usize];
        if !result.local.is_empty() {
            let shard = operation.shard;
            if let Some(worker) = self.backlog.shards[shard as usize].worker.filter(|worker| Some(*worker) != by) {
                let value = Arc::clone(&result.local);
                self.order(worker, Order::Restored { shard, operation: operation.index, value });
            }
            self.results.locals.insert(position, result.local);
            self.backlog.shards[shard as usize].locals.push(position);
        }
        for (index, (export, value)) in operation.exports.iter().zip(result.exports).enumerate() {
            for reader in &export.readers {
                let Some(shard) = self.backlog.shards.get_mut(*reader as usize) else { continue };
                shard.foreign.push((position, index as u32));
                let order = Order::Foreign {
                    shard: *reader,
                    operation: operation.index,
                    export: index as u32,
                    value: Arc::clone(&value),
                };
                if let Some(worker) = shard.worker {
                    self.order(worker, order);
                }
            }
            self.results.exports.insert((position, index as u32), value);
        }
    }
}
