//! Restores the state of a run from the store when a term begins, and delivers results to their readers.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_protocol::Order;
use weft_state::{Digest, FailureKind, OpRecord, RunView};

use super::operation::State;
use super::{Coordinator, ExportIndex, Handled, Position, WorkerIndex, problems};
use crate::result::JournalledResult;
use crate::status::Status;
use crate::table::TableIndex;

/// Whether a failed operation stays failed in this run: the user abandoned the operation, or its object exists.
fn stays_failed(record: &OpRecord) -> bool {
    let kind = record.failure.as_ref().map(|failure| failure.kind);
    matches!(kind, Some(FailureKind::GivenUp | FailureKind::ObjectKept))
}

/// The state of an operation that has this record in the store.
fn stored_state(record: &OpRecord) -> State {
    match Status::from(record.status) {
        Status::Failed => {
            let kind = record.failure.as_ref().map(|failure| failure.kind);
            State::Failed { keeps: kind == Some(FailureKind::ObjectKept) }
        }
        other => State::entering(other),
    }
}

impl Coordinator {
    /// Sets the states of the operations from the store.
    pub(super) fn recover(&mut self, view: RunView) -> Handled {
        let mut results: BTreeMap<Position, JournalledResult> = BTreeMap::new();
        let mut stay_failed: Vec<Position> = Vec::new();
        for (index, record) in view.ops {
            let Some(position) = self.outline.position(index.0) else { continue };
            let known = (!record.worker.0.is_empty()).then_some(&record.worker);
            let holder = known.map(|worker| self.roster.enlist(worker, self.clock.now()));
            let rest = self.operations.restore(position, stored_state(&record), record.attempt.0, holder);
            self.rests(position, rest);
            if record.planned != Digest::default() {
                self.operations.intends(position, record.planned);
            }
            match self.operations.status(position) {
                Status::Done => {
                    if let Some(result) = record.result.as_ref().and_then(JournalledResult::decode) {
                        results.insert(position, result);
                    }
                }
                Status::Intended => match holder {
                    Some(holder) => self.hold_task(holder, position),
                    None => self.doubt(position, problems::unrecorded_worker())?,
                },
                Status::Failed | Status::Skipped if stays_failed(&record) => stay_failed.push(position),
                Status::Failed | Status::Skipped if !self.options.only_resolve => self.reopen(position)?,
                _ => {}
            }
        }
        let live = |position: Position| !self.outline.at(position).journalled;
        let done = |position: Position| self.operations.state(position) == State::Done;
        for position in self.nodes.needed_again(done, live) {
            self.results.recompute(position);
            let rest = self.operations.compute_again(position);
            self.rests(position, rest);
        }
        for position in self.operations.positions() {
            match self.operations.state(position) {
                State::Done => {
                    self.nodes.done(position);
                    self.keep_result(position, results.remove(&position).unwrap_or_default(), None);
                }
                State::InDoubt(_) => self.await_holder(position)?,
                _ => {}
            }
        }
        if !self.options.only_resolve {
            for position in stay_failed {
                self.spoil(position)?;
            }
        }
        for position in self.operations.positions() {
            self.ready_if_free(position);
        }
        Ok(())
    }

    /// Queues an operation if it is free to start.
    pub(super) fn ready_if_free(&mut self, position: Position) {
        let is_pending = self.operations.state(position) == State::Pending;
        if is_pending && self.nodes.is_free(position) && !self.options.only_resolve {
            let shard = self.outline.at(position).shard;
            self.backlog.queue(shard, self.nodes.height(position), position);
            self.pace.meter.ready(position, self.clock.now());
            self.shard_has_work(shard);
        }
    }

    /// Delivers the results of a done operation to their readers. The worker `by` already has the results.
    pub(super) fn keep_result(&mut self, position: Position, result: JournalledResult, by: Option<WorkerIndex>) {
        let outline = Arc::clone(&self.outline);
        let operation = outline.at(position);
        if !result.local.is_empty() {
            let shard = operation.shard;
            if let Some(worker) = self.backlog.worker(shard).filter(|worker| Some(*worker) != by) {
                let value = Arc::clone(&result.local);
                self.order(worker, Order::Restored { shard: shard.0, operation: operation.index, value });
            }
            self.results.keep_local(position, result.local);
            self.backlog.add_local(shard, position);
        }
        for (index, (export, value)) in operation.exports.iter().zip(result.exports).enumerate() {
            let index = ExportIndex::new(index);
            for reader in &export.readers {
                if let Some(worker) = self.backlog.add_foreign(*reader, position, index) {
                    let value = Arc::clone(&value);
                    let (shard, operation, export) = (reader.0, operation.index, index.0);
                    self.order(worker, Order::Foreign { shard, operation, export, value });
                }
            }
            self.results.keep_export(position, index, value);
        }
    }
}
