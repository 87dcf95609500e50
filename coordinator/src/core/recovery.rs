//! The beginning of a term from the store, and the delivery of results to their readers.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use weft_state::{FailureKind, OpRecord, RunView};

use super::{Coordinator, ExportIndex, Position, State, WorkerIndex};
use crate::result::JournalledResult;
use crate::status::Status;
use crate::table::TableIndex;
use weft_protocol::Order;

/// Whether a failed operation stays failed in this run: the user gave it up, or its object exists.
fn stays_failed(record: &OpRecord) -> bool {
    let kind = record.failure.as_ref().map(|failure| failure.kind);
    matches!(kind, Some(FailureKind::GivenUp | FailureKind::ObjectKept))
}

impl Coordinator {
    /// Takes over the state of the operations from the store.
    pub(super) fn recover(&mut self, view: RunView) {
        let mut results: BTreeMap<Position, JournalledResult> = BTreeMap::new();
        let mut stay_failed: Vec<Position> = Vec::new();
        for (index, record) in view.ops {
            let Some(position) = self.outline.position(index.0) else { continue };
            let holder = (!record.worker.0.is_empty()).then(|| self.absent_worker(&record.worker));
            let last = &mut self.ops[position].last;
            last.number = record.attempt.0;
            last.holder = holder;
            let status = Status::from(record.status);
            let keeps = record.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::ObjectKept);
            let state = match status {
                Status::Failed => State::Failed { keeps },
                other => State::entering(other),
            };
            self.enter(position, state);
            match status {
                Status::Done => {
                    if let Some(result) = record.result.as_ref().and_then(JournalledResult::decode) {
                        results.insert(position, result);
                    }
                }
                Status::Intended => match holder {
                    Some(holder) => {
                        self.roster.workers[holder].tasks.insert(position);
                        self.tally.in_flight += 1;
                    }
                    None => self.doubt(position, "the store does not say who made the attempt".to_owned()),
                },
                // Its worker may have been told to forget it.
                Status::InDoubt => self.ops[position].last.reported = true,
                Status::Failed | Status::Skipped if stays_failed(&record) => stay_failed.push(position),
                Status::Failed | Status::Skipped if !self.options.only_resolve => {
                    self.ops[position].tried = status == Status::Failed;
                    self.reopen(position);
                }
                _ => {}
            }
        }
        let live = |position: Position| !self.outline.at(position).journalled;
        let done = |position: Position| self.ops[position].state == State::Done;
        for position in self.nodes.needed_again(done, live) {
            self.results.live.insert(position);
            self.enter(position, State::Pending);
        }
        for position in self.ops.positions() {
            match self.ops[position].state {
                State::Done => {
                    self.nodes.done(position);
                    self.keep_result(position, results.remove(&position).unwrap_or_default(), None);
                }
                State::InDoubt(_) => self.await_holder(position),
                _ => {}
            }
        }
        if !self.options.only_resolve {
            stay_failed.into_iter().for_each(|position| self.spoil(position));
        }
        for position in self.ops.positions() {
            self.ready_if_free(position);
        }
    }

    /// Queues an operation if it is free to start.
    pub(super) fn ready_if_free(&mut self, position: Position) {
        let op = &self.ops[position];
        if op.state == State::Pending && self.nodes.is_free(position) && !self.options.only_resolve {
            let shard = self.outline.at(position).shard;
            let entry = (Reverse(self.nodes.height(position)), position);
            self.backlog.shards[shard].ready.insert(entry);
            self.shard_has_work(shard);
        }
    }

    /// Delivers the results of a done operation to their readers. The worker `by` already has them.
    pub(super) fn keep_result(&mut self, position: Position, result: JournalledResult, by: Option<WorkerIndex>) {
        let outline = Arc::clone(&self.outline);
        let operation = outline.at(position);
        if !result.local.is_empty() {
            let shard = operation.shard;
            if let Some(worker) = self.backlog.shards[shard].worker.filter(|worker| Some(*worker) != by) {
                let value = Arc::clone(&result.local);
                self.order(worker, Order::Restored { shard: shard.0, operation: operation.index, value });
            }
            self.results.locals.insert(position, result.local);
            self.backlog.shards[shard].locals.push(position);
        }
        for (index, (export, value)) in operation.exports.iter().zip(result.exports).enumerate() {
            let index = ExportIndex::new(index);
            for reader in &export.readers {
                let Some(shard) = self.backlog.shards.get_mut(*reader) else { continue };
                shard.foreign.push((position, index));
                let order = Order::Foreign {
                    shard: reader.0,
                    operation: operation.index,
                    export: index.0,
                    value: Arc::clone(&value),
                };
                if let Some(worker) = shard.worker {
                    self.order(worker, order);
                }
            }
            self.results.exports.insert((position, index), value);
        }
    }
}
