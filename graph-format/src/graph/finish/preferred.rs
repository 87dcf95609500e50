//! Preferred waits: waits that are dropped if they would make a cycle.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use super::waiters::Members;
use super::{Finish, FinishError, order};

impl Finish {
    /// Orders the operations, with the preferred waits that do not make a cycle.
    ///
    /// Every cycle that a preferred wait makes contains the operation that waits, and what it waits for. So one search
    /// for cycles is enough: the preferred waits between nodes on cycles are dropped, and a cycle that remains is an
    /// error.
    pub(super) fn sort(&mut self, reads: &[Vec<u32>]) -> Result<Vec<u32>, FinishError> {
        let added = self.add_preferred();
        let on_circle: FxHashSet<u32> = match order::sort(self, reads) {
            Ok(order) => return Ok(order),
            Err(on_circle) => on_circle.into_iter().collect(),
        };
        let first_waiter = self.operations.len() as u32;
        let mut off_circle: FxHashMap<u32, u32> = FxHashMap::default();
        for (id, members) in added.into_iter().filter(|(id, _)| on_circle.contains(id)) {
            for other in members.operations.iter().filter(|other| on_circle.contains(other)) {
                self.operations[id as usize].after.remove(other);
            }
            for waiter in members.waiters.iter().filter(|waiter| on_circle.contains(&(first_waiter + **waiter))) {
                let rest = *off_circle.entry(*waiter).or_insert_with(|| self.waiters.without(*waiter, &on_circle));
                self.operations[id as usize].waiters.remove(waiter);
                self.operations[id as usize].waiters.insert(rest);
            }
        }
        order::sort(self, reads).map_err(|on_circle| order::cycle(self, &on_circle))
    }

    /// Adds all preferred waits. Returns the waits that are new, by operation.
    fn add_preferred(&mut self) -> Vec<(u32, Members)> {
        let mut added = Vec::with_capacity(self.preferred.len());
        for (id, Members { operations, waiters }) in std::mem::take(&mut self.preferred) {
            let drafted = &mut self.operations[id as usize];
            let operations: BTreeSet<u32> = operations.into_iter().filter(|other| *other != id).collect();
            let new = Members {
                operations: operations.difference(&drafted.after).copied().collect(),
                waiters: waiters.into_iter().filter(|waiter| !drafted.waiters.contains(waiter)).collect(),
            };
            drafted.after.extend(&new.operations);
            drafted.waiters.extend(&new.waiters);
            added.push((id, new));
        }
        added
    }
}

#[cfg(test)]
mod tests {
    use smol_str::SmolStr;

    use crate::graph::builder::Builder;
    use crate::graph::{ExecutionGraph, FinishError, OperationId};
    use crate::origin::Origin;
    use crate::value::Value;
    use crate::value::formula::Formula;

    fn builder(names: &[&str]) -> Builder {
        let builder = Builder::new();
        for name in names {
            builder.evaluate(SmolStr::new(name), Formula::constant(Value::int(1)), None);
        }
        builder
    }

    fn order(graph: &ExecutionGraph) -> Vec<String> {
        let mut rows: Vec<_> = graph.fragments.iter().flat_map(|fragment| &fragment.rows).collect();
        rows.sort_by_key(|row| row.id);
        rows.into_iter().map(|row| row.operation.address()).collect()
    }

    #[test]
    fn a_preferred_wait_orders_operations() {
        let builder = builder(&["a", "b"]);
        builder.prefer(OperationId(0), Some(Origin::after(OperationId(1))));
        assert_eq!(order(&builder.finish().unwrap()), ["b", "a"]);
    }

    #[test]
    fn a_preferred_wait_that_makes_a_cycle_is_dropped() {
        let builder = builder(&["a", "b", "c", "d"]);
        builder.order(OperationId(0), OperationId(1));
        builder.prefer(OperationId(0), Some(Origin::after(OperationId(1))));
        builder.prefer(OperationId(2), Some(Origin::after(OperationId(3))));
        assert_eq!(order(&builder.finish().unwrap()), ["a", "b", "d", "c"]);
    }

    /// `a` is a need of `b`. `b` also prefers to come after `c`.
    #[test]
    fn a_preferred_wait_outside_of_a_cycle_stays() {
        let builder = builder(&["a", "b", "c"]);
        builder.order(OperationId(0), OperationId(1));
        for other in [1, 2] {
            builder.prefer(OperationId(0), Some(Origin::after(OperationId(other))));
        }
        assert_eq!(order(&builder.finish().unwrap()), ["c", "a", "b"]);
    }

    /// As before, with so many other operations that they are one set.
    #[test]
    fn a_preferred_wait_for_many_operations_loses_only_those_on_a_cycle() {
        let builder = builder(&["a", "b", "c", "d", "e", "f", "g"]);
        builder.order(OperationId(0), OperationId(1));
        builder.prefer(OperationId(0), Origin::union((1..7).map(|other| Origin::after(OperationId(other)))));
        assert_eq!(order(&builder.finish().unwrap()), ["c", "d", "e", "f", "g", "a", "b"]);
    }

    #[test]
    fn a_cycle_without_preferred_waits_is_an_error() {
        let builder = builder(&["a", "b", "c"]);
        builder.order(OperationId(0), OperationId(1));
        builder.order(OperationId(1), OperationId(0));
        builder.prefer(OperationId(0), Some(Origin::after(OperationId(2))));
        assert!(matches!(builder.finish(), Err(FinishError::Cycle(names)) if names == ["a", "b"]));
    }
}
