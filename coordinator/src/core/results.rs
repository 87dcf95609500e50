//! Results of operations that were produced or loaded in this term.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weft_protocol::TaskResult;
use weft_state::Attempt;

use super::{ExportIndex, Position, WorkerIndex};

/// A result that arrived while a step of the same operation was in the store.
#[derive(Debug)]
pub(super) struct LateResult {
    pub(super) worker: WorkerIndex,
    pub(super) attempt: Attempt,
    pub(super) result: TaskResult,
}

/// Results of operations.
#[derive(Debug, Default)]
pub(super) struct OperationResults {
    /// Results for readers in the same shard.
    locals: BTreeMap<Position, Arc<[u8]>>,
    /// Results for other shards.
    exports: BTreeMap<(Position, ExportIndex), Arc<[u8]>>,
    recomputed: BTreeSet<Position>,
    late: BTreeMap<Position, LateResult>,
}

impl OperationResults {
    /// Whether an operation is done in the store but is computed again in this term, because its result is not
    /// journalled.
    pub(super) fn is_recomputed(&self, position: Position) -> bool {
        self.recomputed.contains(&position)
    }

    /// Records that an operation that is done in the store is computed again in this term.
    pub(super) fn recompute(&mut self, position: Position) {
        self.recomputed.insert(position);
    }

    /// Stores a result for readers in the same shard.
    pub(super) fn keep_local(&mut self, position: Position, value: Arc<[u8]>) {
        self.locals.insert(position, value);
    }

    /// The result for readers in the same shard.
    pub(super) fn local(&self, position: Position) -> Option<Arc<[u8]>> {
        self.locals.get(&position).cloned()
    }

    /// Stores a part of a result for other shards.
    pub(super) fn keep_export(&mut self, position: Position, export: ExportIndex, value: Arc<[u8]>) {
        self.exports.insert((position, export), value);
    }

    /// The part of a result for other shards.
    pub(super) fn export(&self, position: Position, export: ExportIndex) -> Option<Arc<[u8]>> {
        self.exports.get(&(position, export)).cloned()
    }

    /// Keeps a late result in memory until the store has answered an earlier step of the operation. A newer late result
    /// replaces an older one.
    pub(super) fn keep_late(&mut self, position: Position, late: LateResult) {
        self.late.insert(position, late);
    }

    /// Takes the late result of an operation after the store has answered.
    pub(super) fn take_late(&mut self, position: Position) -> Option<LateResult> {
        self.late.remove(&position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_result_is_taken_once() {
        let mut results = OperationResults::default();
        let late = |number| LateResult {
            worker: WorkerIndex(0),
            attempt: Attempt(number),
            result: TaskResult::NotCalled { reason: String::new() },
        };
        results.keep_late(Position(1), late(1));
        results.keep_late(Position(1), late(2));
        assert_eq!(results.take_late(Position(1)).map(|late| late.attempt), Some(Attempt(2)));
        assert!(results.take_late(Position(1)).is_none());
    }

    #[test]
    fn results_are_kept_by_their_readers() {
        let mut results = OperationResults::default();
        results.keep_local(Position(1), Arc::from([1]));
        results.keep_export(Position(1), ExportIndex(0), Arc::from([2]));
        assert_eq!(results.local(Position(1)).as_deref(), Some(&[1][..]));
        assert_eq!(results.export(Position(1), ExportIndex(0)).as_deref(), Some(&[2][..]));
        assert!(results.export(Position(1), ExportIndex(1)).is_none() && results.local(Position(0)).is_none());
        results.recompute(Position(1));
        assert!(results.is_recomputed(Position(1)) && !results.is_recomputed(Position(0)));
    }
}
