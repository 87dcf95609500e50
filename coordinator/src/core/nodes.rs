//! The dependency graph as counters. Finding the operations that become free, blocked or no longer blocked costs time
//! in proportion to the visited edges. A run visits each edge once for the operations that are done. It visits an edge
//! again only if operations become blocked, or no longer blocked.

use std::collections::BTreeSet;

use crate::outline::{Need, Outline, OutlineError};
use crate::table::{Position, TableIndex};
use weft_mutants::mutant;

/// Operations by their position, followed by waiters.
#[derive(Clone, Debug)]
pub(crate) struct Nodes {
    operations: u32,
    /// The index in `targets` of each node's first successor.
    starts: Vec<u32>,
    targets: Vec<u32>,
    /// The number of dependencies of each node that are not done.
    unmet: Vec<u32>,
    /// The number of dependencies of each node that failed, are in doubt or were skipped.
    bad: Vec<u32>,
    /// The number of operations on the longest path from each node to the end.
    height: Vec<u32>,
    /// All nodes in dependency order.
    order: Vec<u32>,
    /// Operations that block their dependents: they failed, are in doubt or were skipped.
    spoilers: BTreeSet<Position>,
}

impl Nodes {
    pub(crate) fn new(outline: &Outline) -> Result<Nodes, OutlineError> {
        let operations = outline.operations.len() as u32;
        let count = outline.operations.len() + outline.waiters.len();
        let mut edges: Vec<(u32, u32)> = Vec::new();
        let mut unmet = vec![0u32; count];
        let mut add = |node: usize, needs: &[Need], name: &dyn Fn() -> String| -> Result<(), OutlineError> {
            for need in needs {
                let source = match need {
                    Need::Operation(index) => outline.position(*index).map(|position| position.0),
                    Need::Waiter(index) => {
                        ((*index as usize) < outline.waiters.len()).then(|| operations.saturating_add(*index))
                    }
                };
                let Some(source) = source else {
                    return Err(OutlineError::Unknown { of: name(), need: *need });
                };
                edges.push((source, node as u32));
                unmet[node] += 1;
            }
            Ok(())
        };
        for (position, operation) in outline.operations.iter().enumerate() {
            add(position, &operation.needs, &|| operation.address.clone())?;
        }
        for (index, waiter) in outline.waiters.iter().enumerate() {
            add(operations as usize + index, &waiter.needs, &|| format!("waiter {index}"))?;
        }
        let mut starts = vec![0u32; count + 1];
        for (source, _) in &edges {
            starts[*source as usize + 1] += 1;
        }
        for node in 0..count {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut targets = vec![0u32; edges.len()];
        for (source, target) in &edges {
            targets[next[*source as usize] as usize] = *target;
            next[*source as usize] += 1;
        }
        let mut nodes = Nodes {
            operations,
            starts,
            targets,
            bad: vec![0; count],
            height: vec![0; count],
            order: Vec::with_capacity(count),
            spoilers: BTreeSet::new(),
            unmet,
        };
        nodes.sort(outline)?;
        Ok(nodes)
    }

    /// Computes the order and the heights.
    fn sort(&mut self, outline: &Outline) -> Result<(), OutlineError> {
        let mut left = self.unmet.clone();
        let mut order: Vec<u32> = (0..left.len() as u32).filter(|node| left[*node as usize] == 0).collect();
        let mut at = 0;
        while let Some(node) = order.get(at).copied() {
            at += 1;
            for place in self.range(node) {
                let target = self.targets[place];
                left[target as usize] -= 1;
                if left[target as usize] == 0 {
                    order.push(target);
                }
            }
        }
        if order.len() < left.len() {
            let stuck = left.iter().position(|count| *count > 0).unwrap_or_default();
            let index = outline.operations.get(stuck).map_or(u32::MAX, |operation| operation.index);
            return Err(OutlineError::Cycle(index));
        }
        for node in order.iter().rev() {
            let own = u32::from(*node < self.operations);
            let below = self.range(*node).map(|place| self.height[self.targets[place] as usize]).max();
            self.height[*node as usize] = below.unwrap_or_default() + own;
        }
        self.order = order;
        Ok(())
    }

    fn range(&self, node: u32) -> std::ops::Range<usize> {
        self.starts[node as usize] as usize..self.starts[node as usize + 1] as usize
    }

    /// The number of operations on the longest path to the end. Among ready operations, the operation with the longest
    /// path starts first.
    pub(crate) fn height(&self, operation: Position) -> u32 {
        self.height[operation.number()]
    }

    /// Whether all dependencies of an operation are done.
    pub(crate) fn is_free(&self, operation: Position) -> bool {
        self.unmet[operation.number()] <= u32::from(mutant!(StartedTooEarly))
    }

    /// Whether a dependency of an operation failed, is in doubt or was skipped.
    pub(crate) fn is_blocked(&self, operation: Position) -> bool {
        self.bad[operation.number()] > 0
    }

    /// Marks an operation as done. Returns the operations that are free now.
    pub(crate) fn done(&mut self, operation: Position) -> Vec<Position> {
        let mut freed = Vec::new();
        let mut stack = vec![operation.0];
        while let Some(node) = stack.pop() {
            for place in self.range(node) {
                let target = self.targets[place];
                let unmet = &mut self.unmet[target as usize];
                *unmet -= 1;
                if *unmet == 0 {
                    if target < self.operations { freed.push(Position(target)) } else { stack.push(target) }
                }
            }
        }
        freed
    }

    /// Marks an operation as failed or in doubt. Returns the operations that were not blocked before but are blocked
    /// now.
    pub(crate) fn spoil(&mut self, operation: Position) -> Vec<Position> {
        if !self.spoilers.insert(operation) {
            return Vec::new();
        }
        self.walk(operation, |bad| {
            *bad += 1;
            *bad == 1
        })
    }

    /// Undoes [`Nodes::spoil`]. Returns the operations that are no longer blocked.
    pub(crate) fn mend(&mut self, operation: Position) -> Vec<Position> {
        if !self.spoilers.remove(&operation) {
            return Vec::new();
        }
        self.walk(operation, |bad| {
            *bad = bad.saturating_sub(1);
            *bad == 0
        })
    }

    fn walk(&mut self, operation: Position, mut turns: impl FnMut(&mut u32) -> bool) -> Vec<Position> {
        let mut turned = Vec::new();
        let mut stack = vec![operation.0];
        while let Some(node) = stack.pop() {
            for place in self.range(node) {
                let target = self.targets[place];
                if turns(&mut self.bad[target as usize]) {
                    if target < self.operations {
                        turned.push(Position(target));
                    }
                    stack.push(target);
                }
            }
        }
        turned
    }

    /// The done operations that must be computed again. Their results are lost (`lost`), but another operation still
    /// reads them: an operation that is not done, or that must be computed again itself.
    pub(crate) fn needed_again(
        &self,
        done: impl Fn(Position) -> bool,
        lost: impl Fn(Position) -> bool,
    ) -> Vec<Position> {
        let mut wanted = vec![false; self.unmet.len()];
        let mut again = Vec::new();
        for node in self.order.iter().rev().copied() {
            let read = self.range(node).any(|place| wanted[self.targets[place] as usize]);
            if node >= self.operations {
                wanted[node as usize] = read;
            } else if !done(Position(node)) {
                wanted[node as usize] = true;
            } else if read && lost(Position(node)) {
                wanted[node as usize] = true;
                again.push(Position(node));
            }
        }
        again
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outline::{OperationKind, OutlineOperation, OutlineShard, ShardKey, Waiter};

    fn outline(needs: &[&[Need]], waiters: &[&[Need]]) -> Outline {
        let operation = |(index, needs): (usize, &&[Need])| OutlineOperation {
            needs: needs.to_vec(),
            ..OutlineOperation::new(index as u32 * 10, OperationKind::Create, format!("a.b{index}"), 0)
        };
        Outline {
            operations: needs.iter().enumerate().map(operation).collect(),
            waiters: waiters.iter().map(|needs| Waiter { needs: needs.to_vec() }).collect(),
            shards: vec![OutlineShard::new(ShardKey::Unplaced)],
            ..Outline::default()
        }
    }

    fn at(numbers: &[u32]) -> Vec<Position> {
        numbers.iter().copied().map(Position).collect()
    }

    #[test]
    fn a_waiter_counts_as_one_dependency() {
        use Need::{Operation as O, Waiter as W};
        let outline = outline(&[&[], &[], &[W(0)], &[W(0)], &[O(20)]], &[&[O(0), O(10)]]);
        let mut nodes = Nodes::new(&outline).unwrap();
        assert_eq!((nodes.height(Position(0)), nodes.height(Position(3)), nodes.height(Position(4))), (3, 1, 1));
        assert!(nodes.done(Position(0)).is_empty());
        assert_eq!(nodes.spoil(Position(1)), at(&[2, 3, 4]));
        assert!(nodes.is_blocked(Position(4)));
        assert_eq!(nodes.mend(Position(1)).len(), 3);
        assert_eq!(nodes.done(Position(1)), at(&[2, 3]));
        assert_eq!(nodes.done(Position(2)), at(&[4]));
    }

    #[test]
    fn a_node_with_two_bad_inputs_waits_until_both_are_mended() {
        use Need::Operation as O;
        let mut nodes = Nodes::new(&outline(&[&[], &[], &[O(0), O(10)], &[O(20)]], &[])).unwrap();
        assert_eq!(nodes.spoil(Position(0)), at(&[2, 3]));
        assert!(nodes.spoil(Position(1)).is_empty());
        assert!(nodes.mend(Position(0)).is_empty());
        assert_eq!(nodes.mend(Position(1)), at(&[2, 3]));
    }

    #[test]
    fn cyclic_and_incomplete_outlines_are_refused() {
        use Need::{Operation as O, Waiter as W};
        let cycle = Nodes::new(&outline(&[&[], &[O(20)], &[O(10)]], &[]));
        assert_eq!(cycle.err(), Some(OutlineError::Cycle(10)));
        assert!(matches!(Nodes::new(&outline(&[&[O(7)]], &[])), Err(OutlineError::Unknown { .. })));
        assert!(matches!(Nodes::new(&outline(&[&[W(0)]], &[])), Err(OutlineError::Unknown { .. })));
    }

    #[test]
    fn live_results_are_computed_again_only_for_unfinished_readers() {
        use Need::Operation as O;
        let nodes = Nodes::new(&outline(&[&[], &[O(0)], &[O(10)], &[]], &[])).unwrap();
        assert_eq!(nodes.needed_again(|node| node.0 != 2, |node| node.0 < 2), at(&[1, 0]));
        assert!(nodes.needed_again(|_| true, |_| true).is_empty());
    }
}
