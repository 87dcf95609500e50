//! The outline: the needs of each tracked operation, including those of the untracked operations that run inside it.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use super::{Drafted, Numbers};
use crate::graph::Action;
use crate::graph::PlannedObject;
use crate::graph::opcode::Operation;
use crate::graph::outline::OutlineRow;
use crate::graph::{OperationId, WaiterIndex, Waits};

/// The outline rows of the tracked operations, in their final order.
///
/// An operation also has the needs of its untracked operands. If the operation waits for a waiter, its row does not
/// repeat the direct members of the waiter. [`crate::graph::verify`] derives the needs by the same rule.
pub(super) fn rows(
    operations: &[Drafted],
    reads: &[Vec<u32>],
    order: &[u32],
    number: &Numbers,
    shard_of: &[u32],
    waits_of: &[Waits],
    waiters: &[Waits],
) -> Vec<OutlineRow> {
    let mut own: Vec<Option<DraftNeeds>> = Vec::new();
    own.resize_with(operations.len(), || None);
    let mut rows = Vec::new();
    for id in order {
        let drafted = &operations[*id as usize];
        if !drafted.operation.is_tracked() {
            continue;
        }
        let (mut needs, mut waits): (BTreeSet<OperationId>, BTreeSet<WaiterIndex>) = Default::default();
        let mut seen = FxHashSet::default();
        let mut pending = vec![*id];
        while let Some(part) = pending.pop() {
            let own = own[part as usize].get_or_insert_with(|| {
                DraftNeeds::of(part, operations, &reads[part as usize], number, &waits_of[part as usize], waiters)
            });
            needs.extend(&own.operations);
            waits.extend(&waits_of[part as usize].waiters);
            pending.extend(own.untracked.iter().filter(|other| seen.insert(**other)));
        }
        let plan = planned_of(operations, &drafted.operation);
        let action = match &drafted.operation {
            Operation::Apply { .. } => plan.map_or(Action::Update, |p| p.action),
            Operation::ReadData { .. } => Action::Read,
            Operation::Forget { .. } => Action::Forget,
            Operation::Output { formula: None, .. } => Action::Delete,
            Operation::Output { .. } => Action::Update,
            _ => Action::NoOp,
        };
        rows.push(OutlineRow {
            id: number.at(*id),
            opcode: drafted.operation.opcode() as u16,
            address: drafted.operation.address(),
            deposed: drafted.operation.deposed().map(|k| k.0.to_string()),
            action,
            shard: shard_of[*id as usize],
            needs: Waits { operations: needs.into_iter().collect(), waiters: waits.into_iter().collect() },
            changes_world: drafted.operation.changes_world(),
            lookup: plan.and_then(|p| p.lookup.clone()),
        });
    }
    rows
}

/// The needs of one operation.
struct DraftNeeds {
    /// Tracked operations by final number, without direct members of its waiters.
    operations: Vec<OperationId>,
    /// Untracked operations, by draft.
    untracked: Vec<u32>,
}

impl DraftNeeds {
    fn of(
        id: u32,
        operations: &[Drafted],
        reads: &[u32],
        number: &Numbers,
        waits: &Waits,
        waiters: &[Waits],
    ) -> DraftNeeds {
        let operands = operations[id as usize].operation.operands();
        let all = operands.iter().map(|o| o.0).chain(reads.iter().copied());
        let (tracked, untracked): (Vec<u32>, Vec<u32>) =
            all.partition(|other| operations[*other as usize].operation.is_tracked());
        let tracked = tracked.into_iter().map(|other| number.at(other));
        let waited = |other: &OperationId| {
            waits.waiters.iter().any(|w| waiters[w.0 as usize].operations.binary_search(other).is_ok())
        };
        let named = tracked.chain(waits.operations.iter().copied()).filter(|other| !waited(other)).collect();
        DraftNeeds { operations: named, untracked }
    }
}

fn planned_of<'a>(operations: &'a [Drafted], operation: &Operation<u32>) -> Option<&'a PlannedObject> {
    let Operation::Apply { plan, .. } = operation else { return None };
    match &operations.get(plan.0 as usize)?.operation {
        Operation::FinalPlan { planned, .. } => Some(planned),
        _ => None,
    }
}
