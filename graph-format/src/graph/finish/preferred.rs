//! Preferred waits: waits that are dropped if they would make a cycle.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use super::waiters::Members;
use super::{Finish, FinishError, order};

impl Finish {
    /// Orders the operations, with the preferred waits that do not make a cycle.
    ///
    /// If all waits together make cycles, the necessary waits alone are ordered. Operations whose preferred waits are
    /// met come first. A preferred wait that agrees with the resulting order stays, and any other is dropped. A cycle
    /// of necessary waits is an error.
    pub(super) fn sort(&mut self, reads: &[Vec<u32>]) -> Result<Vec<u32>, FinishError> {
        let added = self.add_preferred();
        let on_circle: FxHashSet<u32> = match order::sort(self, reads) {
            Ok(order) => return Ok(order),
            Err(on_circle) => on_circle.into_iter().collect(),
        };
        for (id, members) in &added {
            let drafted = &mut self.operations[*id as usize];
            drafted.after.retain(|other| !members.operations.contains(other));
            drafted.waiters.retain(|waiter| !members.waiters.contains(waiter));
        }
        let places = order::places(self, reads, &added, &on_circle);
        let places = places.map_err(|on_circle| order::cycle(self, &on_circle))?;
        self.add_agreeing(added, &places, &on_circle);
        order::sort(self, reads).map_err(|on_circle| order::cycle(self, &on_circle))
    }

    /// Adds the preferred waits that agree with the places of the nodes. If a wait for a waiter does not agree, the
    /// wait is for those operations of the waiter that are not in `on_circle`.
    fn add_agreeing(&mut self, preferred: Vec<(u32, Members)>, places: &[u32], on_circle: &FxHashSet<u32>) {
        let first_waiter = self.operations.len() as u32;
        let mut off_circle: FxHashMap<u32, Option<u32>> = FxHashMap::default();
        for (id, Members { operations, waiters }) in preferred {
            let agrees = |node: u32| places[node as usize] < places[id as usize];
            let kept = operations.into_iter().filter(|other| agrees(*other));
            self.operations[id as usize].after.extend(kept);
            for waiter in waiters {
                let rest = match agrees(first_waiter + waiter) {
                    true => Some(waiter),
                    false => *off_circle.entry(waiter).or_insert_with(|| self.waiters.without(waiter, on_circle)),
                };
                self.operations[id as usize].waiters.extend(rest);
            }
        }
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

    /// As before, but all the other operations come after `a`.
    #[test]
    fn a_set_on_a_cycle_is_dropped_as_a_whole() {
        let builder = builder(&["a", "b", "c", "d", "e", "f", "g"]);
        (1..7).for_each(|other| builder.order(OperationId(0), OperationId(other)));
        builder.prefer(OperationId(0), Origin::union((1..7).map(|other| Origin::after(OperationId(other)))));
        let graph = builder.finish().unwrap();
        assert_eq!(order(&graph), ["a", "b", "c", "d", "e", "f", "g"]);
        assert!(graph.waiters.iter().all(|waiter| !waiter.is_empty()), "{:?}", graph.waiters);
    }

    /// A cluster `a` is changed. `b` and `c` are deleted with providers that are configured from it, `c` before `b`.
    #[test]
    fn a_preferred_wait_between_operations_of_different_cycles_stays() {
        let builder = builder(&["a", "b", "c"]);
        for delete in [1, 2] {
            builder.order(OperationId(0), OperationId(delete));
            builder.prefer(OperationId(0), Some(Origin::after(OperationId(delete))));
        }
        builder.prefer(OperationId(1), Some(Origin::after(OperationId(2))));
        assert_eq!(order(&builder.finish().unwrap()), ["a", "c", "b"]);
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
