//! What each unfinished operation of a run waits for.

use weft_state::{OpIndex, OpStatus, RunView};

use crate::outline::{Need, Outline, OutlineOperation};

/// The maximum number of addresses that are listed for a waiting operation. The first few suffice to find the cause.
pub const WAITS_LISTED: usize = 3;

/// The numbers of the unfinished operations in a set of dependencies, also through waiters. At most [`WAITS_LISTED`]
/// numbers, ascending.
type Found = Vec<u32>;

/// The unfinished dependencies of all operations. The dependencies of each waiter are collected once, so that N readers
/// of M results cost N + M.
pub(super) struct Waits<'v> {
    view: &'v RunView,
    outline: &'v Outline,
    /// The unfinished operations of each waiter; `None` until they are collected.
    waiters: Vec<Option<Found>>,
    /// Whether the collection for a waiter has begun.
    begun: Vec<bool>,
}

impl<'v> Waits<'v> {
    pub(super) fn new(view: &'v RunView, outline: &'v Outline) -> Waits<'v> {
        let count = outline.waiters.len();
        Waits { view, outline, waiters: vec![None; count], begun: vec![false; count] }
    }

    /// The addresses that an operation with this status waits for.
    pub(super) fn of(&mut self, operation: &OutlineOperation, status: OpStatus) -> Vec<String> {
        if !matches!(status, OpStatus::Pending | OpStatus::Skipped) {
            return Vec::new();
        }
        self.collect_waiters(&operation.needs);
        let found = self.found(&operation.needs);
        let address =
            |index: u32| self.outline.position(index).map(|position| self.outline.at(position).address.clone());
        found.into_iter().filter_map(address).collect()
    }

    /// Collects the unfinished operations of all waiters that these dependencies lead to. A waiter is collected after
    /// the waiters that it contains. A stack replaces recursion, because a chain of waiters may be long.
    fn collect_waiters(&mut self, needs: &[Need]) {
        let outline = self.outline;
        let mut stack: Vec<u32> = Vec::new();
        self.push_new(&mut stack, needs);
        while let Some(waiter) = stack.last().copied() {
            let Some(members) = outline.waiters.get(waiter as usize).map(|waiter| &waiter.needs) else { return };
            let before = stack.len();
            self.push_new(&mut stack, members);
            if stack.len() == before {
                self.waiters[waiter as usize] = Some(self.found(members));
                stack.pop();
            }
        }
    }

    /// Pushes the waiters among these dependencies whose collection has not begun.
    fn push_new(&mut self, stack: &mut Vec<u32>, needs: &[Need]) {
        for waiter in waiters_of(needs) {
            if let Some(begun) = self.begun.get_mut(waiter as usize)
                && !std::mem::replace(begun, true)
            {
                stack.push(waiter);
            }
        }
    }

    /// The unfinished operations among these dependencies. The waiters among the dependencies must have been collected.
    fn found(&self, needs: &[Need]) -> Found {
        let mut found = Found::new();
        for need in needs {
            match need {
                Need::Operation(index) if !self.is_done(*index) => found.push(*index),
                Need::Operation(_) => {}
                Need::Waiter(waiter) => {
                    found.extend(self.waiters.get(*waiter as usize).into_iter().flatten().flatten());
                }
            }
            if found.len() >= WAITS_LISTED * 2 {
                found = first(found);
            }
        }
        first(found)
    }

    fn is_done(&self, index: u32) -> bool {
        self.view.ops.get(&OpIndex(index)).is_some_and(|record| record.status == OpStatus::Done)
    }
}

/// The smallest distinct numbers.
fn first(mut found: Found) -> Found {
    found.sort_unstable();
    found.dedup();
    found.truncate(WAITS_LISTED);
    found
}

fn waiters_of(needs: &[Need]) -> impl Iterator<Item = u32> + '_ {
    needs.iter().filter_map(|need| match need {
        Need::Waiter(waiter) => Some(*waiter),
        Need::Operation(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use weft_state::{Digest, OpCounts, OpRecord, RunHeader, RunId, RunPast, RunStatus};

    use super::*;
    use crate::outline::{OperationKind, Waiter};

    #[test]
    fn an_operation_waits_for_the_first_unfinished_ones_also_through_waiters() {
        let mut operations: Vec<OutlineOperation> =
            (0..8).map(|index| OutlineOperation::new(index, OperationKind::Create, format!("a.b{index}"), 0)).collect();
        operations[7].needs = vec![Need::Waiter(1), Need::Operation(6)];
        let outline = Outline {
            operations,
            waiters: vec![
                Waiter { needs: (0..4).map(Need::Operation).collect() },
                Waiter { needs: vec![Need::Waiter(0), Need::Operation(5)] },
            ],
            ..Outline::default()
        };
        let header = RunHeader {
            id: RunId::parse("run").unwrap(),
            plan: Digest::default(),
            started_unix_ms: 0,
            status: RunStatus::Stopped,
            counts: OpCounts::default(),
            claimed: true,
            abandoned: false,
            lease: None,
            past: RunPast::default(),
        };
        let mut view = RunView::of(header);
        let done = || OpRecord { status: OpStatus::Done, ..OpRecord::default() };
        let waits = |view: &RunView| Waits::new(view, &outline).of(&outline.operations[7], OpStatus::Pending);
        assert_eq!(waits(&view), ["a.b0", "a.b1", "a.b2"]);
        view.ops.extend([0, 1, 2, 3].map(|index| (OpIndex(index), done())));
        assert_eq!(waits(&view), ["a.b5", "a.b6"]);
        assert!(Waits::new(&view, &outline).of(&outline.operations[7], OpStatus::Failed).is_empty());
    }
}
